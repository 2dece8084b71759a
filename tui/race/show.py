"""RaceShow: one race on its way to the screen: its events, its race clock, its photo finish.

Knows nothing of widgets: the screen asks ``tick`` for the moment to draw. All times are the
injected clock's, so a test moves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any, Protocol

from mlx_specdec.events import Failed
from mlx_specdec.race.lane_track import LaneTrack, race_limit
from mlx_specdec.race.moment import RaceMoment, race_moment
from mlx_specdec.race.playhead import Playhead
from mlx_specdec.race.recording import LANES, LaneEvent, Recording, RecordingHeader
from mlx_specdec.safe_text import safe_text

__all__ = ["PHOTO_SECONDS", "RaceShow", "suitable_rate"]

PHOTO_SECONDS = 2.0
LONGEST = 20.0
_RATES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
_LAG_SECONDS = 0.5  # of the wall, that the screen stays behind a race under way


class Source(Protocol):
    """Where a live race comes from: a Feed, or a recording in a test."""

    @property
    def is_done(self) -> bool: ...
    def poll(self) -> list[Any]: ...
    def cancel(self) -> None: ...


def suitable_rate(seconds: float) -> float:
    """The share of true speed at which a race of ``seconds`` lasts longest without passing 20 s.

    The steps are at most 2.5 apart, so that it lasts at least 8 s where it lasts less than that.
    """
    return min((rate for rate in _RATES if seconds / rate <= LONGEST), default=1.0)


def _safe(header: RecordingHeader) -> RecordingHeader:
    """The header as it may be shown: names and prompts of a file are harmless text."""
    texts: dict[str, Any] = {
        item.name: safe_text(value)
        for item in fields(header)
        if isinstance(value := getattr(header, item.name), str)
    }
    return replace(header, **texts)


class RaceShow:
    """One race.

    Args:
        header: where and how it runs, or was run.
        clock: seconds of the wall.
        rate: race seconds a wall second.
        source: what brings a live race's events; None for a recording.
        recording: events that are known already.
        photo_seconds: how long the picture stands when the first lane is in.
    """

    def __init__(
        self,
        header: RecordingHeader,
        clock: Callable[[], float],
        rate: float,
        *,
        source: Source | None = None,
        recording: Recording | None = None,
        photo_seconds: float = PHOTO_SECONDS,
    ) -> None:
        self.header = _safe(header)
        self._clock = clock
        self._source = source
        self._photo_seconds = photo_seconds
        self._items: list[LaneEvent] = []
        self._tracks = {lane: LaneTrack() for lane in LANES}
        self.failure: Failed | None = None
        self._moment: RaceMoment | None = None
        self._recording = Recording(header)
        self._photo_until: float | None = None
        self._has_photo = photo_seconds <= 0
        self._rate = rate
        self._playhead = self._new_playhead(rate)
        if recording is not None:
            self._take(recording.in_order())

    # ------------------------------------------------------------------ what it knows

    @property
    def is_live(self) -> bool:
        """Whether events may still come."""
        return self._source is not None and not self._source.is_done

    @property
    def is_from_engine(self) -> bool:
        return self._source is not None

    @property
    def recording(self) -> Recording:
        """Both lanes as far as they came."""
        return self._recording

    @property
    def rate(self) -> float:
        return self._playhead.rate

    @property
    def is_paused(self) -> bool:
        return self._playhead.is_paused

    @property
    def is_photo(self) -> bool:
        """The picture stands because the first lane is in."""
        return self._photo_until is not None

    @property
    def is_complete(self) -> bool:
        """Whether all events of both lanes are here."""
        return all(track.is_finished for track in self._tracks.values()) or (
            self.failure is not None
        )

    @property
    def is_over(self) -> bool:
        """Whether the last second is shown."""
        end = race_limit(*self._both)[0]
        return self.is_complete and self._playhead.now() >= end

    @property
    def totals(self) -> tuple[int, int]:
        """Tokens that each lane will have: known once it is in, else the limit that was set."""
        ends = [len(self._emitted(lane)) if self._tracks[lane].is_finished else 0 for lane in LANES]
        usual = max(ends) or self.header.max_tokens or 0
        return ends[0] or usual, ends[1] or usual

    @property
    def _both(self) -> tuple[LaneTrack, LaneTrack]:
        return self._tracks[LANES[0]], self._tracks[LANES[1]]

    def _emitted(self, lane: str) -> list[Any]:
        return [token for event in self._tracks[lane].rounds for token in event.emitted]

    # ------------------------------------------------------------------ time

    def tick(self) -> RaceMoment:
        """Take in what has come, move the race clock, and say what to draw.

        The same object comes again while nothing has changed, so that nothing need be drawn.
        """
        items = self._source.poll() if self._source is not None else []
        self._take(items)
        self._feed()
        now = self._playhead.now()
        last = self._moment
        if last is None or items or last.seconds != now:
            self._moment = last = race_moment(self.header, *self._both, now)
        return last

    def toggle_pause(self) -> None:
        """Stop the race clock, or let it go on; a photo finish is over with it."""
        self._end_photo()
        if self._playhead.is_paused:
            self._playhead.resume()
        else:
            self._playhead.pause()

    def scrub(self, direction: int) -> None:
        """Pause, and go to the end of the speculative lane's next pass or of the one before."""
        self._end_photo()
        track, now = self._both[1], self._playhead.now()
        to = track.round_after(now) if direction > 0 else track.round_before(now)
        if to is None:
            to = race_limit(*self._both)[0] if direction > 0 else 0.0
        self._feed()
        self._playhead.step(to)

    def watch_again(self, rate: float) -> None:
        """From the first second, at another speed, with a photo finish."""
        self._playhead = self._new_playhead(rate)
        self._photo_until = None
        self._has_photo = self._photo_seconds <= 0

    def set_rate(self, rate: float) -> None:
        """Race seconds a wall second, from now on."""
        self._playhead.set_rate(rate)

    def finish_now(self) -> None:
        """Show the last second that is known."""
        self._has_photo = True
        self._end_photo()
        self._feed()
        self._playhead.seek(race_limit(*self._both)[0])

    def cancel(self) -> None:
        """Stop a live race; what it brought stays."""
        if self._source is not None:
            self._source.cancel()

    # ------------------------------------------------------------------ within

    def _new_playhead(self, rate: float) -> Playhead:
        return Playhead(self._clock, rate, lag=_LAG_SECONDS * rate)

    def _take(self, items: Iterable[Any]) -> None:
        is_new = False
        for item in items:
            is_new = True
            if isinstance(item, LaneEvent):
                self._items.append(item)
                self._tracks[item.lane].add(item.event)
            elif isinstance(item, Failed):
                self.failure = item
        if is_new:
            self._recording = Recording.of(self._recording.header, self._items)

    def _feed(self) -> None:
        """Tell the playhead how far it may go: to the photo finish first."""
        limit, is_final = race_limit(*self._both)
        photo = min((t.clock for t in self._both if t.is_finished), default=None)
        if self._has_photo or photo is None or limit < photo:
            self._playhead.feed(limit, is_final or self.failure is not None)
            return
        self._playhead.feed(photo, True)
        if self._playhead.now() < photo or self._playhead.is_paused:
            return
        if limit <= photo and is_final:  # both are in at once: there is nothing to freeze for
            self._has_photo = True
            return
        if self._photo_until is None:
            self._photo_until = self._clock() + self._photo_seconds
        if self._clock() >= self._photo_until:
            self._end_photo()
            self._has_photo = True
            self._playhead.feed(limit, is_final)

    def _end_photo(self) -> None:
        if self._photo_until is not None:
            self._photo_until = None
            self._has_photo = True

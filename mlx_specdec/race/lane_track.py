"""LaneTrack: one lane's events by their seconds, and what of them is seen at a moment."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ..events import Emitted, Event, Failed, Finished, Prefilled, Proposed, Round
from ..metrics import Metrics, fold

__all__ = ["LaneMoment", "LaneTrack", "race_limit"]


@dataclass(frozen=True)
class LaneMoment:
    """One lane as it stands at one second of its own clock.

    Args:
        seconds: the moment.
        rounds: those that are over, Round 0 included.
        emitted: their tokens; ``text`` with what was held back once the answer has ended.
        under_way: the round that is running, where the track knows its end already; it began
            at ``under_way_since``.
        prefill_seconds: None until the prompt has been read.
        finished_at: the lane's last second once it is reached, else None.
        finish_reason: as in Finished, ``failed`` after an error, "" while it runs.
        failure: what went wrong, in words.
        note: why nothing is drafted, of the latest round.
    """

    seconds: float
    rounds: tuple[Round, ...] = ()
    emitted: tuple[Emitted, ...] = ()
    text: str = ""
    under_way: Round | None = None
    under_way_since: float = 0.0
    prefill_seconds: float | None = None
    finished_at: float | None = None
    finish_reason: str = ""
    failure: str = ""
    note: str = ""
    _closing: tuple[Event, ...] = field(default=(), repr=False)

    @property
    def num_tokens(self) -> int:
        return len(self.emitted)

    @property
    def num_passes(self) -> int:
        """Passes of the target after Round 0."""
        return len(self.rounds) - 1 if self.rounds else 0

    @property
    def is_finished(self) -> bool:
        return self.finished_at is not None

    @property
    def pending(self) -> tuple[Proposed, ...]:
        """The guesses of the round under way."""
        return self.under_way.proposed if self.under_way is not None else ()

    @property
    def first_token_at(self) -> float | None:
        """Lane seconds of the first token; None before it."""
        return next((each.at for each in self.rounds if each.emitted), None)

    @property
    def _decode(self) -> tuple[int, float]:
        first = self.first_token_at
        if first is None:
            return 0, 0.0
        return len(self.emitted) - 1, self.rounds[-1].at - first

    @property
    def tokens_per_second(self) -> float | None:
        """As metrics.py defines it: tokens after the first over the seconds since the first."""
        tokens, seconds = self._decode
        return tokens / seconds if seconds > 0 else None

    @property
    def seconds_per_token(self) -> float | None:
        tokens, seconds = self._decode
        return seconds / tokens if tokens > 0 else None

    @property
    def tokens_per_pass(self) -> float | None:
        """Tokens after the first over passes of the target after Round 0."""
        return self._decode[0] / self.num_passes if self.num_passes else None

    @cached_property
    def metrics(self) -> Metrics:
        """Every figure of what has been shown; worked out when first asked for."""
        return fold([*self.rounds, *self._closing])


class LaneTrack:
    """One lane's events in order; more may be added while it runs.

    Args:
        events: those known so far.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._prefilled: Prefilled | None = None
        self._closing: Finished | Failed | None = None
        self._rounds: list[Round] = []
        self._ends: list[float] = []
        self._emitted: list[Emitted] = []
        self._token_counts: list[int] = []  # tokens up to and with each round
        self._text = ""
        self._text_lengths: list[int] = []
        self._seen: LaneMoment | None = None
        for event in events:
            self.add(event)

    @property
    def rounds(self) -> tuple[Round, ...]:
        return tuple(self._rounds)

    @property
    def clock(self) -> float:
        """Lane seconds that the track knows of: the last event's ``at``."""
        if self._closing is not None:
            return self._closing.at
        if self._ends:
            return self._ends[-1]
        return self._prefilled.at if self._prefilled is not None else 0.0

    @property
    def is_finished(self) -> bool:
        return self._closing is not None

    def add(self, event: Event) -> None:
        """Take in the next event."""
        self._seen = None
        if isinstance(event, Round):
            self._rounds.append(event)
            self._ends.append(event.at)
            self._emitted += event.emitted
            self._token_counts.append(len(self._emitted))
            self._text += "".join(token.text for token in event.emitted)
            self._text_lengths.append(len(self._text))
        elif isinstance(event, Prefilled):
            self._prefilled = event
        else:
            self._closing = event

    def at(self, seconds: float) -> LaneMoment:
        """What is seen of the lane at one second of its clock."""
        count = bisect_right(self._ends, seconds)
        closing = self._closing if self._closing and self._closing.at <= seconds else None
        prefilled = self._prefilled
        if prefilled is not None and prefilled.at > seconds:
            prefilled = None
        seen = self._seen
        same = seen is not None and len(seen.rounds) == count
        rounds = seen.rounds if same and seen else tuple(self._rounds[:count])
        tokens = self._token_counts[count - 1] if count else 0
        emitted = seen.emitted if same and seen else tuple(self._emitted[:tokens])
        text = self._text[: self._text_lengths[count - 1]] if count else ""
        moment = LaneMoment(
            seconds=seconds,
            rounds=rounds,
            emitted=emitted,
            text=text + (closing.trailing_text if isinstance(closing, Finished) else ""),
            under_way=self._rounds[count] if count < len(self._rounds) else None,
            under_way_since=self._ends[count - 1] if count else 0.0,
            prefill_seconds=prefilled.seconds if prefilled is not None else None,
            finished_at=closing.at if closing is not None else None,
            finish_reason=_reason(closing),
            failure=closing.message if isinstance(closing, Failed) else "",
            note=rounds[-1].note if rounds else "",
            _closing=(closing,) if closing is not None else (),
        )
        self._seen = moment
        return moment

    def round_after(self, seconds: float) -> float | None:
        """When the next round after a moment ends; None after the last."""
        index = bisect_right(self._ends, seconds)
        return self._ends[index] if index < len(self._ends) else None

    def round_before(self, seconds: float) -> float | None:
        """When the last round before a moment ended; None before the first."""
        index = bisect_right(self._ends, seconds) - 1
        if index >= 0 and self._ends[index] >= seconds:
            index -= 1
        return self._ends[index] if index >= 0 else None


def _reason(closing: Finished | Failed | None) -> str:
    if closing is None:
        return ""
    return closing.reason if isinstance(closing, Finished) else "failed"


def race_limit(standard: LaneTrack, speculative: LaneTrack) -> tuple[float, bool]:
    """How far a race may be shown, and whether that is its end: what Playhead.feed takes.

    The smaller of both clocks; once a lane is finished, the other's.
    """
    tracks = (standard, speculative)
    running = [track.clock for track in tracks if not track.is_finished]
    if running:
        return min(running), False
    return max(track.clock for track in tracks), True

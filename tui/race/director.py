"""RaceDirector: which race is on the screen, what comes next, and what a key does to it.

Knows no widgets. The screen calls ``tick`` to draw, and hands every key on.
"""

from __future__ import annotations

from collections.abc import Callable
from random import SystemRandom
from typing import TYPE_CHECKING

from mlx_specdec.errors import SpecdecError
from mlx_specdec.events import Failed
from mlx_specdec.prompts import Prompt
from mlx_specdec.race.header import header_names
from mlx_specdec.race.moment import RaceMoment
from mlx_specdec.race.recording import Recording, read_recording_file
from mlx_specdec.race.recording import RecordingHeader as Header
from mlx_specdec.race.scoreboard import Scoreboard
from tui.bridge import Bridge
from tui.opening import AppOpening
from tui.race.results import RaceResults
from tui.race.show import RaceShow, suitable_rate
from tui.race.sources import header_of, length_seconds, next_prompt, packaged_race, score_words
from tui.race.wishes import RaceWishes
from tui.state import AppState

if TYPE_CHECKING:
    from mlx_specdec.costs.prices import Prices
    from mlx_specdec.forecast.prediction import Score

__all__ = ["RaceDirector"]

LIVE_RATE = 0.5  # one device runs both lanes, so a live race of a real pair has half its time
TOY_RATE = 0.05  # until a race has told how long the toy takes here
LOOP_SECONDS = 4.0  # a finished race stands so long before the next one


class RaceDirector:
    """One screen's races.

    Args:
        tell: shows an error: its title, what happened, and the fix.
        keep_words: is given the result line of every race that has one.
    """

    def __init__(
        self,
        state: AppState,
        bridge: Bridge,
        opening: AppOpening,
        clock: Callable[[], float],
        *,
        tell: Callable[[str, str, str], None] = lambda title, text, hint: None,
        keep_words: Callable[[str], None] = lambda words: None,
    ) -> None:
        self._state = state
        self._bridge = bridge
        self._opening = opening
        self._clock = clock
        self._tell = tell
        self._show: RaceShow | None = None
        self._waiting: RaceShow | None = None  # a live race that is shown only re-timed
        self._kind = ""  # opening, file, live
        self._raced_number = 0  # of the opening that a race was started for
        self._is_warm = False
        self._ended_at: float | None = None
        self._toy_rate = TOY_RATE
        self._kept: RaceShow | None = None  # the last race whose result was kept
        self._is_told = False
        self._result = ""
        self.wishes = RaceWishes(state)
        self.was = ""
        self.moment: RaceMoment | None = None
        self.opening_since = clock()
        self._results = RaceResults(state, opening, keep_words, tell)

    # ------------------------------------------------------------------ beginning

    def begin(self) -> None:
        """Show a recording: the file that was asked for, or the one that comes with the app."""
        if self._show is not None:
            return
        try:
            if self._opening.replay is not None:
                recording = read_recording_file(self._opening.replay)
                self._kind = "file"
            else:
                recording = packaged_race()
                self._kind = "opening"
            self._play(self._retimed(recording))
        except SpecdecError as error:
            self._tell_error(error)
        self.look_at_opening()

    def look_at_opening(self) -> None:
        """Begin the first race of a pair as soon as it is loaded."""
        opening = self._bridge.opening
        if opening.number != self._raced_number and opening.phase == "looking":
            self.opening_since = self._clock()
        is_ready = opening.phase == "ready" and self._state.is_ready
        if is_ready and opening.number != self._raced_number:
            self._raced_number = opening.number
            self._is_warm = False
            if self._opening.prompt is None:
                self._state.prompt = self.wishes.first_prompt()
            self.again()

    def _play(self, recording: Recording) -> None:
        rate = self._opening.speed or suitable_rate(length_seconds(recording))
        if recording.header.is_toy and not recording.header.retimed:
            self._toy_rate = rate
        self._put(RaceShow(recording.header, self._clock, rate, recording=recording))
        if self._kind != "opening":
            self._state.recording = recording

    def _put(self, show: RaceShow) -> None:
        if self._show is not None:
            self._show.cancel()
        if self._result:
            self.was = f"was {self._result}"
        self._show, self._ended_at, self._is_told, self._result = show, None, False, ""
        self.moment = show.tick()

    def _retimed(self, recording: Recording) -> Recording:
        if not self._opening.chip:
            return recording
        from mlx_specdec.race.retiming import chip_named, retimed

        return retimed(recording, chip_named(self._opening.chip))

    # ------------------------------------------------------------------ time

    def tick(self) -> RaceMoment | None:
        """Take in what has come and say what to draw."""
        self._look_at_waiting()
        show = self._show
        if show is None:
            return None
        self.moment = show.tick()
        if show.is_from_engine:
            self._state.recording = show.recording
            self._settle_rate(show)
        if show.failure is not None and not self._is_told:
            self._is_told = True
            self._tell_failure(show.failure)
        if show.is_over and self._ended_at is None:
            self._end(show)
        self._loop()
        return self.moment

    def _settle_rate(self, show: RaceShow) -> None:
        """A toy's race is known before it is shown: then it lasts as long as it should."""
        if show.header.is_toy and show.is_complete and self._opening.speed is None:
            rate = suitable_rate(length_seconds(show.recording))
            if rate != self._toy_rate and show.rate == self._toy_rate:
                show.set_rate(rate)
            self._toy_rate = rate

    def _end(self, show: RaceShow) -> None:
        self._ended_at = self._clock()
        assert self.moment is not None
        if self._kind != "live":
            return
        speed = self.moment.speedup
        if speed is not None:
            self._result = f"{speed:.2f}, lookahead {show.header.lookahead}"
        if not show.is_from_engine or show.failure is not None or show is self._kept:
            return
        self._kept = show
        self._results.take(show.recording, self.moment)

    def _tell_error(self, error: SpecdecError) -> None:
        self._tell(error.title, error.message, error.hint)

    def _tell_failure(self, failure: Failed) -> None:
        self._tell(failure.title, failure.message, failure.hint)

    def _loop(self) -> None:
        if not self._opening.is_looping or self._ended_at is None or self._bridge.is_busy:
            return
        if self._clock() - self._ended_at >= LOOP_SECONDS and self._bridge.is_ready:
            self._state.prompt = next_prompt(self._state.prompt, self._state.is_toy)
            self.again()

    def _look_at_waiting(self) -> None:
        """A race that is to be seen re-timed is put in when all of it is known."""
        waiting = self._waiting
        if waiting is None:
            return
        waiting.tick()
        if waiting.failure is not None:
            self._waiting = None
            self._tell_failure(waiting.failure)
        elif waiting.is_complete and not waiting.is_live:
            self._waiting = None
            self._play(self._retimed(waiting.recording))

    # ------------------------------------------------------------------ words

    @property
    def scoreboard(self) -> Scoreboard:
        """Of the races that ran here."""
        return self._results.scoreboard

    @property
    def shows_scoreboard(self) -> bool:
        """Whether one race of a loop is over and the next has not begun."""
        return self._opening.is_looping and self.is_over and bool(self.scoreboard.rows())

    @property
    def score(self) -> Score | None:
        """What was forecast of the race on the screen beside what it came to; once it is over."""
        is_its = self._show is not None and self._show is self._kept
        return self._state.score if is_its and self.is_over else None

    @property
    def rate(self) -> float:
        return self._show.rate if self._show else 1.0

    @property
    def totals(self) -> tuple[int, int]:
        return self._show.totals if self._show else (0, 0)

    @property
    def is_paused(self) -> bool:
        return self._show is not None and self._show.is_paused

    @property
    def is_over(self) -> bool:
        """Whether the last second of a race is on the screen."""
        return self._ended_at is not None and self._show is not None and self._show.is_over

    @property
    def has_ended(self) -> bool:
        """Whether the race on the screen has been seen to its end."""
        return self._ended_at is not None

    @property
    def is_photo(self) -> bool:
        return self._show is not None and self._show.is_photo

    def labels(self) -> tuple[str, str]:
        """What must be known about what is shown, and the same in short; empty when live."""
        if self._waiting is not None:
            return "racing; shown re-timed when it is over", "racing"
        if self.moment is None:
            return "", ""
        if self.moment.header.retimed:
            from mlx_specdec.race.retiming import retimed_label

            return retimed_label(self.moment.header), "re-timed, not measured"
        if self._kind == "opening":
            return "recorded earlier; yours follows when the models are loaded", "recorded earlier"
        if self._kind == "file":
            return "a recording", "a recording"
        return score_words(self.scoreboard.rows() if self._opening.is_looping else ())

    def why_this_speed(self) -> str:
        """Why the race is not shown at true speed."""
        show = self._show
        if show is None or show.rate >= 1:
            return ""
        if show.header.is_toy:
            return "a toy is fast, so in slow motion"
        return "one device runs both" if show.is_from_engine else ""

    def top_words(self) -> str:
        """What is raced, and where."""
        if self.moment is None:
            return ""
        header = self.moment.header
        kind = "toy pair" if header.is_toy else header.quantization
        power = header.power if header.power not in ("", "mains") else ""
        parts = (header_names(header), kind, f"temp {header.temperature:g}", header.machine, power)
        return " · ".join(part for part in parts if part)

    def prices(self, header: Header) -> Prices | None:
        """What passes cost for this race: what is known here, else its chip's published table."""
        from tui.race.prices import prices_for

        return prices_for(header, self._state)

    # ------------------------------------------------------------------ keys

    def again(self) -> None:
        """Race once more; a recording without models begins anew."""
        if self._bridge.is_ready:
            self._race()
        elif self._show is not None:
            self._ended_at = None
            self._show.watch_again(self._show.rate)

    def _race(self) -> None:
        wanted = self._state.race_settings
        if wanted.seed is None:
            wanted = wanted.changed(seed=SystemRandom().getrandbits(31))
        rate = self._opening.speed or (self._toy_rate if self._state.is_toy else LIVE_RATE)
        opening = self._opening
        try:
            feed = self._bridge.start_race(
                self._state.prompt.text,
                wanted,
                system=opening.system,
                template_options=opening.template_options,
                warm_up=not self._is_warm,
                on_prompt=self._results.begin(wanted),
            )
        except SpecdecError as error:
            self._tell_error(error)
            return
        self._is_warm = True
        self.wishes.are_met()
        show = RaceShow(header_of(self._state, wanted, rate), self._clock, rate, source=feed)
        self._kind = "live"
        if opening.chip:
            self._waiting = show
        else:
            self._put(show)

    def stop(self) -> None:
        """End a race under way; what it brought stays to be looked at."""
        if self._waiting is not None:
            self._waiting.cancel()
        if self._show is not None:
            self._show.cancel()

    def toggle_pause(self) -> None:
        if self._show is not None and not self._show.is_over:
            self._show.toggle_pause()

    def pause(self) -> None:
        """Stand still, so that what is on the screen can be looked at."""
        if self._show is not None and not self._show.is_paused and not self._show.is_over:
            self._show.toggle_pause()

    def scrub(self, direction: int) -> None:
        """One pass back or on; the race stands still then."""
        if self._show is not None:
            self._show.scrub(direction)
            self.moment = self._show.tick()

    def watch_at_true_speed(self) -> str:
        """The same race from its first second as it really was."""
        show = self._show
        if show is None:
            return ""
        if not show.is_complete:
            return "The race must be over first; then R shows it at true speed."
        self._ended_at = None
        show.watch_again(1.0)
        return ""

    @property
    def is_toy(self) -> bool:
        """Whether the pair that is loaded, or on its way, is the built-in one."""
        pair = self._state.pair or self._bridge.opening.pair
        return pair is not None and bool(pair.target.built_in)

    def take_prompt(self, prompt: Prompt) -> None:
        """Race on another prompt, at once where models are loaded."""
        self._state.prompt = prompt
        self.again()

    def force_drafting(self) -> str:
        """Race with a fixed lookahead where drafting was parked."""
        return self._race_with(self.wishes.force)

    def race_copying(self) -> str:
        """Race with copying instead of drafting, on an edit; or with the draft again."""
        return self._race_with(self.wishes.change_copying)

    def _race_with(self, change: Callable[[], str]) -> str:
        if not self._bridge.is_ready:
            return "That takes loaded models: press m."
        words = change()
        self.again()
        return words

    def can_step(self) -> bool:
        """Whether a pass that drafted has been seen."""
        seen = self._state.recording.speculative if self._state.recording is not None else ()
        return any(getattr(event, "proposed", ()) for event in seen)

    @property
    def round_index(self) -> int | None:
        """The speculative lane's pass that is on the screen."""
        if self.moment is None or not self.moment.speculative.rounds:
            return None
        return self.moment.speculative.rounds[-1].index

    @property
    def shared_rate(self) -> float:
        """1 for a race of this session, whose figures hold; a replay's own rate otherwise."""
        return 1.0 if self._show is not None and self._show.is_from_engine else self.rate

    @property
    def shown_recording(self) -> Recording | None:
        return self._show.recording if self._show is not None else None

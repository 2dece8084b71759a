"""OtherWeights: timing a pair's target in other weight formats, at a key of a parked race."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlx_specdec.errors import SpecdecError
from mlx_specdec.events import Failed
from mlx_specdec.race.moment import RaceMoment
from mlx_specdec.race.recording import RecordingHeader
from tui.bridge import Bridge, Feed
from tui.race.prices import is_of_this_machine
from tui.race.seen_acceptance import SeenAcceptance
from tui.state import AppState

if TYPE_CHECKING:
    from mlx_specdec.forecast.format_table import TimedFormats
    from tui.race.weights_words import WeightsView

__all__ = ["SECONDS", "OtherWeights"]

SECONDS = 20.0
_NAMES = "other weights (mxfp4, nvfp4)"


class OtherWeights:
    """One measurement at a time; what it finds is kept for as long as the app runs.

    It waits until a race under way is over, and anything else that is asked of the engine ends it.
    """

    def __init__(self, state: AppState, bridge: Bridge) -> None:
        self._state = state
        self._bridge = bridge
        self._feed: Feed | None = None
        self._is_waiting = False
        self._seconds_left = SECONDS
        self._asked_of = ""
        self._found: dict[str, TimedFormats] = {}
        self.seen = SeenAcceptance()
        self._trouble: tuple[str, str, str] | None = None

    @property
    def is_running(self) -> bool:
        """Whether it measures, or waits for a race's end to do so."""
        return self._is_waiting or self._feed is not None

    def start(self, header: RecordingHeader) -> str:
        """Begin for the pair of this race; why not, in words."""
        if not self._bridge.is_ready or self._state.pair is None:
            return "That takes loaded models: press m."
        if not is_of_this_machine(header, self._state):
            return "That race is of another machine: enter races here, and w times weights then."
        self._is_waiting, self._seconds_left = True, SECONDS
        self._asked_of, self._trouble = self._state.pair.name, None
        self._begin_when_quiet()
        return ""

    def stop(self) -> None:
        """Give it up; nothing is kept of what was timed so far."""
        self._is_waiting = False
        if self._feed is not None:
            self._feed.cancel()
            self._feed = None

    def tick(self) -> bool:
        """Take in what has come; whether the formats have just been found."""
        if self._is_waiting:
            self._begin_when_quiet()
        feed = self._feed
        if feed is None:
            return False
        from mlx_specdec.forecast.format_table import TimedFormats

        is_done = feed.is_done
        for item in feed.poll():
            if isinstance(item, float):
                self._seconds_left = item
            elif isinstance(item, Failed):
                self._trouble = (item.title, item.message, item.hint)
            elif isinstance(item, TimedFormats):
                self._feed = None
                self._found[self._asked_of] = item
                return True
        if is_done:
            self._feed = None
        return False

    def take_trouble(self) -> tuple[str, str, str] | None:
        """What went wrong since the last call: title, what happened, and the fix."""
        trouble, self._trouble = self._trouble, None
        return trouble

    def view(self, moment: RaceMoment) -> WeightsView | None:
        """What was found of this race's pair; None where nothing was."""
        from tui.race.weights_words import WeightsView

        found = self._found_of(moment.header)
        if found is None:
            return None
        header = moment.header
        return WeightsView(found, self.seen.of(moment), header.machine, header.draft)

    def option(self, moment: RaceMoment) -> tuple[str, str]:
        """What the key stands for in a parked race: words, and how long it takes."""
        if self._is_waiting:
            return f"{_NAMES}: timed when the race is in; any key stops it", ""
        if self._feed is not None:
            left = max(1, round(self._seconds_left))
            return f"{_NAMES}: being timed; any key stops it", f"{left:2d} s left"
        view = self.view(moment)
        if view is not None:
            from tui.race.weights_words import found_words

            return found_words(view), ""
        if is_of_this_machine(moment.header, self._state):
            return f"{_NAMES}: not known yet, measure here", f"{SECONDS:.0f} s"
        return f"{_NAMES}: not known, and only that machine can tell", ""

    def _found_of(self, header: RecordingHeader) -> TimedFormats | None:
        pair = self._state.pair
        if pair is None or not is_of_this_machine(header, self._state):
            return None
        return self._found.get(pair.name)

    def _begin_when_quiet(self) -> None:
        pair = self._state.pair
        if self._bridge.is_busy:
            return
        self._is_waiting = False
        if pair is None or pair.name != self._asked_of:
            return
        try:
            self._feed = self._bridge.start_timing(pair, SECONDS)
        except SpecdecError as error:
            self._trouble = (error.title, error.message, error.hint)

"""RaceResults: what a race says before it runs and leaves behind when it is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlx_specdec.model_spec import PairSpec
from mlx_specdec.prompts import Prompt
from mlx_specdec.race.header import header_names
from mlx_specdec.race.moment import RaceMoment
from mlx_specdec.race.recording import SPECULATIVE, STANDARD, Recording
from mlx_specdec.race.scoreboard import Scoreboard, scoreboard_lines
from mlx_specdec.settings import Settings
from tui.opening import AppOpening
from tui.race.sources import write_record
from tui.state import AppState

if TYPE_CHECKING:
    from mlx_specdec.forecast.prediction import Prediction

__all__ = ["Foretold", "RaceResults"]


class Foretold:
    """One race's forecast of itself; ``write`` is called on the engine's thread before it runs."""

    def __init__(self, pair: PairSpec, settings: Settings, prompt: Prompt) -> None:
        self.pair, self.settings, self.prompt = pair, settings, prompt
        self.said: Prediction | None = None

    def write(self, prompt_tokens: int) -> None:
        """Say what the race should gain, and write it down."""
        from mlx_specdec.forecast.own_run import foretell

        self.said = foretell(self.pair, self.settings, self.prompt, prompt_tokens)


class RaceResults:
    """The scoreboard, the line in the terminal, the record, the forecast's score.

    Args:
        keep_words: is given the result line of every race that has one.
        tell: shows an error: its title, what happened, and the fix.
    """

    def __init__(
        self,
        state: AppState,
        opening: AppOpening,
        keep_words: Callable[[str], None],
        tell: Callable[[str, str, str], None],
    ) -> None:
        self._state = state
        self._opening = opening
        self._keep_words = keep_words
        self._tell = tell
        self._foretold: Foretold | None = None
        self.scoreboard = Scoreboard()

    def begin(self, settings: Settings) -> Callable[[int], None]:
        """A race with these settings is about to start; what to call with its prompt's tokens."""
        self._state.score, self._foretold = None, None
        if self._state.pair is None or self._opening.chip:  # re-timed, nothing can be held to it
            return lambda prompt_tokens: None
        self._foretold = Foretold(self._state.pair, settings, self._state.prompt)
        return self._foretold.write

    def take(self, recording: Recording, moment: RaceMoment) -> None:
        """A race that ran here has been seen to its end, which is ``moment``."""
        from mlx_specdec.cards.share import card_words  # neither is part of the first frame
        from mlx_specdec.ledger.last_run import remember_run

        self.scoreboard.add(self._state.prompt.kind, moment.speedup)
        self._settle(recording, moment)
        words = [card_words(recording) or _short_result(moment)]
        if self._opening.is_looping:
            words += scoreboard_lines(self.scoreboard.rows())
        self._keep_words("\n".join(words))
        remember_run(recording)
        trouble = write_record(self._opening.record, recording)
        if trouble:
            self._tell("The race was not recorded", trouble, "Name another place.")

    def _settle(self, recording: Recording, moment: RaceMoment) -> None:
        """Hold what was said before the race against it; not of one that was stopped."""
        race, self._foretold = self._foretold, None
        if race is None or any(lane.finish_reason == "cancelled" for lane in moment.lanes):
            return
        from mlx_specdec.forecast.own_run import settle

        figures = recording.metrics(STANDARD), recording.metrics(SPECULATIVE)
        self._state.score = settle(
            race.said, race.pair, race.settings, race.prompt, *figures, moment.speedup
        )


def _short_result(moment: RaceMoment) -> str:
    """What stays in the terminal of a race too short to be shared: it names no rates."""
    header = moment.header
    return f"{header_names(header)}, {header.machine}: {moment.sentence()}"

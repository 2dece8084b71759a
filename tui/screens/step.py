"""StepScreen: one round in four phases, with its own numbers; the coin thrown again; break it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import ClassVar

from mlx_specdec.errors import SpecdecError
from mlx_specdec.events import Round
from mlx_specdec.lesson.guess_table import WIDE
from mlx_specdec.lesson.step_export import save_round
from mlx_specdec.lesson.step_page import paragraph, title_words
from mlx_specdec.lesson.throw import can_throw
from mlx_specdec.race.recording import Recording
from mlx_specdec.settings import Settings
from tui.bridge import Bridge
from tui.lesson.odds_job import odds_of_round
from tui.lesson.step_state import StepState
from tui.state import AppState
from tui.widgets.key_line import KeyLine
from tui.widgets.step_board import StepBoard
from tui.widgets.top_line import TopLine

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

__all__ = ["StepScreen"]

KEYS = (
    ("→", "next phase"),
    ("←", "back"),
    ("n", "next round"),
    ("c", "throw the coin again"),
    ("u", "rule"),
    ("b", "break it"),
    ("h", "predict"),
    ("x", "export"),
    ("?", "words"),
    ("esc", "race"),
)
SHORT_KEYS = (
    ("→ ←", "phase"),
    ("tab", "page"),
    ("n", "round"),
    ("c", "coin"),
    ("u", "rule"),
    ("b", "break"),
    ("h", "predict"),
    ("?", "words"),
    ("esc", ""),
)
NOTHING = (
    "Nothing was guessed in this race, so there is no round to take apart. Race with drafting, "
    "or press esc and see the built-in example: mlx-specdec explain"
)


class StepScreen(Screen[None]):
    """Step mode on a recording, or the built-in lesson.

    Args:
        recording: a race, whole or under way; None shows the built-in lesson.
        start_round: index of the round to begin at; None is the first that guessed.
        rule: of the built-in lesson.
        coins: gives the next uniform when the coin is thrown again.
        leave_word: what ``esc`` leads to, for the last line.
        folder: where exported rounds go; None is the current one.
        bridge, app_state: to have the odds of a round read that the recording lacks; the lesson
            alone has neither.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space,enter", "move(1)", "next phase", show=False),
        Binding("left,backspace", "move(-1)", "one phase back", show=False),
        Binding("n", "next_or_no", "next round; predicting: it dies", show=False),
        Binding("N", "round(-1)", "round before", show=False),
        Binding("y", "answer(True)", "predicting: it lives", show=False),
        Binding("c", "throw", "throw the coin again", show=False),
        Binding("u", "rule", "the same under another rule", show=False),
        Binding("b", "break", "break the rule on purpose", show=False),
        Binding("h", "cover", "predict first", show=False),
        Binding("tab", "page", "table or overlap", show=False, priority=True),
        Binding("x", "export", "save the round as a table and a figure", show=False),
        Binding("question_mark", "words", "words", show=False),
        Binding("escape", "leave", "back", show=False),
    ]

    def __init__(
        self,
        recording: Recording | None = None,
        start_round: int | None = None,
        rule: str = "rejection",
        *,
        coins: Callable[[], float] = random.random,
        leave_word: str = "race",
        folder: Path | None = None,
        bridge: Bridge | None = None,
        app_state: AppState | None = None,
    ) -> None:
        super().__init__()
        self._recording = recording
        self._bridge = bridge
        self._app_state = app_state
        self._asked: set[int] = set()
        self._coins = coins
        self._folder = folder
        self._leave_word = leave_word
        self._state: StepState | None = (
            StepState.of_lesson(rule)
            if recording is None
            else StepState.of_recording(recording, start_round)
        )

    def compose(self) -> ComposeResult:
        yield TopLine("step")
        yield StepBoard(id="board")
        yield KeyLine(KEYS)

    def on_mount(self) -> None:
        self._draw()
        self._ask_odds()

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

    @property
    def state(self) -> StepState | None:
        """What is shown; None where nothing was guessed."""
        return self._state

    def _go(self, state: StepState) -> None:
        self._state = state
        self._draw()
        self._ask_odds()

    # ------------------------------------------------------------------ odds after the fact

    def _ask_odds(self) -> None:
        """Have the round at hand read once more where its odds were not recorded."""
        state, app_state = self._state, self._app_state
        if state is None or self._recording is None or state.lesson.overlaps:
            return
        index = state.lesson.index
        if self._bridge is None or app_state is None or index in self._asked:
            return
        raced = app_state.recording
        if app_state.is_ready and raced and raced.header == self._recording.header:
            self._asked.add(index)
            self._read_odds(self._recording, index, app_state.race_settings)

    @work
    async def _read_odds(self, recording: Recording, index: int, settings: Settings) -> None:
        assert self._bridge is not None
        try:
            future: Future[Round] = self._bridge.conversation_call(
                odds_of_round(recording, index, settings)
            )
            event = await asyncio.wrap_future(future)
        except SpecdecError as error:
            self.notify(f"{error}", markup=False)
            return
        if self._state is not None:
            self._state = self._state.with_round(event, recording.header)
            self._draw()

    def _draw(self) -> None:
        is_wide = self.size.width >= WIDE
        keys = KEYS if is_wide else SHORT_KEYS
        self.query_one(KeyLine).set_keys([*keys[:-1], ("esc", self._leave_word if is_wide else "")])
        board, top = self.query_one(StepBoard), self.query_one(TopLine)
        if self._state is None:
            board.show(paragraph(NOTHING, self.size.width))
            return
        state = self._state
        top.set_active("step" + self._round_words(state))
        top.set_right(title_words(state.lesson))
        if board.size.height:  # before the first layout there is nothing to draw on
            board.set_state(state)

    @staticmethod
    def _round_words(state: StepState) -> str:
        if len(state.lessons) == 1:
            return ""
        return f"   round {state.lesson.index} of {state.lessons[-1].index}"

    # ------------------------------------------------------------------ keys

    def action_move(self, steps: int) -> None:
        if self._state is not None:
            self._go(self._state.moved(steps))

    def action_round(self, steps: int) -> None:
        if self._state is not None:
            following = self._state.round(steps)
            if following is self._state and len(self._state.lessons) > 1:
                where = "last" if steps > 0 else "first"
                self.notify(f"This is the {where} round with guesses.", markup=False)
            elif following is self._state:
                self.notify("The built-in example has one round; s in a race has many.")
            self._go(following)

    def action_next_or_no(self) -> None:
        """``n``: the next round, or "it dies" while the student is asked."""
        if self._state is not None and self._state.asks_about is not None:
            self.action_answer(False)
        else:
            self.action_round(1)

    def action_answer(self, lives: bool) -> None:
        if self._state is not None:
            self._go(self._state.answered(lives))

    def action_throw(self) -> None:
        if self._state is None:
            return
        if not can_throw(self._state.lesson):
            at_zero = self._state.lesson.temperature == 0
            words = "At temperature 0 no coin falls." if at_zero else "The odds are not recorded."
            self.notify(words, markup=False)
        self._go(self._state.thrown(self._coins))

    def action_rule(self) -> None:
        if self._state is not None:
            self._go(self._state.other_rule())

    def action_break(self) -> None:
        if self._state is not None:
            self._go(self._state.broken())

    def action_cover(self) -> None:
        if self._state is not None:
            self._go(self._state.covered())

    def action_page(self) -> None:
        if self._state is not None:
            self._go(self._state.other_page())

    def action_export(self) -> None:
        """Save the round at hand beside the person's other files, and say where."""
        if self._state is None:
            return
        try:
            paths = save_round(self._state.lesson, self._folder or Path.cwd())
        except OSError as error:
            self.notify(f"Not saved: {error}", severity="error", markup=False)
            return
        self.notify(f"Saved {' and '.join(path.name for path in paths)}.", markup=False)

    def action_words(self) -> None:
        from tui.screens.words import WordsScreen

        self.app.push_screen(WordsScreen(None if self._state is None else self._state.lesson))

    def action_leave(self) -> None:
        self.dismiss(None)

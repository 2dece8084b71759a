"""LessonApp: step mode alone, for ``mlx-specdec explain``."""

from __future__ import annotations

from typing import ClassVar

from mlx_specdec.race.recording import Recording
from tui.crash import TellingApp
from tui.screens.step import StepScreen

from textual.binding import Binding, BindingType

__all__ = ["LessonApp", "run_lesson"]


class LessonApp(TellingApp):
    """Nothing but the lesson; leaving it ends the app."""

    TITLE = "mlx-specdec"
    CSS_PATH = "../tui.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q,ctrl+c", "quit", "quit", show=False)]

    def __init__(self, screen: StepScreen) -> None:
        super().__init__()
        self._first = screen

    def on_mount(self) -> None:
        self.push_screen(self._first, lambda _: self.exit())


def run_lesson(recording: Recording | None, start_round: int | None, rule: str) -> int:
    """Run the lesson until the person leaves; 0."""
    app = LessonApp(StepScreen(recording, start_round, rule, leave_word="quit"))
    app.run()
    app.tell_crash()
    return app.return_code or 0

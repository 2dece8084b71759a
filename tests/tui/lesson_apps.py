"""Bare apps with one screen of the lesson, a bridge that is played, coins that are known."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mlx_specdec.race.recording import Recording, read_recording_file
from tui.bridge import Bridge
from tui.lesson.lesson_app import LessonApp
from tui.screens.step import StepScreen

from textual.app import App
from textual.screen import Screen

if TYPE_CHECKING:
    from mlx_specdec.session import Session

T = TypeVar("T")
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
SIZES = [(80, 24), (120, 36)]
SIZE_IDS = ["80x24", "120x36"]


def recorded(name: str) -> Recording:
    return read_recording_file(GOLDEN / f"{name}.jsonl")


def cycled(*coins: float) -> Callable[[], float]:
    return itertools.cycle(coins).__next__


def lesson_app(
    name: str = "",
    start_round: int | None = None,
    rule: str = "rejection",
    coins: Callable[[], float] | None = None,
    folder: Path | None = None,
) -> LessonApp:
    """Step mode on a golden recording, or on the fox."""
    recording = recorded(name) if name else None
    return LessonApp(
        StepScreen(
            recording, start_round, rule, coins=coins or cycled(0.12, 0.9, 0.3), folder=folder
        )
    )


class BareApp(App[None]):
    """An app with nothing but a screen."""

    CSS_PATH = str(Path(__file__).resolve().parents[2] / "tui" / "tui.tcss")

    def __init__(self, screen: Screen[Any]) -> None:
        super().__init__()
        self._first = screen

    def on_mount(self) -> None:
        self.push_screen(self._first)


class PlayedBridge(Bridge):
    """Answers conversation_call when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Callable[[Session], Any]] = []
        self.futures: list[Future[Any]] = []

    def conversation_call(self, function: Callable[[Session], T]) -> Future[T]:
        future: Future[T] = Future()
        self.asked.append(function)
        self.futures.append(future)
        return future


def screen_text(app: App[None]) -> str:
    """What stands on the screen, row by row."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())

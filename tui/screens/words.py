"""WordsScreen: the words of the lesson, with the numbers of the round at hand."""

from __future__ import annotations

from typing import ClassVar

from mlx_specdec.definitions import DEFINITIONS
from mlx_specdec.lesson.lesson import Lesson
from mlx_specdec.lesson.terms import TERMS, definition_lines, numbers_in

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

__all__ = ["WordsScreen"]


class WordsScreen(ModalScreen[None]):
    """Definition, formula, paper and this round's numbers, one word after another.

    Args:
        lesson: whose numbers stand beside the words; None leaves them out.
    """

    DEFAULT_CSS = """
    WordsScreen { align: center middle; }
    WordsScreen #words {
        width: 76; max-width: 100%; height: 90%; background: $panel; padding: 1 2;
    }
    WordsScreen Static { height: auto; margin-bottom: 1; }
    WordsScreen #close { margin: 0; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,question_mark", "dismiss(None)", "close", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("up,k", "scroll(-1)", "up", show=False),
    ]

    def __init__(self, lesson: Lesson | None) -> None:
        super().__init__()
        self._numbers = dict.fromkeys(TERMS, "") if lesson is None else numbers_in(lesson)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="words"):
            for name, number in self._numbers.items():
                yield Static(_entry(name, number), markup=False)
            yield Static("up, down   esc close", id="close", markup=False)

    def action_scroll(self, steps: int) -> None:
        self.query_one("#words", VerticalScroll).scroll_relative(y=3 * steps, animate=False)


def _entry(name: str, number: str) -> Content:
    definition = {**DEFINITIONS, **TERMS}[name]
    here = f"   here: {number}" if number else ""
    head = Content.assemble((definition.label, "bold"), (here, "$text-success"))
    return Content("\n").join([head, *map(Content, definition_lines(definition))])

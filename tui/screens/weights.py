"""WeightsScreen: what passes cost in other weight formats, and what one could do about it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from mlx_specdec.safe_text import safe_text
from tui.race.weights_words import COLUMNS, WeightsView

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

__all__ = ["WeightsScreen", "weights_rows"]

_ROLE = 10  # cells of "measured" and what separates it


class WeightsScreen(ModalScreen[bool]):
    """One thing to read; gives True where it should be timed again."""

    DEFAULT_CSS = """
    WeightsScreen #box {
        width: 80; max-width: 100%; height: auto; max-height: 100%;
        background: $surface; padding: 1 2; scrollbar-size-vertical: 1;
    }
    WeightsScreen #rows { text-wrap: nowrap; text-overflow: ellipsis; }
    WeightsScreen #keys { margin-top: 1; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,space,q", "dismiss(False)", "close", show=False),
        Binding("w", "dismiss(True)", "time again", show=False),
    ]

    def __init__(self, view: WeightsView) -> None:
        super().__init__()
        self._view = view

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="box"):
            yield Static(Content("\n").join(weights_rows(self._view)), id="rows")
            yield Static("esc close   w time it again", id="keys", markup=False)


def weights_rows(view: WeightsView) -> list[Content]:
    """The page, a row each, at most 76 cells wide."""
    head, *table = map(safe_text, view.table())
    rows = [Content.styled(safe_text(view.title), "bold")]
    rows.append(Content.styled(head, "$foreground-muted"))
    rows += [_marked(row) for row in table]
    rows.append(Content(""))
    rows += [Content.styled(line, "bold") for line in textwrap.wrap(view.verdict[0], COLUMNS)]
    command = view.command_lines()
    if command:
        rows += [Content(""), *(Content(f"  {line}") for line in command)]
    rows.append(Content(""))
    for role, words in view.sources():
        rows += _paragraph(role, textwrap.wrap(safe_text(words), COLUMNS - _ROLE))
    return rows


def _marked(row: str) -> Content:
    """A gain stands out by its word and by its colour."""
    place = row.rfind("yes, ")
    return Content(row) if place < 0 else Content(row).stylize("$text-success", place, len(row))


def _paragraph(role: str, lines: Sequence[str]) -> list[Content]:
    names = [role, *[""] * (len(lines) - 1)]
    return [
        Content.styled(f"{name:<{_ROLE}}{line}", "$foreground-muted")
        for name, line in zip(names, lines, strict=True)
    ]

"""StyledText: lines of the core's styled text, as they are."""

from __future__ import annotations

from collections.abc import Sequence

from mlx_specdec.lesson.styled_lines import Line

from textual.content import Content
from textual.widgets import Static

__all__ = ["StyledText", "content_of"]

_LOOKS = {
    "draft": "$text-success",
    "miss": "bold",
    "dim": "$text-muted",
    "head": "bold",
}


def content_of(lines: Sequence[Line]) -> Content:
    """Lines as content; nothing in them is read as markup."""
    rows = [
        Content.assemble(*[(span.text, _LOOKS.get(span.style, "")) for span in line])
        for line in lines
    ]
    return Content("\n").join(rows)


class StyledText(Static):
    """A part of a screen that is drawn as lines."""

    DEFAULT_CSS = """
    StyledText { width: 1fr; height: 1fr; text-wrap: nowrap; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__("", id=id, markup=False)
        self.lines: tuple[Line, ...] = ()

    def show(self, lines: Sequence[Line]) -> None:
        """Draw other lines from now on."""
        if tuple(lines) != self.lines:
            self.lines = tuple(lines)
            self.update(content_of(lines))

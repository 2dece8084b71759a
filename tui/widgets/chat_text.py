"""GrowingText: plain text that grows by appending; only its last line is laid out anew."""

from __future__ import annotations

from collections.abc import Sequence

from mlx_specdec.events import Emitted
from mlx_specdec.safe_text import safe_text
from tui.widgets.rows_view import RowsView

from textual.content import Content

__all__ = ["GrowingText", "TokenView", "token_content"]

_DRAFTED = ("accepted", "copied")


class _TextLine:
    """One line as it was written, of any length."""

    has_gap = False

    def __init__(self, content: Content) -> None:
        self.content = content
        self._known: tuple[int, list[Content]] = (0, [])

    def rows(self, width: int) -> list[Content]:
        if self._known[0] != width:
            self._known = (width, self.content.wrap(width) or [Content("")])
        return self._known[1]


class GrowingText(RowsView):
    """Text line by line."""

    def __init__(self, classes: str = "") -> None:
        super().__init__(classes=classes)
        self._lines: list[_TextLine] = []

    def append(self, text: str | Content) -> None:
        """More text; a string is made harmless."""
        content = Content(safe_text(text)) if isinstance(text, str) else text
        if not content:
            return
        if self._lines:
            content = self._lines.pop().content + content
        first = len(self._lines)
        self._lines += [_TextLine(line) for line in content.split("\n", allow_blank=True)]
        self.put(first, self._lines[first:])


class TokenView(GrowingText):
    """A reply token by token: what the draft wrote, and what the target wrote itself.

    Markdown would move the borders of the tokens, so they are coloured here and not there.
    """

    def __init__(self, classes: str = "") -> None:
        super().__init__(classes=classes)
        self._waiting: list[Emitted] = []

    def add(self, emitted: Sequence[Emitted]) -> None:
        """Show more tokens; while it is hidden they only wait."""
        self._waiting += emitted
        if self.display:
            self.catch_up()

    def catch_up(self) -> None:
        """Take in what waits."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            self.append(token_content(waiting, underlines=self.app.no_color))


def token_content(emitted: Sequence[Emitted], underlines: bool) -> Content:
    """Tokens as text, those of the draft in the accent colour.

    Args:
        underlines: underline what the target wrote itself (where there are no colours).
    """
    own = "underline" if underlines else ""
    parts = [
        (safe_text(token.text), "$text-success" if token.kind in _DRAFTED else own)
        for token in emitted
    ]
    return Content.assemble(*parts)

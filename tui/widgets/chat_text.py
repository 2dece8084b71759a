"""GrowingText: plain text that grows by appending; only its last part is drawn anew."""

from __future__ import annotations

from collections.abc import Sequence

from mlx_specdec.events import Emitted
from mlx_specdec.safe_text import safe_text

from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

__all__ = ["GrowingText", "TokenView", "token_content"]

_DRAFTED = ("accepted", "copied")
_PART_LENGTH = 600


class GrowingText(Vertical):
    """Text in parts of some lines each."""

    DEFAULT_CSS = """
    GrowingText { height: auto; }
    GrowingText > Static { height: auto; width: 1fr; }
    """

    def __init__(self, classes: str = "") -> None:
        super().__init__(classes=classes)
        self._open = Content("")
        self._last: Static | None = None

    def append(self, text: str | Content) -> None:
        """More text; a string is made harmless."""
        self._open += Content(safe_text(text)) if isinstance(text, str) else text
        end = self._open.plain.rfind("\n") if len(self._open) > _PART_LENGTH else -1
        if end > 0:
            self._show(self._open[:end])  # the next part begins on a row of its own anyway
            self._open, self._last = self._open[end + 1 :], None
        if self._open:
            self._show(self._open)

    def _show(self, content: Content) -> None:
        if self._last is None:
            self._last = Static(content, markup=False)
            self.mount(self._last)
        else:
            self._last.update(content)


class TokenView(GrowingText):
    """A reply token by token: what the draft wrote, and what the target wrote itself.

    Markdown would move the borders of the tokens, so they are coloured here and not there.
    """

    def add(self, emitted: Sequence[Emitted]) -> None:
        """Show more tokens."""
        self.append(token_content(emitted, underlines=self.app.no_color))


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

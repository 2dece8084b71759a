"""KeyLine: the last row of a screen, a few keys with a word each."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

__all__ = ["KeyLine"]

KeyWords = Sequence[tuple[str, str]]


class KeyLine(Widget):
    """Keys and what they do, from the left; the last one stands at the right edge.

    Where the row is too narrow, gaps shrink first, then keys are left out from the right; a "?"
    that stands before the last one stays.
    """

    DEFAULT_CSS = """
    KeyLine { text-wrap: nowrap; height: 1; dock: bottom; width: 1fr; background: $panel; }
    """

    def __init__(self, pairs: KeyWords, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._pairs = tuple(pairs)

    def set_keys(self, pairs: KeyWords) -> None:
        """Show other keys from now on."""
        if tuple(pairs) != self._pairs:
            self._pairs = tuple(pairs)
            self.refresh()

    def render(self) -> Content:
        return _line(self._pairs, self.size.width)


def _piece(key: str, words: str) -> Content:
    return Content.assemble((key, "bold"), f" {words}" if words else "")


def _line(pairs: KeyWords, width: int) -> Content:
    if not pairs or width < 4:
        return Content("")
    *left, last = [_piece(*pair) for pair in pairs]
    kept = list(pairs[:-1])
    room = width - 2 - last.cell_length
    for gap in (3, 2):
        if sum(piece.cell_length + gap for piece in left) <= room:
            break
    else:
        while left and sum(piece.cell_length + gap for piece in left) > room:
            place = -2 if len(kept) > 1 and kept[-1][0] == "?" else -1
            del left[place], kept[place]
    joined = Content(" " * gap).join(left)
    blank = max(width - 2 - joined.cell_length - last.cell_length, 0)
    return Content.assemble(" ", joined, " " * blank, last, " ")

"""Big figures: numbers three rows high, made of the box characters that every terminal has."""

from __future__ import annotations

__all__ = ["big_rows", "big_width"]

_GLYPHS = {
    "0": ("╭─╮", "│ │", "╰─╯"),
    "1": ("╶╮ ", " │ ", "╶┴╴"),
    "2": ("╶─╮", "┌─┘", "╰─╴"),
    "3": ("╶─╮", " ─┤", "╶─╯"),
    "4": ("╷ ╷", "╰─┤", "  ╵"),
    "5": ("╭─╴", "╰─╮", "╶─╯"),
    "6": ("╭─╴", "├─╮", "╰─╯"),
    "7": ("╶─┐", "  │", "  ╵"),
    "8": ("╭─╮", "├─┤", "╰─╯"),
    "9": ("╭─╮", "╰─┤", "╶─╯"),
    ".": (" ", " ", "•"),
    "-": ("   ", "╶─╴", "   "),
    "×": ("  ", " ×", "  "),
    " ": ("   ", "   ", "   "),
}


def big_rows(text: str, width: int = 0) -> tuple[str, str, str]:
    """Three rows for digits, point, dash, × and spaces, at least ``width`` cells, to the right.

    Raises:
        KeyError: a character that has no big form.
    """
    glyphs = [_GLYPHS[character] for character in text]
    top, middle, bottom = ("".join(glyph[row] for glyph in glyphs).rjust(width) for row in range(3))
    return top, middle, bottom


def big_width(text: str) -> int:
    """Cells that ``text`` takes."""
    return sum(len(_GLYPHS[character][0]) for character in text)

"""Text of a model made harmless: a control code is shown as a picture, never sent to a terminal."""

from __future__ import annotations

__all__ = ["safe_text"]

_TABLE: dict[int, str | None] = {code: chr(0x2400 + code) for code in range(0x20)}
_TABLE.update(dict.fromkeys(range(128, 160), "�"))
_TABLE[0x7F] = "\u2421"
_TABLE[ord("\r")] = None  # a line that ends in both stays one line; alone it would overwrite
for _kept in "\n\t":
    del _TABLE[ord(_kept)]


def safe_text(text: str) -> str:
    """``text`` with every control code but newline and tab replaced.

    Character by character, so that a sequence split over two pieces is harmless as well: without
    its escape character ``[2J`` is only text.
    """
    return text.translate(_TABLE)

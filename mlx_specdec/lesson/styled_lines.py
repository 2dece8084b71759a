"""Lines of styled text, measured in terminal cells: what a lesson is drawn with, on any surface.

Styles are words for what a piece means (``draft``, ``miss``, ``dim``, ``head``); each surface
(terminal app, plain text, SVG) has its own look for them, and every line reads without any.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..safe_text import safe_text

__all__ = [
    "STYLES",
    "Line",
    "Span",
    "cell_length",
    "clipped",
    "cut",
    "line",
    "padded",
    "plain",
    "quoted",
    "safe_flat",
    "told_apart",
    "visible",
    "wrapped",
]

STYLES = ("", "draft", "miss", "dim", "head")
ELLIPSIS = "…"
NO_TEXT = "(no text)"
"""An end mark, or a part of a character: its text comes with a later token, or never."""


class Span(NamedTuple):
    """A piece of a line; ``style`` is one of STYLES."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    """A line of pieces; a plain string has no style."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


def plain(lines: Iterable[Line]) -> str:
    """The text of lines, without styles and without blanks at their ends."""
    return "\n".join("".join(span.text for span in each).rstrip() for each in lines)


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cell_length(text: str) -> int:
    """How many terminal cells a text takes: wide characters two, combining ones none."""
    return sum(map(_width, text))


def cut(text: str, cells: int) -> str:
    """``text`` in at most ``cells`` cells; what was cut is marked by an ellipsis."""
    if cell_length(text) <= cells:
        return text
    kept, used = "", 0
    for character in text:
        used += _width(character)
        if used > cells - 1:
            break
        kept += character
    return kept + ELLIPSIS if cells > 0 else ""


def padded(text: str, cells: int) -> str:
    """``text`` in exactly ``cells`` cells."""
    short = cut(text, cells)
    return short + " " * (cells - cell_length(short))


def clipped(spans: Line, cells: int) -> Line:
    """A line of at most ``cells`` cells: nothing may wrap into the next row."""
    kept: list[Span] = []
    for span in spans:
        text = cut(span.text, cells) if span.text.strip() else span.text[:cells]
        cells -= cell_length(text)
        kept.append(Span(text, span.style))
    return tuple(kept)


def visible(token_text: str) -> str:
    """A token as a word of a table: blanks around it go, lone blanks and breaks become signs."""
    text = safe_text(token_text)
    shown = text.strip(" ").replace("\n", "⏎").replace("\t", "⇥")
    return shown or "␣" * len(text) or NO_TEXT


def told_apart(token_texts: Sequence[str]) -> list[str]:
    """Tokens as words of one list; of two that look alike the one that begins with a blank shows
    it."""
    shown = [visible(text) for text in token_texts]
    return [
        f"␣{word}" if shown.count(word) > 1 and text.startswith(" ") and text.strip() else word
        for word, text in zip(shown, token_texts, strict=True)
    ]


def quoted(token_text: str) -> str:
    """A token within a sentence: “happy”."""
    return f"“{visible(token_text)}”"


def wrapped(text: str, cells: int) -> list[str]:
    """A paragraph in lines of at most ``cells`` cells; words too long for a line are cut."""
    lines: list[str] = []
    current = ""
    for word in text.split():
        joined = f"{current} {word}" if current else word
        if cell_length(joined) > cells and current:
            lines.append(current)
            joined = word
        current = cut(joined, cells)
    return [*lines, current] if current else lines


def safe_flat(text: str) -> str:
    """Text of a model on one line, harmless; breaks become signs."""
    return safe_text(text).replace("\n", "⏎ ").replace("\t", " ")

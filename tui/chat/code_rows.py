"""CodeRows: a block of code as rows, coloured in parts, so that a line more costs one part."""

from __future__ import annotations

from typing import Literal

from textual.content import Content

__all__ = ["CodeRows", "Look"]

Look = Literal["dark", "light"] | None
"""Which of the terminal's own colours; None for those of the theme."""

MOST_RECOLOURED_LINES = 150
PART_LINES = 24
_HEAD = "y copy"
_MARGIN = 2
_GROUND = "on $boost"


class CodeRows:
    """Below a line with its language and how to copy it.

    Args:
        code: without the line end after it.
        info: what stands after the fence; its first word names the language.
    """

    def __init__(self, code: str, info: str) -> None:
        self.code = code
        self.info = info
        self.is_selected = False
        self.look: Look = None
        self._is_whole = False
        self._coloured: list[tuple[str, Content]] = []  # the parts, each with its code
        self._laid_out: list[tuple[Content, int, list[Content]]] = []

    @property
    def language(self) -> str:
        words = self.info.split()
        return words[0] if words else "text"

    def take_over(self, other: CodeRows) -> None:
        """Grow into ``other``, which begins with the same code."""
        self.code, self.info = other.code, other.info

    def recolour(self, look: Look) -> None:
        """Other colours from now on."""
        if look != self.look:
            self.look, self._is_whole = look, False
            self._coloured.clear()

    def close(self) -> None:
        """Nothing more comes: colour it as one, for a string may span the parts."""
        num_lines = self.code.count("\n") + 1
        if self._is_whole or not PART_LINES < num_lines <= MOST_RECOLOURED_LINES:
            return
        self._is_whole = True
        lines = _coloured(self.code, self.language, self.look).split("\n", allow_blank=True)
        parts = [lines[i : i + PART_LINES] for i in range(0, len(lines), PART_LINES)]
        self._coloured = [
            (code, Content("\n").join(part))
            for code, part in zip(_parts(self.code), parts, strict=False)
        ]

    def rows(self, width: int) -> list[Content]:
        """The head, then the code; parts that are full are laid out once."""
        self._colour()
        del self._laid_out[len(self._coloured) :]
        rows = [self._head(width)]
        for number, (_, part) in enumerate(self._coloured):
            known = self._laid_out[number] if number < len(self._laid_out) else None
            if known is None or known[0] is not part or known[1] != width:
                known = (part, width, _part_rows(part, width))
                self._laid_out[number : number + 1] = [known]
            rows += known[2]
        return rows

    def _colour(self) -> None:
        parts = _parts(self.code)
        del self._coloured[len(parts) :]
        for number, code in enumerate(parts):
            if number == len(self._coloured) or self._coloured[number][0] != code:
                coloured = _coloured(code, self.language, self.look)
                self._coloured[number : number + 1] = [(code, coloured)]

    def _head(self, width: int) -> Content:
        blank = max(width - 2 - len(self.language) - len(_HEAD), 1)
        style = "bold reverse" if self.is_selected else "$text 60%"
        words = Content.styled(f"{self.language}{' ' * blank}{_HEAD}", style)
        return _on_ground(Content(" ") + words, width)


def _parts(code: str) -> list[str]:
    lines = code.split("\n")
    return ["\n".join(lines[i : i + PART_LINES]) for i in range(0, len(lines), PART_LINES)]


def _coloured(code: str, language: str, look: Look) -> Content:
    from textual import highlight  # the languages are not part of the first frame

    theme = highlight.HighlightTheme
    if look is not None:
        theme = highlight.ANSILightHighlightTheme
        if look == "dark":
            theme = highlight.ANSIDarkHighlightTheme
    return highlight.highlight(code, language=language, theme=theme)


def _part_rows(part: Content, width: int) -> list[Content]:
    blank = Content(" " * _MARGIN)
    rows = part.wrap(max(width - 2 * _MARGIN, 2)) or [Content("")]
    return [_on_ground(blank + row, width) for row in rows]


def _on_ground(row: Content, width: int) -> Content:
    return row.pad_right(max(width - row.cell_length, 0)).stylize_before(_GROUND)

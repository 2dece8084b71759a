"""Leaves: what Markdown consists of once lists and quotes are taken apart, each with its prefix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui.chat.code_rows import CodeRows
from tui.chat.markdown_inline import inline_content
from tui.chat.markdown_table import table_rows

from textual.content import Content

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["Leaf", "leaves"]

_BULLETS = "•▪‣⭑◦"
_HEADINGS = {"h1": "bold underline", "h2": "bold underline"}
_QUOTE_CELLS = 2
_FEWEST_CELLS = 8


@dataclass(slots=True)
class Leaf:
    """A paragraph, a heading, a line across, a table or a block of code.

    Args:
        text: of a paragraph or heading.
        style: of all of it.
        first: what stands before its first row: the bullet of an item.
        indent: cells before each other row.
        cells: a table's, its head first.
        code: a block's, with how it is drawn.
        is_quoted: it stands in a quote.
        is_rule: a line across.
    """

    text: Content = field(default_factory=lambda: Content(""))
    style: str = ""
    first: Content = field(default_factory=lambda: Content(""))
    indent: int = 0
    cells: list[list[Content]] = field(default_factory=list)
    code: CodeRows | None = None
    is_quoted: bool = False
    is_rule: bool = False

    def rows(self, width: int) -> list[Content]:
        """Laid out in ``width`` cells."""
        inner = max(width - self.indent - _QUOTE_CELLS * self.is_quoted, _FEWEST_CELLS)
        rows = self._inner_rows(inner)
        if self.indent:
            blank = Content(" " * self.indent)
            first = self.first.pad_right(max(self.indent - self.first.cell_length, 0))
            rows = [(blank if number else first) + row for number, row in enumerate(rows)]
        if self.is_quoted:
            rows = [
                row.pad_right(max(width - row.cell_length, 0)).stylize_before("on $boost")
                for row in rows
            ]
        return rows

    def _inner_rows(self, width: int) -> list[Content]:
        if self.code is not None:
            return self.code.rows(width)
        if self.is_rule:
            return [Content.styled("─" * width, "$foreground-disabled")]
        if self.cells:
            return table_rows(self.cells, width)
        rows = self.text.wrap(width)
        return [row.stylize_before(self.style) for row in rows] if self.style else rows


class _Place:
    """Where a walk through the tokens stands: the lists and quotes around it."""

    def __init__(self) -> None:
        self.frames: list[tuple[str, int]] = []  # what, and the cells that it takes
        self.first = Content("")

    def open(self, what: str, cells: int, sign: Content) -> None:
        blank = max(self.indent - self.first.cell_length, 0)
        self.first = self.first.pad_right(blank) + sign
        self.frames.append((what, cells))

    def close(self) -> None:
        self.frames.pop()
        self.first = Content("")

    @property
    def indent(self) -> int:
        return sum(cells for _, cells in self.frames)

    @property
    def num_bullets(self) -> int:
        return sum(what == "bullet" for what, _ in self.frames)

    def leaf(self, **parts: object) -> Leaf:
        first, self.first = self.first, Content("")
        is_quoted = any(what == "quote" for what, _ in self.frames)
        return Leaf(first=first, indent=self.indent, is_quoted=is_quoted, **parts)  # type: ignore[arg-type]


def leaves(tokens: Sequence[Token], number: int | None = None) -> list[Leaf]:
    """All leaves of ``tokens``; ``number`` is that of a list's item where they are one."""
    place, found = _Place(), []
    numbers: list[int] = [number] if number is not None else []
    for index, token in enumerate(tokens):
        kind = token.type
        if kind == "ordered_list_open":
            numbers.append(int(token.attrs.get("start", 1)))
        elif kind == "ordered_list_close":
            numbers.pop()
        elif kind == "list_item_open":
            _open_item(place, token, numbers)
        elif kind == "blockquote_open":
            place.open("quote", _QUOTE_CELLS, Content(" " * _QUOTE_CELLS))
        elif kind in ("list_item_close", "blockquote_close"):
            place.close()
        elif kind == "inline":
            if tokens[index - 1].type in ("paragraph_open", "heading_open"):
                found.append(_text_leaf(place, tokens[index - 1], token))
            elif found:
                found[-1].cells[-1].append(inline_content(token))
        elif kind == "table_open":
            found.append(place.leaf())
        elif kind == "tr_open":
            found[-1].cells.append([])
        elif kind in ("fence", "code_block"):
            found.append(place.leaf(code=CodeRows(token.content.rstrip(), token.info)))
        elif kind == "hr":
            found.append(place.leaf(is_rule=True))
    return found


def _open_item(place: _Place, token: Token, numbers: list[int]) -> None:
    if token.info:  # its own number; the list's first one and the order decide
        sign = f" {numbers[-1]}. "
        numbers[-1] += 1
    else:
        sign = f"{_BULLETS[place.num_bullets % len(_BULLETS)]} "
    place.open("number" if token.info else "bullet", len(sign), _bullet(sign))


def _bullet(sign: str) -> Content:
    return Content.styled(sign, "$text-primary")


def _text_leaf(place: _Place, before: Token, inline: Token) -> Leaf:
    style = _HEADINGS.get(before.tag, "bold") if before.type == "heading_open" else ""
    return place.leaf(text=inline_content(inline), style=style)

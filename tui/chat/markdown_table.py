"""A table of Markdown as rows of text: columns that fit, cells that wrap."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from textual.content import Content

__all__ = ["table_rows"]

_GAP = 2
_NARROWEST = 4


def table_rows(cells: Sequence[Sequence[Content]], width: int) -> list[Content]:
    """Rows of at most ``width`` cells; the first of ``cells`` is the head."""
    widths = _widths(cells, width)
    head = _row([cell.stylize("bold $primary") for cell in cells[0]], widths)
    line = Content.styled((" " * _GAP).join("─" * wide for wide in widths), "$foreground 20%")
    rows = [*head, line]
    for row in cells[1:]:
        rows += _row(row, widths)
    return rows


def _widths(cells: Sequence[Sequence[Content]], width: int) -> list[int]:
    """What each column takes: what it needs, less from the widest where that is too much."""
    widths = [max(cell.cell_length for cell in column) for column in _columns(cells)]
    widths = [max(wide, 1) for wide in widths]
    excess = sum(widths) + _GAP * (len(widths) - 1) - width
    while excess > 0 and max(widths) > _NARROWEST:
        widest = widths.index(max(widths))
        others = [wide for wide in widths if wide < widths[widest]]
        least = max(max(others, default=_NARROWEST), _NARROWEST)
        step = min(excess, max(widths[widest] - least, 1))
        widths[widest] -= step
        excess -= step
    return widths


def _columns(cells: Sequence[Sequence[Content]]) -> list[tuple[Content, ...]]:
    return list(zip_longest(*cells, fillvalue=Content("")))


def _row(cells: Sequence[Content], widths: Sequence[int]) -> list[Content]:
    parts = [cell.wrap(wide) or [Content("")] for cell, wide in zip(cells, widths, strict=False)]
    rows = []
    for pieces in zip_longest(*parts, fillvalue=Content("")):
        padded = [
            piece.pad_right(max(wide - piece.cell_length, 0))
            for piece, wide in zip(pieces, widths, strict=False)
        ]
        rows.append(Content(" " * _GAP).join(padded))
    return rows

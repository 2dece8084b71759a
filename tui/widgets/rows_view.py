"""RowsView: text of any length as one widget: rows are laid out once, and drawn when seen.

A widget for each paragraph would be laid out by Textual again and again, all of them with each row
that is added; here a row more costs the block that it stands in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tui.widgets.seen_lines import SeenLines

from textual.content import Content
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.selection import Selection
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

__all__ = ["RowBlock", "RowsView"]


class RowBlock(Protocol):
    """A part of the text."""

    @property
    def has_gap(self) -> bool:
        """Whether a blank row stands above it, unless it is the first one."""

    def rows(self, width: int) -> Sequence[Content]:
        """Rows of at most ``width`` cells; equal rows should be the same object."""


class RowsView(Widget):
    """Blocks one below the other. While it is hidden nothing is laid out."""

    DEFAULT_CSS = """
    RowsView { height: auto; width: 1fr; }
    """
    BLANK_ROWS_BELOW = 0
    virtual_size = Reactive(Size(0, 0), repaint=False)  # Textual would do all of it twice

    def __init__(self, classes: str = "") -> None:
        super().__init__(classes=classes)
        self._blocks: list[RowBlock] = []
        self._rows: list[Content] = []
        self._starts: list[int] = []  # the row that each block begins with
        self._width = 0  # of the rows; 0 while they are not laid out
        self._strips: dict[int, Strip] = {}
        self._seen = SeenLines()

    def put(self, first: int, blocks: Sequence[RowBlock]) -> None:
        """From number ``first`` on, these are the blocks now."""
        self._blocks[first:] = blocks
        if not self.display:
            self._width = 0
        elif not self._width:
            self.refresh(layout=True)
        else:
            self._lay_out_from(first)

    def _lay_out_from(self, first: int) -> None:
        start = self._starts[first] if first < len(self._starts) else len(self._rows)
        before = self._rows[start:]
        del self._rows[start:], self._starts[first:]
        self._add_rows(first)
        after = self._rows[start:]
        same = _num_same(before, after)
        for row in range(start + same, start + max(len(before), len(after)) + 1):
            self._strips.pop(row, None)
        self._seen.forget_from(self.gutter.top + start + same)
        if len(after) != len(before):
            self.refresh(layout=True)
        elif same < len(after):
            self.refresh(Region(0, start + same, self._width, len(after) - same))

    def _add_rows(self, first: int) -> None:
        for block in self._blocks[first:]:
            self._starts.append(len(self._rows))
            if block.has_gap and self._rows:
                self._rows.append(Content(""))
            self._rows += block.rows(self._width)

    def first_row(self, number: int) -> int:
        """The first row of a block, below its gap."""
        if number >= len(self._starts):
            return 0
        return self._starts[number] + (self._blocks[number].has_gap and number > 0)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width != self._width:
            self._width = width
            self._strips.clear()
            self._seen.forget_from(0)
            self._rows, self._starts = [], []
            self._add_rows(0)
        return len(self._rows) + (self.BLANK_ROWS_BELOW if self._rows else 0)

    def render_lines(self, crop: Region) -> list[Strip]:
        """With each row that is added Textual would draw all that are seen again."""
        draw = super().render_lines
        if self.text_selection is not None or self.hover_style.link_id:
            return draw(crop)
        look = (crop.x, crop.width, self.opacity, self.background_colors)
        return self._seen.within(crop, look, draw)

    def render_line(self, y: int) -> Strip:
        selection = self.text_selection
        strip = self._strips.get(y) if selection is None else None
        if strip is None:
            strip = self._drawn(y, selection)
            if selection is None:
                self._strips[y] = strip
        return strip

    def _drawn(self, y: int, selection: Selection | None) -> Strip:
        row = self._rows[y] if y < len(self._rows) else Content("")
        span = selection.get_span(y) if selection is not None else None
        if span is not None:
            end = len(row) if span[1] == -1 else span[1]
            colours = self.screen.get_visual_style("screen--selection")
            row = row.stylize(colours, span[0], end)
        strips = Visual.to_strips(
            self, row, self.size.width, 1, self.visual_style, apply_selection=False, pad=True
        )
        return strips[0].apply_offsets(0, y) if strips else Strip.blank(self.size.width)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selection.extract("\n".join(row.plain for row in self._rows)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def notify_style_update(self) -> None:
        self._strips.clear()
        self._seen.forget_from(0)
        super().notify_style_update()


def _num_same(one: Sequence[Content], other: Sequence[Content]) -> int:
    """How many rows both begin with."""
    for place, (before, after) in enumerate(zip(one, other, strict=False)):
        if before is not after and not before.is_same(after):
            return place
    return min(len(one), len(other))

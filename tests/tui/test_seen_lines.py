"""SeenLines: each line is drawn once while it holds, and none is kept that does not."""

from __future__ import annotations

from tui.widgets.seen_lines import SeenLines

from textual.geometry import Region
from textual.strip import Strip


class Page:
    """Lines that say their own number and how often the page was written."""

    def __init__(self) -> None:
        self.edition = 1
        self.drawn: list[int] = []

    def draw(self, crop: Region) -> list[Strip]:
        self.drawn += crop.line_range
        return [Strip.blank(crop.width + self.edition * 100 + y) for y in crop.line_range]


def widths(strips: list[Strip]) -> list[int]:
    return [strip.cell_length for strip in strips]


def test_scrolling_draws_the_new_lines_alone() -> None:
    page, seen = Page(), SeenLines()
    seen.within(Region(0, 0, 10, 4), "plain", page.draw)
    shown = seen.within(Region(0, 2, 10, 4), "plain", page.draw)
    assert page.drawn == [0, 1, 2, 3, 4, 5]
    assert widths(shown) == [112, 113, 114, 115]


def test_lines_that_are_others_now_are_drawn_again() -> None:
    page, seen = Page(), SeenLines()
    seen.within(Region(0, 0, 10, 4), "plain", page.draw)
    page.edition = 2
    seen.forget_from(2)
    assert widths(seen.within(Region(0, 0, 10, 4), "plain", page.draw)) == [110, 111, 212, 213]


def test_another_look_draws_all() -> None:
    page, seen = Page(), SeenLines()
    seen.within(Region(0, 0, 10, 2), "plain", page.draw)
    page.edition = 2
    assert widths(seen.within(Region(0, 0, 10, 2), "dim", page.draw)) == [210, 211]


def test_lines_that_left_the_screen_are_not_kept() -> None:
    page, seen = Page(), SeenLines()
    seen.within(Region(0, 0, 10, 2), "plain", page.draw)
    seen.within(Region(0, 4, 10, 2), "plain", page.draw)
    seen.within(Region(0, 0, 10, 2), "plain", page.draw)
    assert page.drawn == [0, 1, 4, 5, 0, 1]

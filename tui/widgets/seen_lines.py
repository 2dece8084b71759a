"""SeenLines: the lines of a widget as they were drawn last, as far as they still hold."""

from __future__ import annotations

from collections.abc import Callable

from textual.geometry import Region
from textual.strip import Strip

__all__ = ["SeenLines"]


class SeenLines:
    """Knows the lines of one crop: those that were on the screen last."""

    def __init__(self) -> None:
        self._look: object = None
        self._lines: dict[int, Strip] = {}

    def forget_from(self, y: int) -> None:
        """Line ``y`` and all below it are others now."""
        self._lines = {place: line for place, line in self._lines.items() if place < y}

    def within(
        self, crop: Region, look: object, draw: Callable[[Region], list[Strip]]
    ) -> list[Strip]:
        """The lines of ``crop``; only those are drawn that are not known.

        Args:
            look: whatever else the lines depend on; when it changes none of them holds.
            draw: draws the lines of a region.
        """
        if look != self._look:
            self._look, self._lines = look, {}
        known = self._lines
        self._lines = {y: known[y] for y in crop.line_range if y in known}
        missing = [y for y in crop.line_range if y not in known]
        if missing:
            first, count = missing[0], missing[-1] - missing[0] + 1
            drawn = draw(Region(crop.x, first, crop.width, count))
            self._lines |= dict(enumerate(drawn, start=first))
        return [self._lines[y] for y in crop.line_range]

"""TopLine: the first row of a screen: the program, the screens and what is loaded."""

from __future__ import annotations

from mlx_specdec.safe_text import safe_text

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

__all__ = ["SCREEN_NAMES", "TopLine", "fitted"]

SCREEN_NAMES = ("race", "chat", "ledger", "proof")
WIDE = 100
_WORTH_SHOWING = 10  # cells, that the beginning of a part needs


def fitted(text: str, width: int) -> str:
    """``text`` in at most ``width`` cells: the parts between `` · `` are cut from the right."""
    parts = text.split(" · ")
    while len(parts) > 1 and cell_len(" · ".join(parts)) > width:
        last = parts.pop()
        room = width - cell_len(" · ".join([*parts, ""]))
        if room >= _WORTH_SHOWING:
            return " · ".join([*parts, f"{last[: room - 1]}…"])
    text = " · ".join(parts)
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) > width - 1:
        text = text[:-1]
    return f"{text}…" if width > 0 else ""


class TopLine(Widget):
    """`` mlx-specdec   ▸1 race   2 chat   3 ledger   4 proof      what is loaded``.

    Below 100 columns only the screen's own name stands beside the program's.

    Args:
        active: the screen's name; one that has no number is shown in place of the numbers.
        right: what is loaded and set, in parts joined by `` · ``.
    """

    DEFAULT_CSS = """
    TopLine { text-wrap: nowrap; height: 1; width: 1fr; background: $panel; }
    """

    def __init__(self, active: str, right: str = "", *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._active = active
        self._right = safe_text(right)

    def set_right(self, right: str) -> None:
        """Show other words at the right edge."""
        if safe_text(right) != self._right:
            self._right = safe_text(right)
            self.refresh()

    def set_active(self, active: str) -> None:
        """Show another screen's name."""
        if active != self._active:
            self._active = active
            self.refresh()

    def render(self) -> Content:
        width = self.size.width
        left = self._names() if width >= WIDE else Content.assemble("  ", (self._active, "bold"))
        head = Content.assemble((" mlx-specdec", "bold"), left)
        right = fitted(self._right, width - head.cell_length - 4)
        blank = max(width - head.cell_length - cell_len(right) - 1, 0)
        return Content.assemble(head, " " * blank, right, " ")

    def _names(self) -> Content:
        if self._active not in SCREEN_NAMES:
            return Content.assemble("   ", (self._active, "bold"))
        pieces: list[Content | tuple[str, str] | str] = []
        for number, name in enumerate(SCREEN_NAMES, start=1):
            is_active = name == self._active
            pieces.append("   " + ("▸" if is_active else ""))
            pieces.append((f"{number} {name}", "bold" if is_active else ""))
        return Content.assemble(*pieces)

"""LedgerHeat: the speedup by acceptance and lookahead, with a mark that moves."""

from __future__ import annotations

from mlx_specdec.figures import percent
from mlx_specdec.ledger.lines import CELL_WIDTH, heat_cell, heat_header, heat_label
from mlx_specdec.ledger.view import LedgerView
from mlx_specdec.ledger.what_if import HeatMap

from textual.content import Content
from textual.widgets import Static

__all__ = ["LedgerHeat"]

_SAME = (0.97, 1.03)  # within it a cell has no tint
_SIDE_LOOKAHEADS = (1, 3, 5)
_SIDE_FROM = 104  # columns; below it the break-even stands in a line of its own


class LedgerHeat(Static):
    """Cells carry numbers, so the tint is only an addition; the mark is shown in reverse."""

    DEFAULT_CSS = "LedgerHeat { height: auto; width: 1fr; }"

    def __init__(self) -> None:
        super().__init__("", markup=False)

    def show(
        self, view: LedgerView, mark: tuple[int, int] | None, width: int, is_short: bool
    ) -> None:
        """Draw the table of a view, or say what it would take."""
        if view.heat is None or mark is None:
            self.update(_without_prices())
            return
        heat = view.heat
        side = _side(view) if width >= _SIDE_FROM else []
        rows = [_row(heat, row, mark) for row in range(len(heat.acceptances))]
        for index, words in enumerate(side[: len(rows)]):
            gap = max(7 + CELL_WIDTH * len(heat.lookaheads) + 3 - rows[index].cell_length, 1)
            rows[index] = Content.assemble(rows[index], " " * gap, words)
        head = _short_head() if is_short else _head(view.prices_words, width)
        self.update(Content("\n").join([*head, Content(heat_header(heat)), *rows]))


def _head(words: str, width: int) -> list[Content]:
    title = Content.assemble(
        ("WHAT IF", "bold"),
        f"   speedup by acceptance and lookahead, from {words}",
    )
    legend = "[ ] this run   (slower than plain)"
    start = "       lookahead"
    return [
        title.truncate(width, ellipsis=True),
        Content(f"{start}{legend:>{max(width - len(start) - 2, 0)}}"),
    ]


def _short_head() -> list[Content]:
    return [
        Content.assemble(
            ("WHAT IF", "bold"),
            "  acceptance down, lookahead across; [ ] this run, ( ) slower",
        )
    ]


def _row(heat: HeatMap, row: int, mark: tuple[int, int]) -> Content:
    own = "bold" if row == heat.run_row else ""
    parts: list[Content | tuple[str, str] | str] = [(heat_label(heat.acceptances[row]), own), " "]
    for column in range(len(heat.lookaheads)):
        cell = heat_cell(heat, row, column)
        words = cell.rstrip()
        style = _tint(heat.cells[row][column])
        if (row, column) == mark:
            parts += [(f"{words:<6}", f"{style} reverse".strip()), cell[6:]]
        else:
            parts.append((cell, style) if style else cell)
    return Content.assemble(*parts)


def _tint(speed: float | None) -> str:
    if speed is None:
        return "dim"
    low, high = _SAME
    if speed > high:
        return "$text-success"
    return "$text-warning" if speed < low else ""


def _side(view: LedgerView) -> list[str]:
    lines = ["break-even acceptance"]
    for g, needed in view.break_even:
        if g in _SIDE_LOOKAHEADS:
            words = "never" if needed is None else percent(needed)
            lines.append(f"  lookahead {g} {words:>6}")
    rate = view.metrics.acceptance_rate
    lines += [""] * (5 - len(lines))
    return [*lines, f"acceptance here {percent(rate)}" if rate is not None else ""]


def _without_prices() -> Content:
    return Content("\n").join(
        [
            Content.assemble(("WHAT IF", "bold")),
            Content("Which lookahead is best depends on what a pass over several tokens costs"),
            Content("here, and that is not known yet: a race (key 1) that drafts will show it."),
        ]
    )

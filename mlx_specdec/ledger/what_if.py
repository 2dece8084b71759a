"""What if: the speedup by acceptance and lookahead, and from tokens a pass down to it.

All of it is ``LatencyModel`` laid out for a table; the formulas and their sources stand there.
A cell is None where the model does not price a lookahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..events import Round
from .account import priced_lookahead
from .latency import LatencyModel, Waterfall

__all__ = [
    "ACCEPTANCES",
    "LOOKAHEADS",
    "HeatMap",
    "PassCost",
    "break_even",
    "heat_map",
    "pass_costs",
    "run_waterfall",
]

ACCEPTANCES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
LOOKAHEADS = tuple(range(9))


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Speedups: a row per acceptance (rising), a column per lookahead.

    ``run_row`` and ``run_column`` say where this run stands; None where it drafted nothing or
    used a lookahead that is not in the table.
    """

    acceptances: tuple[float, ...]
    lookaheads: tuple[int, ...]
    cells: tuple[tuple[float | None, ...], ...]
    run_row: int | None
    run_column: int | None

    @property
    def run_cell(self) -> tuple[int, int] | None:
        """Row and column of this run."""
        if self.run_row is None or self.run_column is None:
            return None
        return self.run_row, self.run_column

    def best_column(self, row: int) -> int:
        """The fastest lookahead of a row; of equals the shortest."""
        speeds = [0.0 if cell is None else cell for cell in self.cells[row]]
        return speeds.index(max(speeds))


@dataclass(frozen=True, slots=True)
class PassCost:
    """One pass of the target over ``rows`` tokens; ``seconds`` None where it has no price."""

    rows: int
    seconds: float | None


def heat_map(model: LatencyModel, acceptance: float | None, lookahead: int | None) -> HeatMap:
    """The table with this run's own row in the place of the round figure nearest to it.

    Args:
        acceptance: this run's, per tested token; None when nothing was tested.
        lookahead: this run's.
    """
    rows = list(ACCEPTANCES)
    if acceptance is not None:
        rows.remove(min(rows, key=lambda each: abs(each - acceptance)))
        rows = sorted([*rows, acceptance])
    has_column = acceptance is not None and lookahead in LOOKAHEADS
    return HeatMap(
        acceptances=tuple(rows),
        lookaheads=LOOKAHEADS,
        cells=tuple(tuple(_speedup(model, each, g) for g in LOOKAHEADS) for each in rows),
        run_row=None if acceptance is None else rows.index(acceptance),
        run_column=lookahead if has_column else None,
    )


def _speedup(model: LatencyModel, acceptance: float, lookahead: int) -> float | None:
    if priced_lookahead(model, lookahead) != lookahead:
        return None
    return model.speedup(acceptance, lookahead)


def break_even(
    model: LatencyModel, lookaheads: Sequence[int]
) -> tuple[tuple[int, float | None], ...]:
    """Per priced lookahead the acceptance at which it is as fast as plain; None is never."""
    return tuple(
        (g, model.break_even_acceptance(g)) for g in lookaheads if priced_lookahead(model, g) == g
    )


def pass_costs(model: LatencyModel) -> tuple[PassCost, ...]:
    """A pass of the target over 1 to 9 rows."""
    return tuple(
        PassCost(g + 1, model.verify_seconds(g) if priced_lookahead(model, g) == g else None)
        for g in LOOKAHEADS
    )


def run_waterfall(
    model: LatencyModel, rounds: Sequence[Round], tokens_per_pass: float
) -> Waterfall:
    """The waterfall of rounds as they were, also where their lookaheads differ.

    It begins with the tokens a pass that were really had, and charges the mean price of the
    rounds' verify passes, drafts and overheads in turn.

    Args:
        rounds: at least one, each a pass of the target.
    """
    drafted = [priced_lookahead(model, len(event.proposed)) for event in rounds]
    verify = sum(model.verify_seconds(g) for g in drafted) / len(drafted)
    draft = sum(model.draft_seconds(g) for g in drafted) / len(drafted)
    overhead = model.overhead_seconds * sum(g > 0 for g in drafted) / len(drafted)
    bought = tokens_per_pass * model.target_seconds
    return Waterfall(
        tokens_per_pass,
        bought / verify,
        bought / (verify + draft),
        bought / (verify + draft + overhead),
    )

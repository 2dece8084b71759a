"""The scoreboard of a session: by kind of prompt, how many times as fast, and how much it varies.

Acceptance depends on the text, so one race says little; the median of several by kind says more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

__all__ = ["Scoreboard", "ScoreboardRow", "scoreboard_lines"]


@dataclass(frozen=True, slots=True)
class ScoreboardRow:
    """The speedups of one kind of prompt: how many runs, their median, their lowest and highest."""

    kind: str
    runs: int
    median: float
    lowest: float
    highest: float


@dataclass(slots=True)
class Scoreboard:
    """Speedups by kind, in the order in which the kinds came first."""

    _speedups: dict[str, list[float]] = field(default_factory=dict)

    def add(self, kind: str, speedup: float | None) -> None:
        """Take in one race; None, which is a race too short to compare, is not counted."""
        if speedup is not None:
            self._speedups.setdefault(kind, []).append(speedup)

    def rows(self) -> tuple[ScoreboardRow, ...]:
        """One row per kind, the fastest median first."""
        made = [
            ScoreboardRow(kind, len(seen), median(seen), min(seen), max(seen))
            for kind, seen in self._speedups.items()
        ]
        return tuple(sorted(made, key=lambda row: -row.median))


def scoreboard_lines(rows: Iterable[ScoreboardRow], marked: str = "") -> list[str]:
    """The table as text; the row of the kind ``marked`` begins with ``▸``."""
    rows = list(rows)
    if not rows:
        return ["No race is over yet."]
    width = max(4, *(len(row.kind) for row in rows))
    lines = [f"  {'kind':{width}}  runs  median  spread"]
    for row in rows:
        sign = "▸" if row.kind == marked else " "
        spread = "" if row.runs == 1 else f"{row.lowest:.2f} to {row.highest:.2f}"
        times = f"{row.median:.2f}x"
        lines.append(f"{sign} {row.kind:{width}}  {row.runs:>4}  {times:>6}  {spread}".rstrip())
    return lines

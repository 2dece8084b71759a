"""What was found of other weight formats, in rows and words; and the option of a parked race."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from mlx_specdec.figures import UNKNOWN, short_name
from mlx_specdec.forecast.format_table import (
    FormatChoice,
    FormatPrices,
    TimedFormats,
    format_choice,
    time_words,
    verdict_words,
)
from tui.race.seen_acceptance import KeptShare

__all__ = ["COLUMNS", "ROWS_SHOWN", "WeightsView", "found_words"]

COLUMNS = 76
ROWS_SHOWN = (2, 4, 8)
_PAYS = 1.03  # times plain decoding


@dataclass(frozen=True, slots=True)
class WeightsView:
    """The formats of one target at one acceptance.

    Args:
        found: what was timed.
        kept: the acceptance that gains are for.
        machine: where it was timed.
        draft: its name; empty without one.
    """

    found: TimedFormats
    kept: KeptShare
    machine: str = ""
    draft: str = ""

    @property
    def choice(self) -> FormatChoice:
        return format_choice(self.found.formats, self.found.held, self.kept.rate)

    @property
    def title(self) -> str:
        """``Other weights for Qwen3-4B on M2 16 GB, timed here in 20 s``."""
        where = f" on {self.machine}" if self.machine else ""
        name = short_name(self.found.spec)
        return f"Other weights for {name}{where}, timed in {self.found.seconds:.0f} s"

    @property
    def verdict(self) -> tuple[str, str]:
        """One sentence, and the command to convert, empty where no format is better."""
        found = self.found
        return verdict_words(found.spec, self.choice, found.held.label, found.is_drafting)

    def table(self) -> list[str]:
        """A row a format: a pass over one token, wider ones in passes over it, and drafting at the
        best lookahead above 0."""
        cells = "".join(f"{rows:>7}" for rows in ROWS_SHOWN)
        head = f"{'a pass over tokens':<26}{'1':>7}{cells}   does drafting pay"
        return [head, *(self._row(item) for item in self.found.formats)]

    def _row(self, item: FormatPrices) -> str:
        stored = " (stored)" if item.is_stored else ""
        left = f"{item.weights.short + stored:<26}"
        if item.model is None:
            return _cut(f"{left}  not here: {item.reason}")
        costs = dict(item.model.seconds_by_rows)
        plain = item.model.target_seconds
        cells = "".join(
            f"{costs[rows] / plain:>6.2f}x" if rows in costs else f"{UNKNOWN:>7}"
            for rows in ROWS_SHOWN
        )
        return f"{left}{time_words(plain):>7}{cells}   {self._gain(item)}".rstrip()

    def _gain(self, item: FormatPrices) -> str:
        lookahead, gain = item.best(self.kept.rate)
        if not (lookahead and item.is_drafting) or self.choice.kind == "dense":
            return UNKNOWN
        answer = "yes" if gain > _PAYS else "no"
        return f"{answer}, {gain:.2f}x, {lookahead} ahead"

    def sources(self) -> list[tuple[str, str]]:
        """What was measured, and what was assumed."""
        found, kept = self.found, self.kept
        rows = [rows for rows in range(1, _widest(found) + 1) if rows not in found.interpolated]
        measured = [f"passes over {_rows_words(rows)}, of layers of its shapes, weights at random"]
        assumed = [f"{found.context} tokens of context"]
        if found.is_drafting:
            measured.append(f"a pass of the draft, {time_words(found.draft_seconds)}")
            (assumed if kept.is_assumed else measured).insert(0, kept.words)
            assumed.append(f"{found.overhead_seconds * 1000:.1f} ms a round beside the passes")
        if found.interpolated:
            between = ", ".join(str(count) for count in found.interpolated)
            assumed.append(f"passes over {between} tokens, on a line between their neighbours")
        return [("measured", "; ".join(measured)), ("assumed", "; ".join(assumed))]

    def command_lines(self) -> list[str]:
        """The command in rows that can be pasted together, and how its result is loaded; none
        where no format is better."""
        command = self.verdict[1]
        if not command:
            return []
        *first, last = textwrap.wrap(
            command, COLUMNS - 6, break_long_words=False, break_on_hyphens=False
        )
        pair = command.partition("--mlx-path ")[2].split()[0]
        pair += f"+{self.draft}" if self.draft else ""
        return [*(f"{line} \\" for line in first), last, f"then m, and type {pair}"]


def _cut(row: str) -> str:
    return row if len(row) <= COLUMNS else f"{row[: COLUMNS - 1]}…"


def _widest(found: TimedFormats) -> int:
    models = [item.model for item in found.formats if item.model is not None]
    return max((model.seconds_by_rows[-1][0] for model in models), default=1)


def _rows_words(rows: Sequence[int]) -> str:
    """``1 to 9 tokens``; ``1, 2, 5, 9 tokens`` where some are missing."""
    if len(rows) > 2 and rows[-1] - rows[0] == len(rows) - 1:
        return f"{rows[0]} to {rows[-1]} tokens"
    return f"{', '.join(str(count) for count in rows)} token{'' if rows == [1] else 's'}"


def found_words(view: WeightsView) -> str:
    """What was found, in a row of the parked race: at most 70 cells."""
    choice = view.choice
    if choice.kind == "dense":
        return f"other weights: all are held as {view.found.held.label} here, so none helps"
    if choice.best is None:
        return "other weights: they could not be timed here"
    best = choice.best.weights.short
    if choice.kind == "too slow":
        return f"other weights: none helps here, {best} is the quickest"
    if choice.kind == "stay":
        return "other weights: timed, and none would be faster here"
    if choice.makes_drafting_pay:
        return f"other weights: with {best} drafting would pay, {choice.gains[0]:.2f}x"
    return f"other weights: with {best} it would be {choice.speed:.2f} times as fast"

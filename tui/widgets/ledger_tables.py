"""The ledger's tables: where the time went, from tokens a pass down to the speedup, the passes."""

from __future__ import annotations

from mlx_specdec.ledger.lines import (
    account_lines,
    account_title,
    fall_lines,
    fall_title,
    forecast_line,
    measured_line,
    pass_lines,
)
from mlx_specdec.ledger.view import Fall, LedgerView

from textual.content import Content
from textual.widgets import Static

__all__ = ["LedgerAccount", "LedgerFall", "LedgerPasses", "titled"]

_BAR_CHARS = frozenset("█▏▎▍▌▋▊▉")


def titled(title: str, lines: list[str]) -> Content:
    """A title over lines, the bars at their ends in the accent colour."""
    rows = [Content.assemble((title, "bold")), *map(_coloured, lines)]
    return Content("\n").join(rows)


def _coloured(line: str) -> Content:
    start = len(line.rstrip("".join(_BAR_CHARS)))
    return Content.assemble(line[:start], (line[start:], "$accent"))


class LedgerAccount(Static):
    """Where the time went: rows that add up to the lane clock."""

    DEFAULT_CSS = "LedgerAccount { height: auto; width: 1fr; }"

    def __init__(self) -> None:
        super().__init__("", markup=False)

    def show(self, view: LedgerView, whose: str, width: int, is_short: bool) -> None:
        """Draw the account of a view."""
        account = view.account
        lines = account_lines(account, width)
        if not is_short:
            lines.append("─" * max(width - 18, 10))
            rounds = f"lane clock {account.lane_seconds:>14.3f} s"
            if account.round_seconds is not None:
                count = account.num_rounds
                words = f"{count} round{'' if count == 1 else 's'}"
                rounds += f"  {words}, {account.round_seconds * 1000:.2f} ms each"
            lines.append(rounds)
        self.update(titled(account_title(account, is_short, whose), lines))


class LedgerFall(Static):
    """Why so many tokens a pass are not so many times as fast; follows the mark."""

    DEFAULT_CSS = "LedgerFall { height: auto; width: 1fr; }"

    def __init__(self) -> None:
        super().__init__("", markup=False)

    def show(self, view: LedgerView, fall: Fall | None, width: int, is_short: bool) -> None:
        """Draw the waterfall of one cell; None where it has no price."""
        if fall is None:
            self.update(titled("NO PRICE HERE", ["No pass as wide as this was timed."]))
            return
        lines = fall_lines(view, fall, width, is_short)
        measured = "" if is_short else measured_line(view, width, fall.is_run)
        if measured:
            lines += ["─" * width, measured]
            forecast = forecast_line(view, width, fall.is_run)
            lines += [forecast] if forecast else []
        self.update(titled(fall_title(view, fall, is_short), lines))


class LedgerPasses(Static):
    """What a pass of the target costs, by rows."""

    DEFAULT_CSS = "LedgerPasses { height: auto; width: 1fr; }"

    def __init__(self) -> None:
        super().__init__("", markup=False)

    def show(self, view: LedgerView) -> None:
        """Draw the bars; nothing without prices."""
        lines = pass_lines(view.passes)
        if not lines:
            self.update("")
            return
        name = view.names.target.upper() if view.names.target == "target" else view.names.target
        first, *rest = lines
        self.update(
            Content("\n").join(
                [
                    Content.assemble((f"A PASS OF THE {name}, BY ROWS", "bold")),
                    Content.assemble((first, "$accent")),
                    *map(Content, rest),
                ]
            )
        )

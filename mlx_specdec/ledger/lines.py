"""The ledger as lines of text: what the command prints, and what the screen's widgets colour."""

from __future__ import annotations

import textwrap

from ..figures import percent
from .account import Account
from .view import Fall, LedgerView
from .what_if import HeatMap, PassCost
from .words import acceptance_sentence, break_even_sentence, headline, three_rates

__all__ = [
    "CELL_WIDTH",
    "account_lines",
    "account_title",
    "bar",
    "fall_lines",
    "fall_title",
    "forecast_line",
    "heat_cell",
    "heat_header",
    "heat_label",
    "ledger_report",
    "measured_line",
    "pass_lines",
]

CELL_WIDTH = 8
_EIGHTHS = " ▏▎▍▌▋▊▉"
_HEIGHTS = "▁▂▃▄▅▆▇█"
_SECONDS_WIDTH = 11
_TIMES_WIDTH = 7


def bar(share: float, width: int) -> str:
    """A bar of ``share`` of ``width`` cells, in eighths; something is never nothing."""
    eighths = round(max(share, 0.0) * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip())[:width]


def account_title(account: Account, is_short: bool, whose: str = "") -> str:
    """``WHERE THE 5.739 s WENT``, and what the sign before a figure means.

    Args:
        whose: such as ``race``: ``WHERE THE RACE'S 5.739 s WENT``.
    """
    owner = f" {whose.upper()}'S" if whose else ""
    title = f"WHERE THE{owner} {account.lane_seconds:.3f} s WENT"
    if not account.has_estimates:
        return title
    return f"{title} (~ est.)" if is_short else f"{title}   ~ estimated"


def account_lines(account: Account, width: int) -> list[str]:
    """A line per row: name, of what, seconds (``~`` where estimated), bar."""
    heads = [f"{row.name:<8} {row.detail}" if row.detail else row.name for row in account.rows]
    left = max(map(len, heads))
    room = max(width - left - _SECONDS_WIDTH - 2, 1)
    longest = max((row.seconds for row in account.rows), default=0.0)
    lines = []
    for head, row in zip(heads, account.rows, strict=True):
        figure = f"{'~' if row.is_estimate else ''}{row.seconds:.3f} s"
        share = row.seconds / longest if longest > 0 else 0.0
        lines.append(f"{head:<{left}}{figure:>{_SECONDS_WIDTH}}  {bar(share, room)}".rstrip())
    return lines


def fall_title(view: LedgerView, fall: Fall, is_short: bool) -> str:
    """What the waterfall is of: this run, or a cell that was asked for."""
    if not fall.is_run and fall.lookahead == 0:
        return "LOOKAHEAD 0: PLAIN DECODING"
    if not fall.is_run:
        return f"WHAT IF {percent(fall.acceptance)}, LOOKAHEAD {fall.lookahead}"
    if is_short:
        return f"FROM {fall.top:.2f} DOWN TO {fall.bottom:.2f}"
    return f"WHY {fall.top:.2f} TOKENS A PASS IS NOT {fall.top:.2f} TIMES"


def fall_lines(view: LedgerView, fall: Fall, width: int, is_short: bool) -> list[str]:
    """A line per step, its figure and, where there is room, a bar."""
    bars = 0 if is_short else max(width - 32 - _TIMES_WIDTH - 2, 0)
    names = [step.short_words if is_short else step.words for step in fall.steps]
    left = width - _TIMES_WIDTH - (bars + 2 if bars else 0)
    top = max(step.times for step in fall.steps)
    lines = []
    for name, step in zip(names, fall.steps, strict=True):
        figure = f"{step.times:.2f}x"
        line = f"{name[:left]:<{left}}{figure:>{_TIMES_WIDTH}}"
        lines.append(f"{line}  {bar(step.times / top, bars)}".rstrip() if bars else line)
    return lines


def measured_line(view: LedgerView, width: int, is_run: bool = True) -> str:
    """The measured speedup beside what the prices make of the run; empty without both.

    Args:
        is_run: it stands under the run's own waterfall, so it needs not be said whose it is.
    """
    measured, modelled = view.measured_speedup, view.modelled_speedup
    if measured is None and modelled is None:
        return ""
    prices = "" if modelled is None else f"prices say {modelled:.2f}"
    if measured is None:
        return f"speedup not measured: no plain lane   {prices}"
    left = max(width - _TIMES_WIDTH - 18, 18)
    name = "measured speedup" if is_run else "this run, measured"
    return f"{name:<{left}}{f'{measured:.2f}x':>{_TIMES_WIDTH}}  {prices}".rstrip()


def forecast_line(view: LedgerView, width: int, is_run: bool = True) -> str:
    """What was forecast before the run, under ``measured_line``; empty where nothing was."""
    if view.forecast is None:
        return ""
    left = max(width - _TIMES_WIDTH - 18, 18)
    name = "forecast before it ran" if left >= 22 and is_run else "forecast of it"
    gap = abs(view.forecast.error)
    where = f"off by {percent(gap)}" if gap >= 0.005 else "exact"
    speedup = view.forecast.prediction.speedup
    return f"{name:<{left}}{f'{speedup:.2f}x':>{_TIMES_WIDTH}}  {where}"


def heat_label(acceptance: float) -> str:
    """The acceptance at the head of a row."""
    return f"{acceptance * 100:>4.0f} %"


def heat_cell(heat: HeatMap, row: int, column: int) -> str:
    """``1.53``, ``(0.95)`` where slower than plain, ``[1.80]`` this run, ``–`` without a price."""
    speed = heat.cells[row][column]
    if speed is None:
        return "   –    "
    left, right = ("(", ")") if round(speed, 2) < 1 else (" ", " ")
    if (row, column) == heat.run_cell:
        left, right = "[", "]"
    return f"{left}{speed:.2f}{right}".ljust(CELL_WIDTH)


def heat_header(heat: HeatMap) -> str:
    """The lookaheads over their columns."""
    return "       " + "".join(f"  {g:<{CELL_WIDTH - 2}}" for g in heat.lookaheads).rstrip()


def heat_lines(heat: HeatMap) -> list[str]:
    """The header and a line per acceptance."""
    lines = [heat_header(heat)]
    for row, acceptance in enumerate(heat.acceptances):
        cells = "".join(heat_cell(heat, row, column) for column in range(len(heat.lookaheads)))
        lines.append(f"{heat_label(acceptance)} {cells}".rstrip())
    return lines


def pass_lines(passes: tuple[PassCost, ...]) -> list[str]:
    """Bars over row counts over milliseconds; passes without a price are left out."""
    priced = [(each.rows, each.seconds) for each in passes if each.seconds is not None]
    if not priced:
        return []
    longest = max(seconds for _, seconds in priced)
    step = 9
    bars = [_HEIGHTS[max(round(seconds / longest * 8) - 1, 0)] * 4 for _, seconds in priced]
    figures = [_milliseconds(seconds) for _, seconds in priced]
    return [
        "  " + "".join(f"{each:<{step}}" for each in bars).rstrip(),
        "".join(f"{rows:<{step}}" for rows, _ in priced).rstrip(),
        "".join(f"{each:<{step}}" for each in figures).rstrip(),
    ]


def _milliseconds(seconds: float) -> str:
    value = seconds * 1000
    return (
        f"{value:.0f} ms" if value >= 20 else f"{value:.1f} ms" if value >= 1 else f"{value:.2f} ms"
    )


def ledger_report(view: LedgerView, width: int = 80) -> list[str]:
    """The whole ledger as text."""
    first, second = headline(view)
    lines = [first, *([second] if second else []), ""]
    lines += [account_title(view.account, False)]
    lines += [f"  {line}" for line in account_lines(view.account, width - 2)]
    lines += _rounds(view)
    mark = view.first_mark
    fall = view.fall(*mark) if mark is not None else None
    if fall is not None:
        lines += ["", fall_title(view, fall, False)]
        lines += [f"  {line}" for line in fall_lines(view, fall, width - 2, False)]
        measured = measured_line(view, width - 2)
        lines += [f"  {measured}"] if measured else []
    if view.heat is not None:
        lines += [
            "",
            "WHAT IF   speedup by acceptance (down) and lookahead (across)",
            "[ ] this run, ( ) slower than plain",
            *heat_lines(view.heat),
            f"from {view.prices_words}",
            "",
            "A PASS OF THE TARGET, BY ROWS",
            *(f"  {line}" for line in pass_lines(view.passes)),
            "",
            break_even_sentence(view),
        ]
    lines += ["", *textwrap.wrap(acceptance_sentence(view), width), three_rates(view)]
    return [line for index, line in enumerate(lines) if line or (index and lines[index - 1])]


def _rounds(view: LedgerView) -> list[str]:
    account = view.account
    if account.round_seconds is None:
        return []
    count = account.num_rounds
    return [
        f"  lane clock {account.lane_seconds:.3f} s, {count} round{'' if count == 1 else 's'} of "
        f"{account.round_seconds * 1000:.2f} ms"
    ]

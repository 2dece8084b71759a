"""A forecast in words: the one sentence, the tables, and what is measured and what assumed."""

from __future__ import annotations

import re
import textwrap

from ..figures import pair_names, percent, short_name
from ..ledger.what_if import ACCEPTANCES, LOOKAHEADS, break_even, heat_map, pass_costs
from ..memory import bytes_text, fits, gpu_limit_bytes
from .forecast import Forecast

__all__ = [
    "headline",
    "memory_line",
    "pace",
    "pays_here",
    "report_lines",
    "seconds_text",
]

WIDTH = 80
_BAR_CELLS = 40
_MACS = (8, 16, 24, 32, 36, 48, 64, 96, 128, 192, 256, 512)


def seconds_text(value: float) -> str:
    """``65.0 ms``, ``1.24 s``, ``34 s``, ``3 min``."""
    if value < 0.9995:
        return f"{value * 1000:.1f} ms" if value < 0.0995 else f"{value * 1000:.0f} ms"
    if value < 9.95:
        return f"{value:.1f} s"
    return f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min"


def pace(forecast: Forecast) -> str:
    """Plain decoding: ``about 15 tokens a second`` or ``about 34 s a token``."""
    rate = forecast.plain_tokens_per_second
    if rate < 1:
        return f"about {seconds_text(forecast.plain_seconds)} a token"
    return f"about {_rate(rate)} tokens a second"


def _rate(value: float) -> str:
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"


def pays_here(forecast: Forecast) -> str:
    """The answer in a table's cell: ``1.5x``, ``no, 0.9x``, ``too slow``, ``does not fit``."""
    if forecast.outcome == "no fit":
        return "does not fit"
    if forecast.outcome == "too slow":
        return "too slow"
    if forecast.pair.draft is None:
        return ""
    speedup = forecast.best()[1]
    return (
        f"{speedup:.1f}x" if forecast.outcome in ("worth it", "hardly") else f"no, {speedup:.1f}x"
    )


def headline(forecast: Forecast) -> str:
    """One sentence: worth it, or not, and why."""
    pair, name = forecast.pair, short_name(forecast.pair.target)
    where = f"on {forecast.machine}" if forecast.source == "published" else "here"
    if forecast.outcome == "no fit":
        need = forecast.memory
        return (
            f"Not worth it {where}: {pair_names(pair, ' with ')} needs "
            f"{bytes_text(need.total_bytes)}, and there are {bytes_text(need.limit_bytes)} for it."
        )
    if forecast.outcome == "too slow":
        device = "this CPU" if forecast.is_cpu else forecast.machine
        why = ""
        if forecast.is_cpu and _is_scalar(forecast):
            why = ", because MLX multiplies quantised weights one by one on a CPU"
        return (
            f"Not worth it {where}: {device} needs {pace(forecast)} for {name}{why}; "
            f"drafting {_no_rescue(forecast)}."
        )
    if pair.target.kind == "hybrid":
        return (
            f"No drafting with {name}: it is a hybrid, and what its linear-attention layers have "
            f"read cannot be taken back. Plain decoding {where}: {pace(forecast)}."
        )
    if pair.draft is None:
        return f"Plain decoding {where}: {pace(forecast)}. There is no draft to speed it up."
    return _verdict(forecast, where)


def _is_scalar(forecast: Forecast) -> bool:
    timing = forecast.target_timing
    return timing is not None and timing.weights.mode != "dense"


def _no_rescue(forecast: Forecast) -> str:
    if not forecast.is_drafting:
        return "is not at hand"
    lookahead, speedup = forecast.best()
    if speedup > 1.03:
        rate = seconds_text(forecast.plain_seconds / speedup)
        return f"makes it {rate} at best ({speedup:.1f}x with {_guesses(lookahead)} a round)"
    return f"does not help: {_cost_of_two(forecast)}"


def _cost_of_two(forecast: Forecast) -> str:
    costs = dict(forecast.row_costs)
    rows = next((count for count in costs if count >= 2), 1)
    return f"a pass over {rows} tokens costs {costs[rows]:.1f} of one"


def _verdict(forecast: Forecast, where: str) -> str:
    lookahead, speedup = forecast.best()
    kept = f"{forecast.acceptance * 100:.0f} % of the checked guesses are kept"
    if forecast.outcome == "worth it":
        needed = forecast.break_even
        floor = f", and no loss from {percent(needed)} on" if needed else ""
        return (
            f"Worth it {where}: about {speedup:.1f} times plain with {_guesses(lookahead)} a round "
            f"when {kept}{floor}."
        )
    if forecast.outcome == "hardly":
        return (
            f"Hardly worth it {where}: about {speedup:.2f} times plain when {kept}{_why(forecast)}."
        )
    if forecast.outcome == "easy text only":
        easy = forecast.best(0.85)[1]
        return (
            f"Worth it {where} only for text that is easy to guess, such as code: about "
            f"{easy:.1f} times plain when 85 % are kept, no gain at "
            f"{forecast.acceptance * 100:.0f} %{_why(forecast)}."
        )
    return (
        f"Drafting is not worth it {where}: {speedup:.2f} times plain when {kept}{_why(forecast)}. "
        f"Plain decoding: {pace(forecast)}."
    )


def _why(forecast: Forecast) -> str:
    """The cost that stands in the way, in words; empty when none stands out."""
    costs, model = dict(forecast.row_costs), forecast.model
    chip = forecast.chip
    if forecast.pair.target.kind == "moe":
        return ", because it is a mixture of experts and each token of a pass pulls other experts"
    if model.draft_cost > 0.4:
        return f", because a pass of the draft costs {model.draft_cost:.2f} of the target's"
    if costs.get(2, 1.0) > 1.5:
        reason = f", because {_cost_of_two(forecast)}"
        if chip is not None and chip.generation <= 2 and not forecast.is_cpu:
            reason += " with affine weights on M1 and M2"
        elif forecast.is_cpu:
            reason += " on this CPU"
        return reason
    return ""


def _guesses(count: int) -> str:
    return "1 guess" if count == 1 else f"{count} guesses"


def report_lines(forecast: Forecast) -> list[str]:
    """The whole forecast as lines of at most 80 columns."""
    lines = [*_filled(headline(forecast)), "", *_figures(forecast), ""]
    if forecast.is_drafting and forecast.max_lookahead:
        lines += [*_table(forecast), *_break_even(forecast), ""]
    lines += [*_passes(forecast), ""]
    for title, items in (("measured", forecast.measured), ("assumed", forecast.assumed)):
        for number, item in enumerate(items or ("nothing: no pass was timed here",)):
            lines += _filled(item, f" {title if number == 0 else '':<10}", 11)
    if forecast.total_seconds:
        lines += ["", f" This forecast took {seconds_text(forecast.total_seconds)}."]
    step = _next_step(forecast)
    return [*lines, "", *_filled(step, " ", 1)] if step else lines


def _next_step(forecast: Forecast) -> str:
    """What an owner of an M1 or M2 could still try; empty elsewhere."""
    chip, name = forecast.chip, forecast.pair.target.alias
    if chip is None or chip.generation > 2 or forecast.outcome in ("worth it", "hardly"):
        return ""
    kind = forecast.pair.target.kind
    if not forecast.is_drafting or forecast.outcome == "no fit" or kind == "moe":
        return ""
    where = "here" if forecast.source == "measured" else "on that Mac"
    return (
        "On M1 and M2 MLX checks affine weights one token at a time. For mxfp4 and nvfp4 it has a "
        f"kernel that takes several; what that brings is unmeasured. To time it {where}, "
        f"without a download: `mlx-specdec forecast {name} --formats`."
    )


def _filled(text: str, first: str = "", indent: int = 0) -> list[str]:
    # A figure and its sign stay together.
    joined = re.sub(r"(\d) %", "\\1\u00a0%", text)
    lines = textwrap.wrap(
        joined, WIDTH, initial_indent=first or " " * indent, subsequent_indent=" " * indent
    )
    return [line.replace("\u00a0", " ") for line in lines]


def _figures(forecast: Forecast) -> list[str]:
    name = "published, not measured" if forecast.source == "published" else "measured on shapes"
    if not forecast.is_of_shapes:
        name = "measured"
    lines = [_fact("plain", pace(forecast), name)]
    if forecast.is_drafting:
        lookahead, speedup = forecast.best()
        text = f"{speedup:.2f}x at best, so it would be parked"
        if speedup > 1.03:
            faster = forecast.plain_tokens_per_second * speedup
            rate = f"{_rate(faster)} tokens a second"
            if faster < 1:
                rate = f"{seconds_text(1 / faster)} a token"
            text = f"{speedup:.2f}x: {rate}, {_guesses(lookahead)} a round"
        lines.append(_fact("drafting", text, f"if {percent(forecast.acceptance)} are kept"))
    lines.append(_fact("memory", memory_line(forecast), _memory_verdict(forecast)))
    return lines


def _fact(name: str, text: str, note: str) -> str:
    left = f" {name:<10}{text}"
    if not note or len(left) + len(note) >= WIDTH:
        return left
    return f"{left}{note:>{WIDTH - len(left)}}"


def memory_line(forecast: Forecast) -> str:
    """Bytes needed against bytes there; on another machine, the sizes of Mac it takes."""
    need = forecast.memory
    if need.verdict == "unknown":
        return "not known before the download"
    size = f"{need.context // 1024}k" if need.context >= 1024 else f"{need.context} tokens of"
    if need.limit_bytes:
        owner = "for the program here" if forecast.is_cpu else "that the GPU may use"
        limit = f"{need.total_bytes / 1e9:.1f} of {need.limit_bytes / 1e9:.1f} GB"
        return f"{limit} {owner}, {size} context"
    roomy, tight = (_smallest_mac(forecast, wanted) for wanted in (("fits",), ("fits", "tight")))
    macs = "; more than any Mac has"
    if roomy:
        macs = f"; a Mac of {roomy} GB or more"
        macs += f", tight with {tight}" if tight != roomy else ""
    return f"{need.total_bytes / 1e9:.1f} GB with {size} context{macs}"


def _smallest_mac(forecast: Forecast, verdicts: tuple[str, ...]) -> int | None:
    """Gigabytes of the smallest Mac on which the pair's memory has one of the verdicts."""
    pair, context = forecast.pair, forecast.memory.context
    for size in _MACS:
        limit = gpu_limit_bytes(size * 2**30)
        if fits(pair.target, pair.draft, context, limit).verdict in verdicts:
            return size
    return None


def _memory_verdict(forecast: Forecast) -> str:
    return forecast.memory.verdict if forecast.memory.limit_bytes else ""


def _table(forecast: Forecast) -> list[str]:
    cells = heat_map(forecast.model, None, None).cells
    lines = [
        " SPEEDUP by acceptance (down) and lookahead (across); ( ) slower than plain",
        " " * 7 + "".join(f"{g:>5}  " for g in LOOKAHEADS).rstrip(),
    ]
    for acceptance, row in zip(ACCEPTANCES, cells, strict=True):
        shown = []
        for speed in row:
            left, right = "()" if speed is not None and round(speed, 2) < 1 else "  "
            shown.append(f"{left}{speed:.2f}{right}" if speed is not None else "   -  ")
        lines.append(f"{acceptance * 100:4.0f} % " + " ".join(shown).rstrip())
    return lines


def _break_even(forecast: Forecast) -> list[str]:
    table = break_even(forecast.model, LOOKAHEADS[1:])
    if all(needed is None for _, needed in table):
        return [" break-even acceptance: none, drafting is slower even if every guess is kept"]
    parts = [f"{g}:\u00a0{'never' if needed is None else percent(needed)}" for g, needed in table]
    return _filled(", ".join(parts), " break-even acceptance by lookahead  ", 4)


def _passes(forecast: Forecast) -> list[str]:
    lines = [" A PASS OF THE TARGET, BY TOKENS CHECKED"]
    model = forecast.model
    longest = max((cost.seconds or 0.0) for cost in pass_costs(model))
    for cost in pass_costs(model):
        if cost.seconds is None:
            continue
        share = cost.seconds / model.target_seconds
        bar = "▄" * max(1, round(_BAR_CELLS * cost.seconds / longest))
        lines.append(f" {cost.rows:>3} {seconds_text(cost.seconds):>9} {share:6.2f}  {bar}")
    if forecast.pair.draft is not None:
        lines.append(
            f" one pass of the draft: {seconds_text(model.draft_seconds(1))}, "
            f"{model.draft_cost:.2f} of the target's"
        )
    return lines

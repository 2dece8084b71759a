"""Formats beside each other: what a pass over M tokens costs in each, and what that makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..costs.machines import DEFAULT_ACCEPTANCE
from ..figures import short_name
from ..ledger.latency import LatencyModel
from ..memory import bytes_text
from ..model_spec import ModelSpec
from .forecast import Forecast
from .weight_formats import WeightFormat, convert_command

__all__ = ["FormatPrices", "format_lines", "format_verdict"]

MAX_LOOKAHEAD = 8
_GAIN = 1.03
_USABLE = 0.5  # tokens a second: nobody waits longer
_BETTER = 1.05  # times the tokens a second: less is not worth a conversion
_ROWS = (2, 3, 4, 5, 6, 7, 8, 9)


@dataclass(frozen=True, slots=True)
class FormatPrices:
    """One format of a target.

    Args:
        weights: the format.
        model: passes of the target in it, with the draft as it is; None when it cannot be used.
        reason: why not.
        is_stored: the format in which the model is published under its short name.
        is_drafting: there is a draft.
    """

    weights: WeightFormat
    model: LatencyModel | None
    reason: str = ""
    is_stored: bool = False
    is_drafting: bool = True

    def best(self, acceptance: float = DEFAULT_ACCEPTANCE) -> tuple[int, float]:
        """The best lookahead above 0 and its speedup over plain decoding in the same format."""
        assert self.model is not None
        most = min(MAX_LOOKAHEAD, self.model.max_lookahead or 0)
        speeds = [self.model.speedup(acceptance, g) for g in range(1, most + 1)]
        return (speeds.index(max(speeds)) + 1, max(speeds)) if speeds else (0, 1.0)

    def tokens_per_second(self, acceptance: float = DEFAULT_ACCEPTANCE) -> float:
        """With the best lookahead, plain decoding among them."""
        assert self.model is not None
        return max(1.0, self.best(acceptance)[1]) / self.model.target_seconds


def format_lines(spec: ModelSpec, formats: Sequence[FormatPrices]) -> list[str]:
    """A table of at most 80 columns: what a pass over M tokens costs in passes over one."""
    lines = [
        f" FORMATS of {short_name(spec)}: a pass over so many tokens, in passes over one",
        f" {'':<16} {'size':>7}{'1 token':>8}"
        + "".join(f"{rows:>5}" for rows in _ROWS)
        + "  draft",
    ]
    for item in formats:
        size = item.weights.weight_bytes(spec)
        left = f" {item.weights.short:<16} {bytes_text(size):>7}"
        if item.model is None:
            lines.append(f"{left}  not here: {item.reason}"[:80])
            continue
        plain = item.model.target_seconds
        costs = dict(item.model.seconds_by_rows)
        cells = "".join(_ratio(costs[rows] / plain) if rows in costs else "    -" for rows in _ROWS)
        gain = f"{item.best()[1]:.2f}x" if item.is_drafting else "-"
        lines.append(f"{left}{_time(plain):>8}{cells}{gain:>6}")
    return lines


def _ratio(value: float) -> str:
    return f"{value:5.2f}" if value < 9.995 else f"{value:5.1f}"


def _time(seconds: float) -> str:
    if seconds < 0.1:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.0f} s"


def format_verdict(forecast: Forecast, formats: Sequence[FormatPrices]) -> tuple[str, str]:
    """One sentence, and the command to convert; the command is empty when none is better."""
    spec, timing = forecast.pair.target, forecast.target_timing
    if timing is not None and timing.weights.mode == "dense":
        return (
            f"On this CPU {short_name(spec)} is held as {timing.weights.label} whatever the format "
            "on the disk, so none of them changes its speed here. Timed were the products as "
            "stored.",
            "",
        )
    usable = [item for item in formats if item.model is not None]
    stored = next((item for item in usable if item.is_stored), None)
    if stored is None:
        return "The format of these weights could not be timed here.", ""
    best = max(usable, key=lambda item: item.tokens_per_second())
    speed = best.tokens_per_second() / stored.tokens_per_second()
    if best.tokens_per_second() < _USABLE:
        name, each = best.weights.label, _time(1 / best.tokens_per_second())
        return f"No format helps here: the quickest, {name}, takes {each} a token.", ""
    if speed < _BETTER:
        return _stay(stored, forecast.is_drafting), ""
    gain, before = best.best()[1], stored.best()[1]
    if not forecast.is_drafting:
        why = "its passes are shorter"
    elif gain > _GAIN >= before:
        why = f"drafting pays with it ({gain:.2f}x, {before:.2f}x as stored)"
    elif gain <= _GAIN:
        why = "its passes are shorter; drafting pays with neither"
    else:
        why = f"drafting brings {gain:.2f}x with it, {before:.2f}x as stored"
    return (
        f"{best.weights.label} would be {speed:.2f} times as fast here: {why}. It is another "
        "rounding of the same weights; what that does to the text was not measured.",
        convert_command(spec, best.weights),
    )


def _stay(stored: FormatPrices, is_drafting: bool) -> str:
    words = f"Stay with {stored.weights.label}: no other format is clearly faster here"
    gain = stored.best()[1]
    if not is_drafting:
        return f"{words}."
    if gain > _GAIN:
        return f"{words}, and drafting pays with it ({gain:.2f}x)."
    return f"{words}, and drafting pays with none of them."

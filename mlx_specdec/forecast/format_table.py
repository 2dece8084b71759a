"""Formats beside each other: what a pass over M tokens costs in each, and what that makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..costs.machines import DEFAULT_ACCEPTANCE
from ..figures import short_name
from ..ledger.latency import LatencyModel
from ..memory import bytes_text
from ..model_spec import ModelSpec
from .forecast import Forecast
from .weight_formats import WeightFormat, convert_command

__all__ = [
    "FormatChoice",
    "FormatPrices",
    "TimedFormats",
    "format_choice",
    "format_lines",
    "format_verdict",
    "time_words",
    "verdict_words",
]

ChoiceKind = Literal["dense", "unknown", "too slow", "stay", "better"]

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


@dataclass(frozen=True, slots=True)
class TimedFormats:
    """The formats of a pair's target, timed on this machine.

    Args:
        spec: the target.
        formats: a row each; the draft is the same in all of them.
        held: how the loader holds the stored weights here.
        draft_seconds: one pass of the draft, timed as well; 0.0 without a draft.
        overhead_seconds: what a round costs beside its passes, which was not timed.
        context: tokens in the cache of every pass.
        seconds: what all of it took.
        interpolated: rows that were not timed, but lie on a line between their neighbours.
    """

    spec: ModelSpec
    formats: tuple[FormatPrices, ...]
    held: WeightFormat
    draft_seconds: float
    overhead_seconds: float
    context: int
    seconds: float
    interpolated: tuple[int, ...] = ()

    @property
    def is_drafting(self) -> bool:
        return any(item.is_drafting for item in self.formats)


@dataclass(frozen=True, slots=True)
class FormatChoice:
    """Which format is the quickest, and whether it is worth a conversion.

    Args:
        kind: ``dense`` (held as floats whatever the format), ``unknown`` (the stored one could not
            be timed), ``too slow`` (all of them), ``stay`` or ``better`` (``best`` is).
        acceptance: per checked token, that the gains are for.
        stored, best: None where nothing was timed.
        paying: those with which drafting pays, whether or not they are quicker in all.
    """

    kind: ChoiceKind
    acceptance: float
    stored: FormatPrices | None = None
    best: FormatPrices | None = None
    paying: tuple[FormatPrices, ...] = ()

    @property
    def speed(self) -> float:
        """Tokens a second of the best format over those of the stored one."""
        assert self.stored is not None
        assert self.best is not None
        before = self.stored.tokens_per_second(self.acceptance)
        return self.best.tokens_per_second(self.acceptance) / before

    @property
    def gains(self) -> tuple[float, float]:
        """What the best lookahead makes of plain decoding: with the best format, as stored."""
        assert self.stored is not None
        assert self.best is not None
        return self.best.best(self.acceptance)[1], self.stored.best(self.acceptance)[1]

    @property
    def makes_drafting_pay(self) -> bool:
        """Whether drafting pays with the best format and not with the stored one."""
        return self.kind == "better" and self.gains[0] > _GAIN >= self.gains[1]


def format_choice(
    formats: Sequence[FormatPrices],
    held: WeightFormat | None,
    acceptance: float = DEFAULT_ACCEPTANCE,
) -> FormatChoice:
    """The quickest of the timed formats.

    Args:
        held: how the loader holds the stored weights here; None where that was not asked.
        acceptance: per checked token.
    """
    if held is not None and held.mode == "dense":
        return FormatChoice("dense", acceptance)
    usable = [item for item in formats if item.model is not None]
    stored = next((item for item in usable if item.is_stored), None)
    if stored is None:
        return FormatChoice("unknown", acceptance)
    best = max(usable, key=lambda item: item.tokens_per_second(acceptance))
    kind: ChoiceKind = "better"
    if best.tokens_per_second(acceptance) < _USABLE:
        kind = "too slow"
    elif best.tokens_per_second(acceptance) < _BETTER * stored.tokens_per_second(acceptance):
        kind = "stay"
    paying = tuple(item for item in usable if item.best(acceptance)[1] > _GAIN)
    return FormatChoice(kind, acceptance, stored, best, paying)


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
        lines.append(f"{left}{time_words(plain):>8}{cells}{gain:>6}")
    return lines


def _ratio(value: float) -> str:
    return f"{value:5.2f}" if value < 9.995 else f"{value:5.1f}"


def time_words(seconds: float) -> str:
    """``30.1 ms``, ``350 ms`` or ``14 s``."""
    if seconds < 0.1:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.0f} s"


def format_verdict(forecast: Forecast, formats: Sequence[FormatPrices]) -> tuple[str, str]:
    """One sentence, and the command to convert; the command is empty when none is better."""
    timing = forecast.target_timing
    choice = format_choice(formats, None if timing is None else timing.weights)
    held = "" if timing is None else timing.weights.label
    return verdict_words(forecast.pair.target, choice, held, forecast.is_drafting)


def verdict_words(
    spec: ModelSpec, choice: FormatChoice, held: str, is_drafting: bool
) -> tuple[str, str]:
    """The sentence and the command of a choice, see ``format_verdict``.

    Args:
        held: the label of how the loader holds the weights here.
    """
    if choice.kind == "dense":
        return (
            f"On this CPU {short_name(spec)} is held as {held} whatever the format "
            "on the disk, so none of them changes its speed here. Timed were the products as "
            "stored.",
            "",
        )
    if choice.stored is None or choice.best is None:
        return "The format of these weights could not be timed here.", ""
    best = choice.best
    if choice.kind == "too slow":
        name, each = best.weights.label, time_words(1 / best.tokens_per_second(choice.acceptance))
        return f"No format helps here: the quickest, {name}, takes {each} a token.", ""
    gain, before = choice.gains
    if choice.kind == "stay":
        return _stay(choice, before, is_drafting), ""
    if not is_drafting:
        why = "its passes are shorter"
    elif choice.makes_drafting_pay:
        why = f"drafting pays with it ({gain:.2f}x, {before:.2f}x as stored)"
    elif gain <= _GAIN:
        why = "its passes are shorter; drafting pays with neither"
    else:
        why = f"drafting brings {gain:.2f}x with it, {before:.2f}x as stored"
    return (
        f"{best.weights.label} would be {choice.speed:.2f} times as fast here: {why}. It is "
        "another rounding of the same weights; what that does to the text was not measured.",
        convert_command(spec, best.weights),
    )


def _stay(choice: FormatChoice, gain: float, is_drafting: bool) -> str:
    assert choice.stored is not None
    words = f"Stay with {choice.stored.weights.label}: no other format is clearly faster here"
    if not is_drafting:
        return f"{words}."
    if gain > _GAIN:
        return f"{words}, and drafting pays with it ({gain:.2f}x)."
    if choice.paying:
        names = " and ".join(item.weights.short for item in choice.paying)
        return f"{words}, though drafting pays with {names}."
    return f"{words}, and drafting pays with none of them."

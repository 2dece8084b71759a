"""Outlook: a pair on this machine in one row: does it fit, how fast, does drafting pay."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from ..costs.machines import DEFAULT_ACCEPTANCE
from ..figures import percent
from ..memory import MemoryNeed, fits
from ..model_spec import ModelSpec, PairSpec
from ..registry import Registry
from .pass_timing import held_format
from .prediction import Priced
from .weight_formats import stored_format

__all__ = ["Outlook", "outlook_of", "outlook_rows", "outlooks", "pays_words", "source_lines"]

CONTEXT = 4096
MAX_LOOKAHEAD = 8
_GAIN = 1.03
_USABLE = 0.5  # tokens a second, plain: slower than that nobody waits
# Plain rates at which a faster answer is felt: slower nobody waits, faster nobody reads.
_FELT = (4.0, 60.0)
_MOST_ROWS = 8

PricesOf = Callable[[PairSpec], Priced | None]


@dataclass(frozen=True, slots=True)
class Outlook:
    """One pair here.

    Args:
        need: memory at 4k tokens of context.
        plain_tokens_per_second, speedup: None where no price is known; ``speedup`` is the best
            lookahead's, even when that is a loss, and None without a draft.
        lookahead: the best one above 0.
        source: measured, published, run or shapes; empty where nothing is known.
        words: the source as a person reads it.
    """

    pair: PairSpec
    need: MemoryNeed
    plain_tokens_per_second: float | None = None
    speedup: float | None = None
    lookahead: int = 0
    source: str = ""
    words: str = ""


def outlook_of(
    pair: PairSpec,
    limit_bytes: int,
    prices: Priced | None,
    acceptance: float = DEFAULT_ACCEPTANCE,
    cpu_memory: int = 0,
) -> Outlook:
    """What is known of a pair here; ``prices`` None leaves the rates open.

    Args:
        cpu_memory: bytes of a machine without a GPU, where small models are held as float32; 0
            with a GPU.
    """
    context = min(CONTEXT, pair.target.context_length or CONTEXT)
    target = _held(pair.target, cpu_memory)
    taken = target.weight_bytes
    draft = _held(pair.draft, cpu_memory, taken) if pair.draft is not None else None
    need = fits(target, draft, context, limit_bytes)
    if prices is None:
        return Outlook(pair, need)
    model = prices.model
    plain = 1 / model.target_seconds
    if pair.draft is None or pair.target.kind == "hybrid":
        return Outlook(pair, need, plain, None, 0, prices.source, prices.words)
    most = MAX_LOOKAHEAD if model.max_lookahead is None else model.max_lookahead
    speeds = [model.speedup(acceptance, g) for g in range(1, min(MAX_LOOKAHEAD, most) + 1)]
    best = max(speeds, default=1.0)
    lookahead = speeds.index(best) + 1 if speeds else 0
    return Outlook(pair, need, plain, best, lookahead, prices.source, prices.words)


def _held(spec: ModelSpec, cpu_memory: int, taken: int = 0) -> ModelSpec:
    if not cpu_memory:
        return spec
    weights = held_format(spec, stored_format(spec), True, cpu_memory, taken)
    if weights == stored_format(spec):
        return spec
    return replace(spec, weight_bytes=weights.weight_bytes(spec))


def pays_words(outlook: Outlook) -> str:
    """The cell "pays here?": ``yes, 1.5x``, ``no, 0.93x``, ``too large``, ``too slow``; empty where
    nothing is known."""
    if outlook.need.verdict == "does not fit":
        return "too large"
    rate = outlook.plain_tokens_per_second
    if rate is not None and rate < _USABLE:
        return "too slow"
    if outlook.speedup is None:
        return ""
    if outlook.speedup > _GAIN:
        return f"yes, {outlook.speedup:.1f}x"
    return f"no, {outlook.speedup:.2f}x"


def outlooks(
    registry: Registry,
    limit_bytes: int,
    prices_of: PricesOf,
    can_run: Callable[[ModelSpec], bool] = lambda spec: True,
    cpu_memory: int = 0,
) -> list[Outlook]:
    """The pairs with a draft that fit this machine, the most useful first.

    Where rates are known: by the gain at a plain rate that a person feels. Else the largest
    target that runs first. The built-in pair is among them once it was measured.
    """
    found = []
    for target in registry:
        draft = registry.models.get(target.default_draft)
        if draft is None or not can_run(target):
            continue
        pair = PairSpec(target, draft)
        prices = prices_of(pair)
        if target.built_in and (prices is None or prices.source == "published"):
            continue
        item = outlook_of(pair, limit_bytes, prices, cpu_memory=cpu_memory)
        if item.need.can_run:
            found.append(item)
    return sorted(found, key=_usefulness, reverse=True)


def _usefulness(item: Outlook) -> tuple[bool, bool, float, int]:
    has_room, rate = item.need.verdict == "fits", item.plain_tokens_per_second
    if rate is None:
        return False, has_room, 0.0, item.pair.target.params
    is_felt = _FELT[0] <= rate <= _FELT[1]
    gain = max(item.speedup or 1.0, 1.0)  # what loses is parked
    return is_felt, has_room, gain, item.pair.target.params


def _rate(value: float) -> str:
    return f"{value:.0f} tok/s" if value >= 9.95 else f"{value:.1f} tok/s"


def source_lines(items: Iterable[Outlook]) -> list[str]:
    """Where the figures are from and what they assume; nothing where there are none."""
    sources = list(dict.fromkeys(item.words for item in items if item.words))
    if not sources:
        return []
    kept = f"4k context, and {percent(DEFAULT_ACCEPTANCE)} of the checked guesses kept."
    words = f"{'; '.join(sources)}"
    text = f"{words[:1].upper()}{words[1:]}. {kept}".replace(" %", "\u00a0%")
    return [line.replace("\u00a0", " ") for line in textwrap.wrap(text, 79)]


def outlook_rows(items: Iterable[Outlook]) -> list[str]:
    """A table of at most 80 columns; the families that come last are left to ``models``."""
    rows = list(items)
    if not rows:
        return [" none of the known pairs fits this machine's memory"]
    shown = rows[:_MOST_ROWS]
    width = max(len(item.pair.name) for item in shown)
    lines = [f" {'pair':<{width}}  {'memory':>8}         {'plain':>10}  drafting"]
    for item in shown:
        rate = item.plain_tokens_per_second
        plain = _rate(rate) if rate is not None else "?"
        gain = pays_words(item) or "?"
        size = f"{item.need.total_bytes / 1e9:.1f} GB"
        tight = "tight" if item.need.verdict == "tight" else ""
        lines.append(
            f" {item.pair.name:<{width}}  {size:>8}  {tight:<5}  {plain:>10}  {gain}".rstrip()
        )
    if len(rows) > len(shown):
        lines.append(f" and {len(rows) - len(shown)} more: `mlx-specdec models --fits`")
    known = [item for item in rows if item.speedup is not None]
    if known and not any((item.speedup or 0.0) > _GAIN for item in known):
        lines.append(" Drafting pays with none of them here, so plain decoding would run.")
    lines += [f" {line}" for line in source_lines(shown)]
    if any(item.plain_tokens_per_second is None for item in shown):
        lines.append(
            " ?: nothing is known of this machine yet; `mlx-specdec forecast TARGET` times it"
        )
    return lines

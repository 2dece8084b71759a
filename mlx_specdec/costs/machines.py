"""Published cost tables of Apple's chips, and the forecast that follows from them.

Nothing here was measured on the machine that runs it: the tables put public measurements of each
chip, or of another chip of its generation scaled by memory bandwidth (``is_scaled``), into one
model of a round (stock MLX from 0.32.1 on; a 4-bit target with a 4-bit draft):

    round(g) = g * draft + V(g + 1) * target + a(g + 1) * kv + overhead

with a(M) the price of attention over M rows. One pass of another model than the table's own pair
is interpolated by the weight bytes it reads, which meets the public figures of 0.6B to 14B models
on an M5 Max within 10 %.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..ledger.latency import LatencyModel
from ..memory import kv_bytes_per_token
from ..model_spec import ModelSpec

__all__ = [
    "ACCEPTANCE_SCENARIOS",
    "CHIPS",
    "DEFAULT_ACCEPTANCE",
    "Chip",
    "PublishedForecast",
    "chip_of",
    "pass_seconds",
    "published_forecast",
    "verify_seconds",
]

# Chance that a tested draft token is kept: what a 0.6B draft of a 14B target is expected to reach.
ACCEPTANCE_SCENARIOS = {"open chat": 0.55, "mixed": 0.75, "code and maths": 0.85}
DEFAULT_ACCEPTANCE = ACCEPTANCE_SCENARIOS["mixed"]
MAX_LOOKAHEAD = 8

# Weight bytes that a pass of Qwen3-14B-4bit and of Qwen3-0.6B-4bit reads.
_TARGET_READ, _DRAFT_READ = 7.870208e9, 0.335372288e9
# Cost of a pass over M rows in passes over one, M = 1 to 9, by generation: what the kernels do.
_ROWS_M1_M2 = (1.0, 1.74, 2.44, 3.11, 3.8, 4.4, 5.0, 5.6, 6.1)
_ROWS_M3_M4 = (1.0, 1.08, 1.22, 1.40, 1.72, 2.05, 2.3, 2.6, 3.15)
_ROWS_M5 = (1.0, 1.04, 1.11, 1.25, 1.45, 1.7, 2.0, 2.22, 2.46)
_ROWS = {1: _ROWS_M1_M2, 2: _ROWS_M1_M2, 3: _ROWS_M3_M4, 4: _ROWS_M3_M4, 5: _ROWS_M5}
_OVERHEAD_MS = {1: 1.5, 2: 1.5, 3: 1.0, 4: 1.0, 5: 0.7}
_ATTENTION_SLOPE = {1: 0.8, 2: 0.8, 3: 0.4, 4: 0.4, 5: 0.27}
# What a draft's pass costs beyond reading its weights, and the share of the nominal bandwidth
# that decoding reaches: both from the generation's published entry.
_DRAFT_FIXED_MS = {1: 2.6, 2: 2.3, 3: 1.6, 4: 1.25, 5: 1.03}
_REACHED = {1: 0.8, 2: 0.8, 3: 0.825, 4: 0.82, 5: 0.814}
_REACHED_ULTRA = 0.62
# Above this product of rows and query heads a KV head, attention leaves its fast kernel.
_FAST_ATTENTION_ROWS = 32


@dataclass(frozen=True, slots=True)
class Chip:
    """One chip's published costs.

    Args:
        name: such as ``m3-max``.
        generation: 1 to 5.
        bandwidth: nominal memory bandwidth, bytes per second.
        effective_bandwidth: what decoding reaches of it, bytes per second.
        target_seconds, draft_seconds: one token of Qwen3-14B-4bit and of Qwen3-0.6B-4bit, short
            context.
        row_costs: cost of a pass over M rows in passes over one row, at index M - 1.
        overhead_seconds: host time of a round that nothing hides.
        attention_slope: what one more row adds to reading the KV cache, as a share.
        is_scaled: True when the entry was scaled from another chip of the generation.
    """

    name: str
    generation: int
    bandwidth: float
    effective_bandwidth: float
    target_seconds: float
    draft_seconds: float
    row_costs: tuple[float, ...]
    overhead_seconds: float
    attention_slope: float
    is_scaled: bool

    @property
    def label(self) -> str:
        """As a person writes it: ``M3 Max``."""
        core, _, tier = self.name.partition("-")
        return f"{core.upper()} {tier.capitalize()}".strip()


def _published(
    name: str, bandwidth: float, effective: float, target_ms: float, draft_ms: float
) -> Chip:
    return _chip(name, bandwidth, effective, target_ms, draft_ms, is_scaled=False)


def _scaled(name: str, bandwidth: float) -> Chip:
    generation = int(name[1])
    share = _REACHED_ULTRA if name.endswith("ultra") else _REACHED[generation]
    effective = bandwidth * share
    draft_ms = _DRAFT_FIXED_MS[generation] + _DRAFT_READ / effective / 1e6
    return _chip(name, bandwidth, effective, _TARGET_READ / effective / 1e6, draft_ms, True)


def _chip(
    name: str,
    bandwidth: float,
    effective: float,
    target_ms: float,
    draft_ms: float,
    is_scaled: bool,
) -> Chip:
    generation = int(name[1])
    return Chip(
        name,
        generation,
        bandwidth * 1e9,
        effective * 1e9,
        target_ms / 1e3,
        draft_ms / 1e3,
        _ROWS[generation],
        _OVERHEAD_MS[generation] / 1e3,
        _ATTENTION_SLOPE[generation],
        is_scaled,
    )


# Bandwidths in GB/s; of chips sold with two memory widths, the wider.
CHIPS: dict[str, Chip] = {
    chip.name: chip
    for chip in (
        _scaled("m1", 68),
        _published("m1-pro", 200, 160, 49, 4.7),
        _scaled("m1-max", 400),
        _scaled("m1-ultra", 800),
        _scaled("m2", 100),
        _scaled("m2-pro", 200),
        _published("m2-max", 400, 320, 24.6, 3.3),
        _scaled("m2-ultra", 800),
        _scaled("m3", 100),
        _scaled("m3-pro", 150),
        _published("m3-max", 400, 330, 23.8, 2.6),
        _scaled("m3-ultra", 819),
        _scaled("m4", 120),
        _published("m4-pro", 273, 223, 35.2, 2.7),
        _published("m4-max", 546, 450, 17.5, 2.05),
        _scaled("m5", 153),
        _scaled("m5-pro", 307),
        _published("m5-max", 614, 500, 15.7, 1.7),
    )
}


def chip_of(brand: str) -> Chip | None:
    """The table for a processor's name such as ``Apple M3 Pro`` or ``m3-pro``; None if unknown."""
    match = re.search(r"\bm([1-9]\d?)(?:[ -](pro|max|ultra))?\b", brand.lower())
    if match is None:
        return None
    return CHIPS.get("-".join(part for part in (f"m{match[1]}", match[2]) if part))


def pass_seconds(chip: Chip, spec: ModelSpec) -> float:
    """Seconds of one pass over one token at a short context; 0 when the size is not known."""
    if not spec.read_bytes:
        return 0.0
    slope = (chip.target_seconds - chip.draft_seconds) / (_TARGET_READ - _DRAFT_READ)
    return chip.draft_seconds + (spec.read_bytes - _DRAFT_READ) * slope


def published_model(
    chip: Chip, target: ModelSpec, draft: ModelSpec | None, context: int = 0
) -> LatencyModel | None:
    """What the published tables say a round costs, passes over 1 to 9 rows.

    Without a draft its draft costs nothing and the table is that of the target alone. None when
    the size of a model is not known.

    Args:
        context: tokens in both caches.
    """
    target_pass = pass_seconds(chip, target)
    draft_pass = pass_seconds(chip, draft) if draft is not None else 0.0
    if target_pass <= 0 or (draft is not None and draft_pass <= 0):
        return None
    kv_seconds = context * kv_bytes_per_token(target) / chip.bandwidth
    if draft is not None:
        draft_pass += context * kv_bytes_per_token(draft) / (0.8 * chip.bandwidth)
    rows = range(1, MAX_LOOKAHEAD + 2)
    passes = [verify_seconds(chip, target, count, target_pass, kv_seconds) for count in rows]
    return LatencyModel.measured(
        tuple(zip(rows, passes, strict=True)), draft_pass, chip.overhead_seconds
    )


@dataclass(frozen=True, slots=True)
class PublishedForecast:
    """What the published tables say of a pair on a chip; nothing of it is measured here.

    Args:
        acceptance: chance that a tested draft token is kept, assumed the same everywhere.
        context: tokens in the cache.
        plain_tokens_per_second: without a draft.
        speculative_tokens_per_second: at ``best_lookahead``, even when that is slower.
        best_lookahead: drafted tokens a round that come out best; 0 without a draft.
        speedup: the two rates' ratio.
        speedups: by lookahead, from 1 on.
        parked: drafting would be slower, so plain decoding runs.
        reason: why, in a few words; empty when drafting pays.
    """

    chip: Chip
    acceptance: float
    context: int
    plain_tokens_per_second: float
    speculative_tokens_per_second: float
    best_lookahead: int
    speedup: float
    speedups: tuple[float, ...]
    parked: bool
    reason: str

    @property
    def tokens_per_second(self) -> float:
        """The rate that would run: the drafting one, or the plain one when parked."""
        return self.plain_tokens_per_second if self.parked else self.speculative_tokens_per_second


def published_forecast(
    chip: Chip,
    target: ModelSpec,
    draft: ModelSpec | None,
    context: int = 0,
    acceptance: float = DEFAULT_ACCEPTANCE,
) -> PublishedForecast | None:
    """The forecast for a pair; None when the size of a model is not known.

    Args:
        context: tokens in both caches.
        acceptance: chance in [0, 1] that a tested draft token is kept.
    """
    model = published_model(chip, target, draft, context)
    if model is None:
        return None
    plain = model.target_seconds
    lookaheads = range(1, MAX_LOOKAHEAD + 1) if draft is not None else ()
    speedups = [model.speedup(acceptance, lookahead) for lookahead in lookaheads]
    speedup = max(speedups, default=1.0)
    parked = speedup <= 1.0
    return PublishedForecast(
        chip=chip,
        acceptance=acceptance,
        context=context,
        plain_tokens_per_second=1 / plain,
        speculative_tokens_per_second=speedup / plain,
        best_lookahead=speedups.index(speedup) + 1 if speedups else 0,
        speedup=speedup,
        speedups=tuple(speedups),
        parked=parked,
        reason=_reason(chip, target, draft, model) if parked else "",
    )


def verify_seconds(
    chip: Chip, target: ModelSpec, rows: int, target_pass: float, kv_seconds: float
) -> float:
    """A pass over ``rows`` rows, from what one row's weights and one row's cache cost."""
    cost = chip.row_costs[rows - 1]
    if target.kind == "moe" and target.experts and target.active_params:
        # Rows choose their experts independently: the share of all experts that is read grows.
        idle = (1 - target.experts_per_token / target.experts) ** rows
        union = target.experts * (1 - idle) / target.experts_per_token
        share = min(1.0, _expert_params(target) / target.active_params)
        cost = (1 - share) * cost + share * max(cost, union)
    queries = target.heads // target.kv_heads if target.kv_heads else 1
    attention = 1 + chip.attention_slope * (rows - 1)
    if rows * queries > _FAST_ATTENTION_ROWS:
        attention *= 2
    return cost * target_pass + attention * kv_seconds


def _expert_params(target: ModelSpec) -> int:
    each = 3 * target.hidden_width * target.expert_width
    return target.layers * target.experts_per_token * each


def _reason(chip: Chip, target: ModelSpec, draft: ModelSpec | None, model: LatencyModel) -> str:
    if draft is None:
        return "no draft"
    if target.kind == "moe":
        return "a mixture of experts gains little: each row pulls other experts"
    if chip.generation <= 2:
        return f"a pass over 2 tokens costs {chip.row_costs[1]:.1f} on M1, M2"
    if model.draft_cost > 0.4:
        return f"the draft's pass costs {model.draft_cost:.2f} of the target's"
    return "too few guesses are kept for what checking them costs"

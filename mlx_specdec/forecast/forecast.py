"""A forecast: what a pair should do on a machine, before it is downloaded or run.

The arithmetic is ``LatencyModel``; here stands what goes into it, where each figure is from, and
whether it is worth the download. Seconds, bytes and tokens a second throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..costs.machines import ACCEPTANCE_SCENARIOS, DEFAULT_ACCEPTANCE, Chip, published_model
from ..ledger.latency import LatencyModel
from ..memory import MemoryNeed
from ..model_spec import PairSpec
from .pass_timing import Sample, TimedPasses
from .weight_formats import WeightFormat

__all__ = [
    "MAX_LOOKAHEAD",
    "Forecast",
    "ModelTiming",
    "Outcome",
    "calibrated_forecast",
    "measured_forecast",
    "published_pair_forecast",
    "round_overhead",
]

Outcome = Literal["worth it", "hardly", "easy text only", "not worth it", "too slow", "no fit"]

MAX_LOOKAHEAD = 8
# A gain below the first is not worth a second model in memory, below the second it is no gain.
_WORTH, _GAIN = 1.10, 1.03
_PATIENCE_SECONDS = 2.0  # a token, plain: nobody waits longer
# What a round costs beside its passes on a machine without a table: a CPU's graph is its passes.
_OVERHEAD_SECONDS = {"cpu": 0.001, "metal": 0.001, "cuda": 0.0005}
_BUSY_SHARE = 0.8
_EASY_ACCEPTANCE = ACCEPTANCE_SCENARIOS["code and maths"]


@dataclass(frozen=True, slots=True)
class ModelTiming:
    """How one model's passes were timed.

    Args:
        passes: seconds by rows.
        weights: how they were held.
        sample: the part of the model that was made; None when the model itself ran.
    """

    passes: TimedPasses
    weights: WeightFormat
    sample: Sample | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """One pair on one machine.

    Args:
        machine: its name, as people write it.
        chip: of the published table that was used, or of this machine; None when unknown.
        model: prices of a round; without a draft only those of the target's passes.
        source: ``measured`` (here) or ``published`` (tables of the chip).
        source_words: the source in words.
        measured, assumed: each input in words, under what it is.
        memory: against this machine's limit; ``limit_bytes`` 0 when the machine is another one.
        context: tokens in both caches.
        is_cpu: MLX computes without a GPU.
        is_of_shapes: what was measured were shapes and not the models themselves.
        target_timing, draft_timing: None for published prices.
        total_seconds: what the forecast itself took.
    """

    pair: PairSpec
    machine: str
    chip: Chip | None
    model: LatencyModel
    source: str
    source_words: str
    measured: tuple[str, ...]
    assumed: tuple[str, ...]
    memory: MemoryNeed
    context: int
    is_cpu: bool = False
    is_of_shapes: bool = True
    target_timing: ModelTiming | None = None
    draft_timing: ModelTiming | None = None
    total_seconds: float = 0.0
    acceptance: float = DEFAULT_ACCEPTANCE

    @property
    def plain_seconds(self) -> float:
        """A token, decoded by the target alone."""
        return self.model.target_seconds

    @property
    def plain_tokens_per_second(self) -> float:
        return 1 / self.model.target_seconds

    @property
    def is_drafting(self) -> bool:
        """Whether there is a draft, and its guesses could be taken back."""
        return self.pair.draft is not None and self.pair.target.kind != "hybrid"

    @property
    def max_lookahead(self) -> int:
        """The largest lookahead in the tables."""
        most = self.model.max_lookahead
        return MAX_LOOKAHEAD if most is None else min(MAX_LOOKAHEAD, most)

    def best(self, acceptance: float | None = None) -> tuple[int, float]:
        """The best lookahead above 0, and its speedup even when that is a loss; (0, 1.0) without
        drafting."""
        if not self.is_drafting or self.max_lookahead == 0:
            return 0, 1.0
        chance = self.acceptance if acceptance is None else acceptance
        speeds = [self.model.speedup(chance, g) for g in range(1, self.max_lookahead + 1)]
        return speeds.index(max(speeds)) + 1, max(speeds)

    @property
    def break_even(self) -> float | None:
        """The least acceptance at which some lookahead is no loss; None when none ever is."""
        needed = [
            self.model.break_even_acceptance(g)
            for g in range(1, self.max_lookahead + 1)
            if self.is_drafting
        ]
        return min((value for value in needed if value is not None), default=None)

    @property
    def row_costs(self) -> tuple[tuple[int, float], ...]:
        """(rows, a pass over them in passes over one)."""
        table = self.model.seconds_by_rows
        return tuple((rows, seconds / self.plain_seconds) for rows, seconds in table)

    @property
    def outcome(self) -> Outcome:
        """Whether the pair is worth its download here, in a word."""
        if self.memory.limit_bytes and self.memory.verdict == "does not fit":
            return "no fit"
        if self.plain_seconds > _PATIENCE_SECONDS:
            return "too slow"
        speedup = self.best()[1]
        if speedup >= _WORTH:
            return "worth it"
        if speedup >= _GAIN:
            return "hardly"
        return "easy text only" if self.best(_EASY_ACCEPTANCE)[1] >= _WORTH else "not worth it"


def round_overhead(backend: str, chip: Chip | None) -> float:
    """Seconds a round that no table of passes holds: published for a chip, assumed elsewhere."""
    if chip is not None and backend == "metal":
        return chip.overhead_seconds
    return _OVERHEAD_SECONDS.get(backend, 0.001)


def measured_forecast(
    pair: PairSpec,
    machine: str,
    chip: Chip | None,
    backend: str,
    target: ModelTiming,
    draft: ModelTiming | None,
    memory: MemoryNeed,
    context: int,
    total_seconds: float = 0.0,
    core_share: float = 1.0,
) -> Forecast:
    """From passes that were timed on this machine.

    Args:
        core_share: of one core that this program had meanwhile; little of it is said. Only known
            of a CPU.
    """
    overhead = round_overhead(backend, chip)
    draft_seconds = draft.passes.seconds[0][1] if draft is not None else 0.0
    model = LatencyModel.measured(target.passes.seconds, draft_seconds, overhead)
    assumed = _assumptions(pair, context)
    if pair.draft is not None:
        assumed.insert(1, f"{overhead * 1000:.1f} ms a round beside the passes")
    if target.passes.interpolated:
        rows = ", ".join(str(count) for count in target.passes.interpolated)
        assumed.append(f"passes over {rows} tokens, on a line between their neighbours")
    return Forecast(
        pair=pair,
        machine=machine,
        chip=chip,
        model=model,
        source="measured",
        source_words="layers of the right shapes, timed on this machine",
        measured=tuple(_timed_words(pair, target, draft, core_share)),
        assumed=tuple(assumed),
        memory=memory,
        context=context,
        is_cpu=backend == "cpu",
        target_timing=target,
        draft_timing=draft,
        total_seconds=total_seconds,
    )


def calibrated_forecast(
    pair: PairSpec,
    machine: str,
    chip: Chip | None,
    backend: str,
    model: LatencyModel,
    words: str,
    memory: MemoryNeed,
    context: int,
    total_seconds: float = 0.0,
) -> Forecast:
    """From a calibration of the models themselves; ``words`` say of when and how well."""
    rows = ", ".join(str(count) for count, _ in model.seconds_by_rows)
    measured = [f"target: passes over {rows} tokens; the model itself; {words}"]
    if pair.draft is not None:
        measured.append("draft: passes over 1 token; the model itself")
    return Forecast(
        pair=pair,
        machine=machine,
        chip=chip,
        model=model,
        source="measured",
        source_words=words,
        measured=tuple(measured),
        assumed=tuple(_assumptions(pair, context)),
        memory=memory,
        context=context,
        is_cpu=backend == "cpu",
        is_of_shapes=False,
        total_seconds=total_seconds,
    )


def published_pair_forecast(
    pair: PairSpec, chip: Chip, memory: MemoryNeed, context: int
) -> Forecast | None:
    """From the published tables of a chip; None when the size of a model is not known."""
    model = published_model(chip, pair.target, pair.draft, context)
    if model is None:
        return None
    scaled = f" (scaled from another M{chip.generation})" if chip.is_scaled else ""
    assumed = [
        f"passes: published figures for {chip.label}{scaled}",
        *_assumptions(pair, context),
        "stock MLX 0.32.1 or later, 4-bit affine weights",
    ]
    return Forecast(
        pair=pair,
        machine=chip.label,
        chip=chip,
        model=model,
        source="published",
        source_words=f"published figures for {chip.label}{scaled}",
        measured=(),
        assumed=tuple(assumed),
        memory=memory,
        context=context,
    )


def _timed_words(
    pair: PairSpec, target: ModelTiming, draft: ModelTiming | None, core_share: float
) -> list[str]:
    lines = [_measured_words("target", pair.target.layers, target)]
    if draft is not None and pair.draft is not None:
        lines.append(_measured_words("draft", pair.draft.layers, draft))
    if core_share < _BUSY_SHARE:
        lines.append(
            f"busy machine: this program had {core_share * 100:.0f} % of one core meanwhile; "
            "counted is the core time it had, as if the machine were quiet"
        )
    return lines


def _measured_words(role: str, depth: int, timing: ModelTiming) -> str:
    widths = timing.passes.timed
    rows = "1 token" if widths == (1,) else f"{', '.join(str(rows) for rows in widths)} tokens"
    words = f"{role}: passes over {rows}; {timing.weights.label}"
    sample = timing.sample
    if sample is None:
        return f"{words}; the model itself"
    part = f"{sample.num_layers} of {depth} layers and the head, random weights"
    if sample.share < 1:
        part += f", {sample.share * 100:.1f} % of each product's outputs"
    return f"{words}; {part}"


def _assumptions(pair: PairSpec, context: int) -> list[str]:
    lines = []
    if pair.draft is not None:
        lines.append("acceptance: the table gives 40 to 90 %; it depends on the text and the pair")
    lines.append(f"{context} tokens of context in every pass")
    if pair.target.kind == "moe":
        lines.append("each token of a pass chooses its experts independently of the others")
    if pair.target.kind == "hybrid":
        lines.append("every layer counted as full attention: a hybrid's other layers differ")
    return lines

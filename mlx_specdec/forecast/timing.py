"""Timing a pair that is not here: shapes of its target and its draft, within a minute."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

from ..backend import (
    backend_name,
    gpu_generation,
    gpu_memory_limit_bytes,
    memory_bytes,
    mx,
    release_unused_memory,
)
from ..downloads.question import Machine
from ..errors import DoesNotFitError, InvalidRequestError
from ..memory import MemoryNeed, bytes_text, fits
from ..model_spec import ModelSpec, PairSpec
from .forecast import Forecast, ModelTiming, measured_forecast
from .pass_timing import ROWS, Sample, held_format, run_to_end, sample_of, timing_slices
from .shapes import ShapeTimer, is_supported, seconds_per_weight
from .weight_formats import FORMATS, WeightFormat, stored_format

__all__ = [
    "MEMORY_CONTEXT",
    "FormatTiming",
    "check_shape",
    "format_slices",
    "model_slices",
    "time_formats",
    "time_pair",
]

_TARGET_SHARE, _DRAFT_SHARE = 0.7, 0.15  # of the seconds; the rest is for making the layers
MEMORY_CONTEXT = 4096  # tokens that memory is counted for: few stop before
OnStep = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class FormatTiming:
    """One format of a model's weights: its passes, or why it cannot be used here."""

    weights: WeightFormat
    timing: ModelTiming | None
    reason: str = ""


def check_shape(spec: ModelSpec) -> None:
    """Refuse a model of which too little is known to make its layers.

    Raises:
        InvalidRequestError: with what to do about it.
    """
    if not spec.has_shape or not spec.params or (spec.kind != "moe" and not spec.mlp_width):
        raise InvalidRequestError(
            f"The shape of {spec.alias} is not known before its download.",
            "Give its widths in your models.toml, or name a model of `mlx-specdec models`.",
        )


def time_pair(
    pair: PairSpec,
    machine: Machine,
    context: int,
    seconds: float = 60.0,
    on_step: OnStep = lambda words: None,
    clock: Callable[[], float] = time.perf_counter,
    core_clock: Callable[[], float] = time.process_time,
) -> Forecast:
    """Time both models' shapes here and forecast from them.

    Args:
        context: tokens in both caches.
        seconds: what all of it may take, about.
        clock, core_clock: seconds that pass, and seconds of a core that this program had.

    Raises:
        InvalidRequestError: the shape of a model is not known.
        DoesNotFitError: not even a few layers fit into the memory.
    """
    for spec in pair.specs:
        check_shape(spec)
    began, core_began = clock(), core_clock()
    on_step(f"timing layers of {pair.target.alias}")
    weights = _held_here(pair.target)
    share = _TARGET_SHARE if pair.draft is not None else _TARGET_SHARE + _DRAFT_SHARE
    slices = model_slices(pair.target, weights, ROWS, context, share * seconds, clock)
    target = run_to_end(slices)
    draft = None
    if pair.draft is not None:
        on_step(f"timing layers of {pair.draft.alias}")
        held = _held_here(pair.draft, weights.weight_bytes(pair.target))
        slices = model_slices(pair.draft, held, (1,), context, _DRAFT_SHARE * seconds, clock)
        draft = run_to_end(slices)
    total = clock() - began
    is_cpu = backend_name() == "cpu"
    core_share = (core_clock() - core_began) / total if is_cpu and total > 0 else 1.0
    need = _memory(pair, target, draft, machine, max(context, MEMORY_CONTEXT))
    return measured_forecast(
        pair,
        machine.name.removeprefix("Apple "),
        machine.chip,
        backend_name(),
        target,
        draft,
        need,
        context,
        total,
        core_share,
    )


def _held_here(spec: ModelSpec, taken_bytes: int = 0) -> WeightFormat:
    is_cpu = backend_name() == "cpu"
    return held_format(spec, stored_format(spec), is_cpu, memory_bytes(), taken_bytes)


def _memory(
    pair: PairSpec, target: ModelTiming, draft: ModelTiming | None, machine: Machine, context: int
) -> MemoryNeed:
    """Against this machine's limit, with the weights as they are held, not as they are stored."""
    held = _as_held(pair.target, target)
    second = _as_held(pair.draft, draft) if pair.draft is not None and draft is not None else None
    return fits(held, second, context, machine.limit_bytes)


def _as_held(spec: ModelSpec, timing: ModelTiming) -> ModelSpec:
    if timing.weights.mode != "dense":
        return spec
    return replace(spec, weight_bytes=timing.weights.weight_bytes(spec))


def model_slices(
    spec: ModelSpec,
    weights: WeightFormat,
    rows: tuple[int, ...],
    context: int,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
    taken_bytes: int = 0,
) -> Generator[None, None, ModelTiming]:
    """Time passes of one model's shapes over each of ``rows``, as far as the seconds reach.

    A pass is a slice.

    Args:
        taken_bytes: what loaded models take of the memory.

    Raises:
        DoesNotFitError: not even a few layers fit into the memory.
    """
    slices = _together_slices(spec, [weights], rows, context, seconds, clock, taken_bytes)
    return (yield from slices)[0]


def time_formats(
    spec: ModelSpec,
    context: int,
    seconds: float = 60.0,
    on_step: OnStep = lambda words: None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[FormatTiming]:
    """Time a model's shapes in every format that mlx_lm.convert makes, all of them in turn.

    Raises:
        InvalidRequestError, DoesNotFitError: as time_pair.
    """
    return run_to_end(format_slices(spec, context, seconds, on_step, clock))


def format_slices(
    spec: ModelSpec,
    context: int,
    seconds: float,
    on_step: OnStep = lambda words: None,
    clock: Callable[[], float] = time.perf_counter,
    taken_bytes: int = 0,
) -> Generator[None, None, list[FormatTiming]]:
    """As ``time_formats``, a pass a slice; ``taken_bytes`` as in ``model_slices``."""
    check_shape(spec)
    reasons = {weights: is_supported(weights, _half(weights)) for weights in FORMATS}
    usable = [weights for weights in FORMATS if not reasons[weights]]
    on_step(f"timing {len(usable)} weight formats of {spec.alias}")
    timings: list[ModelTiming] = []
    if usable:
        timings = yield from _together_slices(
            spec, usable, ROWS, context, seconds, clock, taken_bytes
        )
    timed = dict(zip(usable, timings, strict=True))
    return [FormatTiming(weights, timed.get(weights), reasons[weights]) for weights in FORMATS]


def _together_slices(
    spec: ModelSpec,
    formats: Sequence[WeightFormat],
    rows: tuple[int, ...],
    context: int,
    seconds: float,
    clock: Callable[[], float],
    taken_bytes: int = 0,
) -> Generator[None, None, list[ModelTiming]]:
    is_cpu = backend_name() == "cpu"
    core_clock = time.process_time if is_cpu else None
    samples: list[Sample] = []
    for weights in formats:
        price = seconds_per_weight(weights, _half(weights)) if is_cpu else None
        samples.append(sample_of(spec, weights, price))
        yield
    _check_room(spec, formats, samples, taken_bytes)
    timers: list[ShapeTimer] = []
    try:
        for weights, sample in zip(formats, samples, strict=True):
            made = (sample.num_layers, sample.share, context, _half(weights))
            timers.append(ShapeTimer(spec, weights, *made, clock, core_clock))
            yield
        passes = yield from timing_slices(timers, rows, seconds, clock)
    finally:
        timers.clear()
        release_unused_memory()
    return [ModelTiming(*parts) for parts in zip(passes, formats, samples, strict=True)]


def _half(weights: WeightFormat) -> mx.Dtype | None:
    """The 16-bit type that activations have here, None for float32: as the loader leaves them."""
    if weights.bits == 32 or (backend_name() == "cpu" and weights.mode != "dense"):
        return None
    generation = gpu_generation()
    return mx.float16 if generation is not None and generation <= 14 else mx.bfloat16


def _check_room(
    spec: ModelSpec,
    formats: Sequence[WeightFormat],
    samples: Sequence[Sample],
    taken_bytes: int,
) -> None:
    table = spec.vocab_size * spec.hidden_width
    needed = 0
    for weights, sample in zip(formats, samples, strict=True):
        layers = max(0, spec.params - table) * sample.num_layers // spec.layers
        share = 1.0 if spec.kind == "moe" else sample.share
        held = (layers * share + table * sample.share) * weights.bits_per_weight / 8
        needed += int(2 * held if weights.mode == "dense" else held)  # drawn in float32 first
    if needed + taken_bytes <= 0.9 * gpu_memory_limit_bytes():
        return
    if taken_bytes:
        raise DoesNotFitError(
            f"A few layers of {spec.alias} take {bytes_text(needed)} beside the "
            f"{bytes_text(taken_bytes)} of the loaded models: too much to time here.",
            f"Quit, and ask without loaded models: `mlx-specdec forecast {spec.alias} --formats`.",
        )
    raise DoesNotFitError(
        f"A few layers of {spec.alias} take {bytes_text(needed)}, too much to time here.",
        "Ask the published tables instead: --chip m3-pro.",
    )

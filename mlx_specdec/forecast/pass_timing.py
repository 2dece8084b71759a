"""Timing passes within a span of time: which part of a model to make, which widths, how often."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Protocol, TypeVar

from ..model_spec import ModelSpec
from .weight_formats import WeightFormat

__all__ = [
    "PassTimer",
    "Sample",
    "TimedPasses",
    "held_format",
    "run_to_end",
    "sample_of",
    "time_passes",
    "time_together",
    "timing_slices",
]

T = TypeVar("T")

ROWS = tuple(range(1, 10))
# The order in which widths are first timed: when time runs out, the ends and a middle are known.
_FIRST = (1, 2, 5, 9, 3, 4, 7, 6, 8)
_MAX_REPEATS = 7
_WARM_UP_PASSES = 3
# Layers made for a GPU: more bytes than its caches hold, or they would serve the second layer.
_SAMPLE_BYTES = 400_000_000
# What the sample of a slow backend may take for one row.
_SAMPLE_SECONDS = 0.05
_FLOAT32_SHARE = 0.5  # of the memory, that the loader gives to weights in float32
_FLOAT32 = WeightFormat("dense", 32, 0)


class PassTimer(Protocol):
    """Times one pass of a whole model over ``rows`` rows, once."""

    def seconds(self, rows: int) -> float: ...


@dataclass(frozen=True, slots=True)
class Sample:
    """The part of a model that is made: whole layers, and of each product's outputs a share."""

    num_layers: int
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class TimedPasses:
    """Seconds of a pass by rows.

    Args:
        seconds: (rows, seconds) for rising rows; never falling.
        timed: the widths that were timed; the others lie on a line between their neighbours.
        repeats: how often the width timed least was.
    """

    seconds: tuple[tuple[int, float], ...]
    timed: tuple[int, ...]
    repeats: int

    @property
    def interpolated(self) -> tuple[int, ...]:
        return tuple(rows for rows, _ in self.seconds if rows not in self.timed)


def held_format(
    spec: ModelSpec, stored: WeightFormat, is_cpu: bool, memory_bytes: int, taken_bytes: int = 0
) -> WeightFormat:
    """How the loader would hold the weights: on a CPU as float32 while half the memory does.

    Args:
        taken_bytes: what another model takes already.
    """
    if is_cpu and 4 * spec.params + taken_bytes <= _FLOAT32_SHARE * memory_bytes:
        return _FLOAT32
    return stored


def sample_of(
    spec: ModelSpec, weights: WeightFormat, seconds_per_weight: float | None = None
) -> Sample:
    """How much of a model to make.

    Args:
        seconds_per_weight: of a backend whose time is linear in the weights; None for a GPU,
            whose kernels depend on the sizes, so that products are never cut there.
    """
    heads = spec.vocab_size * spec.hidden_width
    tables = heads * (1 if spec.tied_embeddings else 2)
    layer = max(1, (spec.params - tables) // max(1, spec.layers))
    if seconds_per_weight is None:
        enough = -(-_SAMPLE_BYTES * 8 // int(layer * weights.bits_per_weight))
        return Sample(min(spec.layers, max(2, enough)))
    expected = (layer + heads) * seconds_per_weight
    if expected <= _SAMPLE_SECONDS:
        return Sample(min(spec.layers, 2))
    return Sample(1, max(_SAMPLE_SECONDS / expected, 1 / 256))


def time_passes(
    timer: PassTimer, rows: Sequence[int], budget_seconds: float, clock: Callable[[], float]
) -> TimedPasses:
    """Time each width again and again, in turn, until the time is gone or each was timed often."""
    return time_together([timer], rows, budget_seconds, clock)[0]


def time_together(
    timers: Sequence[PassTimer],
    rows: Sequence[int],
    budget_seconds: float,
    clock: Callable[[], float],
) -> list[TimedPasses]:
    """The same for several in turn, so that a machine that changes does so for all alike."""
    return run_to_end(timing_slices(timers, rows, budget_seconds, clock))


def run_to_end(slices: Generator[None, None, T]) -> T:
    """What a measurement in slices returns when nobody stops it."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: T = end.value
            return result


def timing_slices(
    timers: Sequence[PassTimer],
    rows: Sequence[int],
    budget_seconds: float,
    clock: Callable[[], float],
) -> Generator[None, None, list[TimedPasses]]:
    """As ``time_together``; stands still after every pass, so that it can be given up there.

    The first sweep leaves out widths that would not end in time; a pass is expected to take no
    more than its rows in passes over one.
    """
    deadline = clock() + budget_seconds
    for timer in timers:
        yield from _warm_up(timer, budget_seconds / 20 / len(timers), clock)
    seen: dict[int, list[list[float]]] = {}
    one_row = 0.0  # what timing one row of all takes, which is not what it stands for
    wanted = [width for width in _FIRST if width in rows]
    for repeat in range(_MAX_REPEATS):
        for width in wanted if repeat == 0 else sorted(seen):
            began = clock()
            if seen and began + one_row * width > deadline:
                continue
            sweep = []
            for timer in timers:
                sweep.append(timer.seconds(width))
                yield
            seen.setdefault(width, []).append(sweep)
            one_row = max(one_row, (clock() - began) / width) if repeat == 0 else one_row
        if clock() >= deadline:
            break
    return _timed_passes(seen, len(timers), rows)


def _timed_passes(
    seen: dict[int, list[list[float]]], num_timers: int, rows: Sequence[int]
) -> list[TimedPasses]:
    """From the seconds of every timer, in sweeps by width."""
    repeats = min(len(sweeps) for sweeps in seen.values())
    results = []
    for place in range(num_timers):
        columns = {width: [sweep[place] for sweep in sweeps] for width, sweeps in seen.items()}
        typical = {width: _typical(times) for width, times in sorted(columns.items())}
        results.append(TimedPasses(_filled(typical, rows), tuple(typical), repeats))
    return results


def _warm_up(
    timer: PassTimer, seconds: float, clock: Callable[[], float]
) -> Generator[None, None, None]:
    began = clock()
    for _ in range(_WARM_UP_PASSES):
        timer.seconds(1)
        yield
        if clock() - began > seconds:
            break


def _typical(times: Sequence[float]) -> float:
    """The median of the faster half: what else the machine does only ever adds."""
    return median(sorted(times)[: (len(times) + 1) // 2])


def _filled(typical: dict[int, float], rows: Sequence[int]) -> tuple[tuple[int, float], ...]:
    """Rising seconds for each of ``rows`` up to the widest timed one."""
    known: list[tuple[int, float]] = []
    for width, seconds in sorted(typical.items()):  # more rows never cost less
        known.append((width, max(seconds, known[-1][1] if known else 0.0)))
    table = dict(known)
    for (low, fast), (high, slow) in pairwise(known):
        for width in range(low + 1, high):
            table[width] = fast + (slow - fast) * (width - low) / (high - low)
    return tuple((width, table[width]) for width in sorted(rows) if width in table)

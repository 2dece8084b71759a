"""Weight formats of a loaded pair's target, timed as a job for the engine's thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence

from ..backend import backend_name, memory_bytes, synchronize
from ..ledger.latency import LatencyModel
from ..model_spec import PairSpec
from ..this_machine import this_machine
from .forecast import round_overhead
from .format_table import FormatPrices, TimedFormats
from .pass_timing import held_format
from .timing import FormatTiming, check_shape, format_slices, model_slices
from .weight_formats import stored_format

__all__ = ["CONTEXT", "formats_job", "priced_formats"]

CONTEXT = 512
_DRAFT_SHARE, _TARGET_SHARE = 0.1, 0.75  # of the seconds; the rest is for making the layers

Clock = Callable[[], float]


def formats_job(
    pair: PairSpec,
    seconds: float,
    *,
    taken_bytes: int = 0,
    context: int = CONTEXT,
    clock: Clock = time.perf_counter,
) -> Callable[[Callable[[], bool]], Iterator[float | TimedFormats]]:
    """Time a pair's target in every format, and its draft as it is stored.

    The job yields the seconds left after every pass, and TimedFormats last; cancelled, it ends
    after the pass under way without them.

    Args:
        seconds: what all of it may take, about.
        taken_bytes: what loaded models take of the memory.
        context: tokens in the cache.

    Raises:
        InvalidRequestError: the shape of a model is not known.
        DoesNotFitError: not even a few layers fit beside the loaded models.
    """

    def job(is_cancelled: Callable[[], bool]) -> Iterator[float | TimedFormats]:
        synchronize()
        began = clock()
        slices = _slices(pair, seconds, taken_bytes, context, clock)
        while not is_cancelled():
            try:
                next(slices)
            except StopIteration as end:
                yield end.value
                return
            yield max(0.0, seconds - (clock() - began))
        slices.close()

    return job


def _slices(
    pair: PairSpec, seconds: float, taken_bytes: int, context: int, clock: Clock
) -> Generator[None, None, TimedFormats]:
    for spec in pair.specs:
        check_shape(spec)
    began = clock()
    is_cpu, memory = backend_name() == "cpu", memory_bytes()
    held = held_format(pair.target, stored_format(pair.target), is_cpu, memory)
    overhead = round_overhead(backend_name(), this_machine().chip)
    timings = yield from format_slices(
        pair.target, context, _TARGET_SHARE * seconds, clock=clock, taken_bytes=taken_bytes
    )
    draft_seconds = 0.0
    if pair.draft is not None:
        weights = held_format(
            pair.draft, stored_format(pair.draft), is_cpu, memory, held.weight_bytes(pair.target)
        )
        timing = yield from model_slices(
            pair.draft, weights, (1,), context, _DRAFT_SHARE * seconds, clock, taken_bytes
        )
        draft_seconds = timing.passes.seconds[0][1]
    passes = [item.timing.passes for item in timings if item.timing is not None]
    return TimedFormats(
        pair.target,
        tuple(priced_formats(pair, timings, draft_seconds, overhead)),
        held,
        draft_seconds,
        overhead,
        context,
        clock() - began,
        passes[0].interpolated if passes else (),  # the same for all: they are timed together
    )


def priced_formats(
    pair: PairSpec, timings: Sequence[FormatTiming], draft_seconds: float, overhead_seconds: float
) -> list[FormatPrices]:
    """What rounds cost with the target in each format and the draft as it is."""
    is_drafting = pair.draft is not None and pair.target.kind != "hybrid"
    stored = stored_format(pair.target)
    results = []
    for item in timings:
        model = None
        if item.timing is not None:
            passes = item.timing.passes.seconds
            model = LatencyModel.measured(passes, draft_seconds, overhead_seconds)
        is_stored = item.weights == stored
        results.append(FormatPrices(item.weights, model, item.reason, is_stored, is_drafting))
    return results

"""The forecast of this machine: from the models where they are here, else from their shapes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from ..backend import backend_name
from ..costs.prices_here import keep_if_better, shapes_key
from ..downloads.question import Machine
from ..locate import locate
from ..memory import fits
from ..model_spec import PairSpec
from ..this_machine import can_run
from .forecast import Forecast, calibrated_forecast, round_overhead
from .format_job import priced_formats
from .format_table import FormatPrices
from .log import ForecastLog, KeptPrices
from .timing import MEMORY_CONTEXT, time_formats, time_pair

__all__ = ["are_ready", "forecast_here", "format_prices"]


def forecast_here(
    pair: PairSpec,
    machine: Machine,
    *,
    context: int,
    seconds: float,
    shapes_only: bool = False,
    on_step: Callable[[str], None] = lambda words: None,
    log: ForecastLog | None = None,
) -> Forecast:
    """Measure the models where both are on this disk and run here, else time their shapes.

    The prices of shapes are written down, so that the pair's first run can score them.

    Raises:
        InvalidRequestError, DoesNotFitError: see forecast_timing.time_pair.
        SpecdecError: models that are here and cannot be loaded.
    """
    if not shapes_only and are_ready(pair, machine):
        return _measured(pair, machine, context, seconds, on_step)
    forecast = time_pair(pair, machine, context, seconds, on_step)
    if pair.draft is not None:
        kept = KeptPrices(
            pair.name, shapes_key(machine), forecast.model, forecast.source_words, time.time()
        )
        (log or ForecastLog()).write_prices(kept)
    return forecast


def are_ready(pair: PairSpec, machine: Machine) -> bool:
    """Whether all of a pair is on this disk, fits, can be drafted for, and answers in reason."""
    if pair.target.kind == "hybrid":
        return False
    places = [locate(spec) for spec in pair.specs]
    if not all(place is not None and place.complete for place in places):
        return False
    need = fits(pair.target, pair.draft, MEMORY_CONTEXT, machine.limit_bytes)
    return need.verdict != "does not fit" and can_run(pair.target)


def _measured(
    pair: PairSpec,
    machine: Machine,
    context: int,
    seconds: float,
    on_step: Callable[[str], None],
) -> Forecast:
    from ..costs.calibrate import calibrate
    from ..engine import load

    began = time.perf_counter()
    on_step(f"loading {pair.name}")
    names = [str(spec.path) if spec.path and not spec.repo else spec.alias for spec in pair.specs]
    with load(names[0], names[1] if len(names) > 1 else "none") as engine:
        on_step(f"measuring {pair.name}")
        calibration = calibrate(engine, seconds)
        loaded = [engine.pair.target] + ([engine.pair.draft] if engine.pair.draft else [])
        held = [
            replace(spec, weight_bytes=model.weight_bytes)
            for spec, model in zip(pair.specs, loaded, strict=True)
        ]
    keep_if_better(calibration)
    words = calibration.words(calibration.measured_at)
    return calibrated_forecast(
        pair,
        machine.name.removeprefix("Apple "),
        machine.chip,
        backend_name(),
        calibration.costs.at(context),
        words,
        fits(held[0], held[1] if len(held) > 1 else None, MEMORY_CONTEXT, machine.limit_bytes),
        context,
        time.perf_counter() - began,
    )


def format_prices(
    forecast: Forecast, seconds: float, on_step: Callable[[str], None] = lambda words: None
) -> list[FormatPrices]:
    """The target of a measured forecast in every format, with the draft as it was measured."""
    pair = forecast.pair
    draft_seconds = forecast.model.draft_seconds(1) if pair.draft is not None else 0.0
    overhead = round_overhead(backend_name(), forecast.chip)
    timings = time_formats(pair.target, forecast.context, seconds, on_step)
    return priced_formats(pair, timings, draft_seconds, overhead)

"""Forecasts and machines made up for tests: no MLX, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mlx_specdec.costs.machines import CHIPS
from mlx_specdec.forecast.forecast import (
    Forecast,
    ModelTiming,
    measured_forecast,
    published_pair_forecast,
)
from mlx_specdec.forecast.format_table import FormatPrices, TimedFormats
from mlx_specdec.forecast.pass_timing import Sample, TimedPasses
from mlx_specdec.forecast.weight_formats import AFFINE_4, FORMATS, WeightFormat
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.memory import fits
from mlx_specdec.model_spec import PairSpec
from mlx_specdec.registry import Registry

REGISTRY = Registry.load(Path("none.toml"))
FLOAT32 = WeightFormat("dense", 32, 0)
TWO_LAYERS = Sample(2)
LINEAR = tuple((rows, float(rows)) for rows in range(1, 10))


SLOW_ROWS = (1.0, 1.74, 2.44, 3.11, 3.8, 4.4, 5.0, 5.6, 6.1)
FLAT_ROWS = (1.0, 1.08, 1.22, 1.40, 1.72, 2.05, 2.3, 2.6, 3.15)


def pair_of(target: str, draft: str | None = None) -> PairSpec:
    return REGISTRY.resolve_pair(target, draft)


def timing(
    seconds: Sequence[tuple[int, float]],
    weights: WeightFormat = AFFINE_4,
    timed: tuple[int, ...] | None = None,
    sample: Sample | None = TWO_LAYERS,
) -> ModelTiming:
    rows = timed if timed is not None else tuple(row for row, _ in seconds)
    return ModelTiming(TimedPasses(tuple(seconds), rows, 3), weights, sample)


def on_chip(name: str, target: str = "qwen3-14b", draft: str | None = None) -> Forecast:
    """The published forecast of a chip."""
    pair = pair_of(target, draft)
    need = fits(pair.target, pair.draft, 4096, 0)
    forecast = published_pair_forecast(pair, CHIPS[name], need, 512)
    assert forecast is not None
    return forecast


def here(
    target_seconds: Sequence[tuple[int, float]],
    draft_seconds: float | None,
    *,
    pair: PairSpec | None = None,
    machine: str = "AMD EPYC, 2 cores",
    chip: str = "",
    backend: str = "cpu",
    limit: int = 64 * 10**9,
    weights: WeightFormat = AFFINE_4,
    timed: tuple[int, ...] | None = None,
    core_share: float = 1.0,
) -> Forecast:
    """A forecast from passes that were "timed" here."""
    if pair is None:
        pair = pair_of("qwen3-14b", "none" if draft_seconds is None else None)
    draft = None if draft_seconds is None else timing([(1, draft_seconds)], FLOAT32)
    return measured_forecast(
        pair,
        machine,
        CHIPS.get(chip),
        backend,
        timing(target_seconds, weights, timed),
        draft,
        fits(pair.target, pair.draft, 4096, limit),
        512,
        31.4,
        core_share,
    )


def format_row(
    weights: WeightFormat, plain: float, rows: Sequence[float], draft_seconds: float = 0.005
) -> FormatPrices:
    """A format whose pass over one token takes ``plain`` seconds, over more ``rows`` of these."""
    table = tuple((count, plain * cost) for count, cost in enumerate(rows, 1))
    model = LatencyModel.measured(table, draft_seconds, 0.0015)
    return FormatPrices(weights, model, is_stored=weights == AFFINE_4)


def timed_formats(
    *floats: Sequence[float], target: str = "qwen3-4b", held: WeightFormat = AFFINE_4
) -> TimedFormats:
    """What might be timed on an M2: affine formats are dear in rows.

    Args:
        floats: pass costs of mxfp4 and of nvfp4; a format without them is not there.
    """
    rows = [
        format_row(weights, plain, SLOW_ROWS)
        for weights, plain in zip(FORMATS[:3], (0.0301, 0.0334, 0.0567), strict=True)
    ]
    for weights, costs in zip(FORMATS[3:], floats, strict=False):
        rows.append(format_row(weights, 0.0287, costs))
    for weights in FORMATS[len(rows) :]:
        rows.append(FormatPrices(weights, None, f"[quantized_matmul] no kernel for {weights.mode}"))
    spec = pair_of(target).target
    return TimedFormats(spec, tuple(rows), held, 0.005, 0.0015, 512, 19.6)

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
from mlx_specdec.forecast.pass_timing import Sample, TimedPasses
from mlx_specdec.forecast.weight_formats import AFFINE_4, WeightFormat
from mlx_specdec.memory import fits
from mlx_specdec.model_spec import PairSpec
from mlx_specdec.registry import Registry

REGISTRY = Registry.load(Path("none.toml"))
FLOAT32 = WeightFormat("dense", 32, 0)
LINEAR = tuple((rows, float(rows)) for rows in range(1, 10))


def pair_of(target: str, draft: str | None = None) -> PairSpec:
    return REGISTRY.resolve_pair(target, draft)


def timing(
    seconds: Sequence[tuple[int, float]],
    weights: WeightFormat = AFFINE_4,
    timed: tuple[int, ...] | None = None,
    sample: Sample | None = Sample(2),  # noqa: B008 - frozen
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

"""Shapes: layers with random weights run in every format, and scale to the whole model."""

from __future__ import annotations

from collections.abc import Callable

from mlx_specdec.backend import mx
from mlx_specdec.forecast.shapes import ShapeTimer, is_supported, seconds_per_weight
from mlx_specdec.forecast.weight_formats import FORMATS, WeightFormat
from mlx_specdec.model_spec import ModelSpec

import pytest

FLOAT32 = WeightFormat("dense", 32, 0)
SMALL = ModelSpec(
    alias="small",
    layers=6,
    hidden_width=128,
    heads=4,
    kv_heads=2,
    head_dim=64,
    mlp_width=256,
    vocab_size=512,
    params=1_000_000,
)
EXPERTS = ModelSpec(
    alias="experts",
    kind="moe",
    layers=4,
    hidden_width=128,
    heads=4,
    kv_heads=2,
    head_dim=64,
    vocab_size=512,
    experts=8,
    experts_per_token=2,
    expert_width=128,
    params=1_000_000,
)


def clock_of(step: float) -> Callable[[], float]:
    """A clock on which everything that is timed takes ``step`` seconds."""
    now = [0.0]

    def clock() -> float:
        now[0] += step / 2
        return now[0]

    return clock


@pytest.mark.parametrize("weights", [*FORMATS, FLOAT32], ids=lambda weights: weights.short)
@pytest.mark.parametrize("spec", [SMALL, EXPERTS], ids=lambda spec: spec.kind)
def test_a_pass_runs_in_every_format(weights: WeightFormat, spec: ModelSpec) -> None:
    timer = ShapeTimer(spec, weights, num_layers=1, context=16)
    assert timer.seconds(1) > 0
    assert timer.seconds(3) > 0


@pytest.mark.parametrize("weights", FORMATS, ids=lambda weights: weights.short)
def test_the_formats_work_on_this_backend(weights: WeightFormat) -> None:
    assert is_supported(weights) == ""
    assert is_supported(weights, mx.bfloat16) == ""


def test_a_format_that_mlx_does_not_know_says_why() -> None:
    assert is_supported(WeightFormat("affine", 7, 64)) != ""


def test_layers_count_for_the_depth_and_the_head_once() -> None:
    ticks = iter([0.0] * 10 + [1.0, 3.0, 5.0, 5.5])  # five empty passes; layers 2 s, head 0.5 s
    timer = ShapeTimer(SMALL, FLOAT32, num_layers=2, context=16, clock=lambda: next(ticks))
    assert timer.seconds(1) == pytest.approx(2.0 * 6 / 2 + 0.5)


def test_on_a_busy_cpu_the_time_of_the_core_counts() -> None:
    wall = iter([0.0] * 10 + [1.0, 9.0, 9.0, 20.0])  # layers 8 s, head 11 s of the clock
    core = iter([0.0] * 10 + [1.0, 3.0, 3.0, 3.5])  # and 2 s and 0.5 s of a core
    timer = ShapeTimer(
        SMALL,
        FLOAT32,
        num_layers=2,
        context=16,
        clock=lambda: next(wall),
        core_clock=lambda: next(core),
    )
    assert timer.seconds(1) == pytest.approx(2.0 * 6 / 2 + 0.5)


def test_a_share_of_the_outputs_is_scaled_back() -> None:
    ticks = iter([0.0] * 10 + [1.0, 2.0, 3.0, 4.0])
    timer = ShapeTimer(
        SMALL, FORMATS[0], num_layers=1, share=0.25, context=16, clock=lambda: next(ticks)
    )
    assert timer.seconds(1) == pytest.approx(1.0 * 6 * 4 + 1.0 * 4)


def test_products_too_small_to_cut_are_weighed_as_they_are() -> None:
    ticks = iter([0.0] * 10 + [1.0, 2.0, 3.0, 3.0])
    timer = ShapeTimer(
        SMALL, FORMATS[0], num_layers=1, share=0.001, context=16, clock=lambda: next(ticks)
    )
    per_layer = 128 * (256 + 128 + 128) + 256 * 128 + 2 * 256 * 128 + 128 * 256
    computed = 8 * (3 * 128 + 256 + 2 * 128 + 256)
    assert timer.seconds(1) == pytest.approx(6 * per_layer / computed)


def test_the_probe_gives_a_price() -> None:
    assert seconds_per_weight(FLOAT32) > 0
    assert seconds_per_weight(FORMATS[0], mx.bfloat16) > 0

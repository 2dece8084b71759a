"""Timing passes: within the time, on a clock that the test turns."""

from __future__ import annotations

from mlx_specdec.forecast.pass_timing import (
    Sample,
    held_format,
    sample_of,
    time_passes,
    time_together,
)
from mlx_specdec.forecast.weight_formats import AFFINE_4, FORMATS, WeightFormat
from mlx_specdec.model_spec import ModelSpec
from tests.forecasts import REGISTRY

import pytest


class FakeTimer:
    """A backend whose passes take ``per_row`` seconds a row of the clock; says other figures."""

    def __init__(self, per_row: float, says: dict[int, list[float]] | None = None) -> None:
        self.now = 0.0
        self.per_row = per_row
        self.says = says or {}
        self.asked: list[int] = []

    def clock(self) -> float:
        return self.now

    def seconds(self, rows: int) -> float:
        self.asked.append(rows)
        self.now += self.per_row * rows
        said = self.says.get(rows)
        return said[min(self.asked.count(rows) - 1, len(said) - 1)] if said else float(rows)


ROWS = tuple(range(1, 10))


def test_a_quick_backend_has_every_width_timed_often() -> None:
    timer = FakeTimer(0.001)
    timed = time_passes(timer, ROWS, 30.0, timer.clock)
    assert timed.timed == ROWS
    assert timed.interpolated == ()
    assert timed.repeats == 7
    assert timed.seconds == tuple((rows, float(rows)) for rows in ROWS)
    assert timer.now < 1


def test_a_slow_backend_has_the_ends_timed_and_the_rest_on_a_line() -> None:
    timer = FakeTimer(1.0)
    timed = time_passes(timer, ROWS, 20.0, timer.clock)
    assert timer.now <= 20
    assert timed.timed == (1, 2, 5, 9)
    assert timed.interpolated == (3, 4, 6, 7, 8)
    assert dict(timed.seconds)[7] == pytest.approx(7.0)
    assert timed.repeats == 1


def test_a_hopeless_backend_still_gives_one_row() -> None:
    timer = FakeTimer(50.0)
    timed = time_passes(timer, ROWS, 10.0, timer.clock)
    assert timed.seconds == ((1, 1.0),)
    assert timer.asked == [1, 1]  # the warm-up and the pass


def test_outliers_do_not_count_and_more_rows_never_cost_less() -> None:
    says = {1: [9.0, 9.0, 1.0, 1.0, 5.0, 1.0, 1.0, 9.0], 2: [2.0], 3: [1.5]}
    timer = FakeTimer(0.001, says)
    timed = dict(time_passes(timer, (1, 2, 3), 30.0, timer.clock).seconds)
    assert timed == {1: 1.0, 2: 2.0, 3: 2.0}


def test_several_are_timed_width_by_width() -> None:
    order: list[tuple[str, int]] = []
    clock = FakeTimer(0.001)

    class Named(FakeTimer):
        def __init__(self, name: str, factor: float) -> None:
            super().__init__(0.0)
            self.name, self.factor = name, factor

        def seconds(self, rows: int) -> float:
            order.append((self.name, rows))
            clock.now += 0.001
            return self.factor * rows

    first, second = time_together([Named("a", 1.0), Named("b", 3.0)], (1, 2), 30.0, clock.clock)
    assert first.seconds == ((1, 1.0), (2, 2.0))
    assert second.seconds == ((1, 3.0), (2, 6.0))
    timed = order[6:]  # after three passes each to warm up
    assert timed[:4] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert first.repeats == second.repeats == 7


def test_a_cpu_holds_what_fits_as_float32() -> None:
    small, large = REGISTRY.resolve("qwen3-0.6b"), REGISTRY.resolve("qwen3-14b")
    memory = 24 * 2**30
    assert held_format(small, AFFINE_4, True, memory).label == "float32"
    assert held_format(large, AFFINE_4, True, memory) == AFFINE_4
    assert held_format(small, AFFINE_4, False, memory) == AFFINE_4
    assert held_format(small, AFFINE_4, True, memory, taken_bytes=11 * 2**30) == AFFINE_4


def test_a_gpu_gets_whole_layers_beyond_its_caches() -> None:
    large, small = REGISTRY.resolve("qwen3-14b"), REGISTRY.resolve("qwen3-0.6b")
    sample = sample_of(large, AFFINE_4)
    assert sample == Sample(3)
    layer = (large.params - 2 * large.vocab_size * large.hidden_width) / large.layers
    assert sample.num_layers * layer * AFFINE_4.bits_per_weight / 8 > 4e8
    assert sample_of(small, AFFINE_4) == Sample(small.layers)  # all of it is less than that


def test_a_slow_backend_gets_a_share_of_one_layer() -> None:
    large = REGISTRY.resolve("qwen3-14b")
    sample = sample_of(large, AFFINE_4, seconds_per_weight=14e-9)
    assert sample.num_layers == 1
    assert 1 / 256 <= sample.share < 0.05
    assert sample_of(REGISTRY.resolve("qwen3-0.6b"), FLOAT, seconds_per_weight=1e-11) == Sample(2)


FLOAT = WeightFormat("dense", 32, 0)


def test_formats_and_what_they_weigh() -> None:
    spec = REGISTRY.resolve("qwen3-14b")
    bits = [weights.bits_per_weight for weights in FORMATS]
    assert bits == [4.5, 5.0, 8.5, 4.25, 4.5]
    # The registry's own figure keeps the norms apart, in 16 bits.
    assert AFFINE_4.weight_bytes(spec) == pytest.approx(spec.weight_bytes, rel=1e-3)
    assert [weights.short for weights in FORMATS][:3] == [
        "affine 4-bit g64",
        "affine 4-bit g32",
        "affine 8-bit g64",
    ]


def test_a_model_without_parameters_weighs_nothing_known() -> None:
    assert AFFINE_4.weight_bytes(ModelSpec(alias="a/b")) == 0

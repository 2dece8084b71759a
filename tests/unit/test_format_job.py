"""Weight formats as a job: a pass a slice, seconds left, cancelled between two passes."""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

from mlx_specdec.backend import backend_name
from mlx_specdec.errors import DoesNotFitError, InvalidRequestError
from mlx_specdec.forecast import format_job, timing
from mlx_specdec.forecast.format_job import formats_job
from mlx_specdec.forecast.format_table import TimedFormats
from mlx_specdec.forecast.shapes import ShapeTimer
from mlx_specdec.forecast.weight_formats import FORMATS
from mlx_specdec.model_spec import ModelSpec, PairSpec
from tests.forecasts import pair_of

import pytest

PAIR = pair_of("qwen3-4b", "qwen3-0.6b")


class Seconds:
    """A clock that only passes move."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class ToyTimer:
    """In the place of ShapeTimer: says that a pass takes 20 ms, and lets 90 ms a row pass."""

    clock = Seconds()
    asked: ClassVar[list[tuple[str, int]]] = []  # emptied by the fixture
    alive: ClassVar[weakref.WeakSet[ToyTimer]] = weakref.WeakSet()

    def __init__(self, spec: ModelSpec, weights: Any, *_: Any) -> None:
        self.spec, self.mode = spec, weights.mode
        self.alive.add(self)

    def seconds(self, rows: int) -> float:
        self.asked.append((f"{self.spec.alias} {self.mode}", rows))
        self.clock.now += 0.09 * rows
        plain = 0.004 if self.spec is PAIR.draft else 0.02
        return plain * (1 + (0.1 if self.mode == "mxfp4" else 0.9) * (rows - 1))


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToyTimer, "clock", Seconds())
    monkeypatch.setattr(ToyTimer, "asked", [])
    monkeypatch.setattr(timing, "ShapeTimer", ToyTimer)
    for module in (timing, format_job):
        monkeypatch.setattr(module, "backend_name", lambda: "metal")
    monkeypatch.setattr(timing, "gpu_memory_limit_bytes", lambda: 11_000_000_000)


def run(pair: PairSpec = PAIR, after: int = 10**9, **more: Any) -> list[float | TimedFormats]:
    """The job's items; cancelled once so many passes were timed."""
    job = formats_job(pair, 20.0, clock=ToyTimer.clock, **more)
    return list(job(lambda: len(ToyTimer.asked) >= after))


def test_every_format_is_timed_with_the_draft_as_it_is() -> None:
    found = run()[-1]
    assert isinstance(found, TimedFormats)
    assert [item.weights for item in found.formats] == list(FORMATS)
    assert found.formats[0].is_stored
    assert found.draft_seconds == pytest.approx(0.004)
    models = {item.weights.mode: item.model for item in found.formats}
    mxfp4, nvfp4 = models["mxfp4"], models["nvfp4"]
    assert mxfp4 is not None
    assert nvfp4 is not None
    assert mxfp4.verify_seconds(1) == pytest.approx(0.022)
    assert nvfp4.verify_seconds(1) == pytest.approx(0.038)
    assert mxfp4.draft_seconds(1) == pytest.approx(0.004)


def test_the_seconds_left_fall_with_every_pass() -> None:
    *items, found = run()
    assert isinstance(found, TimedFormats)
    left = [item for item in items if isinstance(item, float)]
    assert left == sorted(left, reverse=True)
    assert left[0] == 20.0
    assert 0 <= left[-1] < 8
    assert found.seconds == pytest.approx(ToyTimer.clock.now)


def test_what_was_not_reached_in_time_is_said() -> None:
    found = run()[-1]
    assert isinstance(found, TimedFormats)
    timed = {rows for name, rows in ToyTimer.asked if "mxfp4" in name}
    assert found.interpolated == (6, 8)
    assert timed == {1, 2, 3, 4, 5, 7, 9}


@pytest.mark.parametrize("passes", [1, 5, 12])
def test_cancelled_it_ends_after_the_pass_under_way_and_lets_the_layers_go(passes: int) -> None:
    items = run(after=passes)
    assert len(ToyTimer.asked) == passes
    assert all(isinstance(item, float) for item in items)
    assert not ToyTimer.alive


def test_cancelled_at_once_it_times_nothing() -> None:
    assert run(after=0) == []


def test_without_a_draft_only_passes_are_compared() -> None:
    found = run(pair_of("qwen3-4b", "none"))[-1]
    assert isinstance(found, TimedFormats)
    assert found.draft_seconds == 0.0
    assert not found.is_drafting


def test_no_room_beside_the_loaded_models() -> None:
    with pytest.raises(DoesNotFitError) as error:
        run(taken_bytes=9_000_000_000)
    assert "beside the 9.0 GB of the loaded models" in error.value.message
    assert "`mlx-specdec forecast qwen3-4b --formats`" in error.value.hint
    assert run(taken_bytes=3_000_000_000)


def test_a_model_of_unknown_shape_is_refused() -> None:
    with pytest.raises(InvalidRequestError):
        run(PairSpec(ModelSpec(alias="somebody/else"), None))


def test_the_real_layers_of_the_built_in_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "ShapeTimer", ShapeTimer)
    for module in (timing, format_job):
        monkeypatch.setattr(module, "backend_name", backend_name)
    *_, found = formats_job(pair_of("tiny"), 0.5)(lambda: False)
    assert isinstance(found, TimedFormats)
    assert all(item.model is not None for item in found.formats)
    assert found.draft_seconds > 0

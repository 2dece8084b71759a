"""Calibration on a clock that only the models move: what comes out is what was put in."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlx_specdec.backend import mx
from mlx_specdec.costs.calibrate import ROWS, _fitting, _whole_rounds, measured_calibration
from mlx_specdec.costs.calibration import Calibration, CalibrationKey
from mlx_specdec.costs.store import (
    calibration_of,
    calibrations_dir,
    load_calibration,
    save_calibration,
    stored_calibrations,
)
from mlx_specdec.forward import Cancelled
from mlx_specdec.registry import Registry
from mlx_specdec.settings import Settings
from tests.lanes import VOCAB, session_of
from tests.toymodels import toy_model

import pytest

KEY = CalibrationKey("M3 Pro 36 GB", "0.32.4", "qwen3-14b (4-bit)", "qwen3-0.6b (4-bit)")
ROW = 0.010  # of the target, and what each row more costs
STEP = {1: 0.0, 2: 0.001, 3: 0.002, 4: 0.004, 5: 0.006, 6: 0.015, 7: 0.016, 8: 0.017, 9: 0.018}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class SleepingModel:
    """Takes its time on the clock at every pass: by rows and tokens in the cache."""

    def __init__(self, loaded: Any, clock: Clock, seconds: Callable[[int, int], float]) -> None:
        self._inner = loaded.model
        self._clock = clock
        self._seconds = seconds
        self.layers = loaded.model.layers
        self.contexts: set[int] = set()

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        held = int(cache[0].offset)
        self.contexts.add(held)
        self._clock.now += self._seconds(int(inputs.shape[1]), held)
        logits: mx.array = self._inner(inputs, cache=cache)
        return logits


def target_seconds(rows: int, held: int) -> float:
    if rows > 9:  # in bulk
        return rows * 0.0005
    return ROW + STEP[rows] + (0.001 * rows if held >= 300 else 0.0)


def draft_seconds(rows: int, held: int) -> float:
    return rows * 0.0001 if rows > 9 else 0.002


def calibrated(
    seconds: float = 1000.0,
    target: Callable[[int, int], float] = target_seconds,
    contexts: tuple[int, ...] = (64, 300),
    draft: Callable[[int, int], float] = draft_seconds,
    **options: Any,
) -> tuple[Calibration, Clock, Any]:
    clock = Clock()
    slow = SleepingModel(toy_model(VOCAB, layers=1, seed=4), clock, target)
    quick = SleepingModel(toy_model(VOCAB, layers=1, seed=5), clock, draft)

    def loaded(model: Any) -> Any:
        return dataclasses.replace(toy_model(VOCAB, layers=1), model=model)

    session = session_of(loaded(slow), loaded(quick))
    result = measured_calibration(
        session, KEY, seconds, clock=clock, now=lambda: 5000.0, contexts=contexts, **options
    )
    return result, clock, slow


def test_every_figure_is_what_the_models_take() -> None:
    result, _, slow = calibrated()
    assert (result.stopped, result.measured_at, result.key) == ("interval", 5000.0, KEY)
    (short, model), (long, longer) = result.costs.by_context
    assert (short, long) == (64, 300)
    for rows, seconds in model.seconds_by_rows:
        assert seconds == pytest.approx(ROW + STEP[rows]), rows
    assert [rows for rows, _ in model.seconds_by_rows] == list(ROWS)
    assert model.draft_seconds(1) == pytest.approx(0.002)
    assert model.overhead_seconds == pytest.approx(0.0, abs=1e-9)
    assert longer.verify_seconds(3) == pytest.approx(ROW + STEP[4] + 0.004)
    assert result.costs.draft_prefill_seconds == pytest.approx(0.0001)
    assert result.costs.target_prefill_seconds == pytest.approx(0.0005)
    assert 300 in slow.contexts  # the cache was filled, not only said to be
    assert result.is_usable


def test_a_plain_round_is_priced_as_the_loop_queues_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queued pass is quicker than a lone one; a check of several rows has nothing to hide in."""
    whole = (0.0, 0.8 * ROW)
    monkeypatch.setattr("mlx_specdec.costs.calibrate._whole_rounds", lambda *_: whole)
    result, _, _ = calibrated()
    (_, model), (_, longer) = result.costs.by_context
    assert model.target_seconds == pytest.approx(0.8 * ROW)
    assert longer.target_seconds == pytest.approx(0.8 * (ROW + 0.001))
    assert model.verify_seconds(3) == pytest.approx(ROW + STEP[4])


def test_it_stops_when_its_time_is_gone_and_says_so() -> None:
    calls = itertools.count()

    def shaky(rows: int, held: int) -> float:
        return target_seconds(rows, held) * (1 + next(calls) * 7919 % 13)

    result, clock, _ = calibrated(6.0, shaky, contexts=(64,))
    assert result.stopped == "time"
    assert 106.0 <= clock.now < 110.0
    assert result.widest_share > 0.03


def test_with_hardly_any_time_the_figures_that_a_decision_needs_are_there() -> None:
    result, _, _ = calibrated(0.01)
    model = result.costs.at(0)
    assert [rows for rows, _ in model.seconds_by_rows][:2] == [1, 2]
    assert model.draft_seconds(1) > 0
    assert result.stopped == "time"


def test_more_rows_never_cost_less() -> None:
    def odd(rows: int, held: int) -> float:
        return 0.02 if rows == 4 else target_seconds(rows, held)

    result, _, _ = calibrated(target=odd, contexts=(64,))
    seconds = [each for _, each in result.costs.at(0).seconds_by_rows]
    assert seconds == sorted(seconds)
    assert seconds[4] == pytest.approx(0.02)


@pytest.mark.parametrize("asked_before", [0, 30, 300])
def test_a_cancel_ends_it_before_the_next_pass(asked_before: int) -> None:
    """At the first question, among the whole rounds, or among the passes."""
    calls: list[int] = []
    asked = iter(range(10**6))
    is_over = False

    def is_cancelled() -> bool:
        nonlocal is_over
        is_over = is_over or next(asked) >= asked_before
        return is_over

    def watched(rows: int, held: int) -> float:
        calls.append(rows)
        late.append(rows) if is_over else None
        return target_seconds(rows, held)

    late: list[int] = []
    with pytest.raises(Cancelled):
        calibrated(target=watched, is_cancelled=is_cancelled)
    assert len(calls) >= asked_before // 10
    assert late == []


def test_no_step_of_reading_takes_longer_than_it_may() -> None:
    bulks: set[int] = set()

    def watched(rows: int, held: int) -> float:
        if rows > 9:
            bulks.add(rows)
        return target_seconds(rows, held)

    result, _, _ = calibrated(target=watched, contexts=(64,), longest_step=0.07)
    assert bulks & {32, 64, 128, 256} == {32, 64, 128}  # at 0.5 ms a token
    assert result.costs.target_prefill_seconds == pytest.approx(0.0005)


def test_a_draft_that_catches_up_is_priced_by_what_it_took() -> None:
    result, _, _ = calibrated(contexts=(64,), draft=lambda rows, held: 0.001 + 0.0003 * rows)
    assert result.costs.draft_catch_up_seconds == pytest.approx(0.0003)


def test_contexts_that_the_model_cannot_hold_are_left_out() -> None:
    result, _, _ = calibrated(contexts=(64, 1_000_000))
    assert [length for length, _ in result.costs.by_context] == [64]


def test_contexts_leave_room_for_what_the_conversation_holds() -> None:
    session = session_of(toy_model(VOCAB, layers=1), toy_model(VOCAB, layers=1))
    session.room = dataclasses.replace(
        session.room, kv_bytes_per_token=2**20, weight_bytes=0, limit_bytes=(256 + 4096) * 2**20
    )
    assert session.room.tokens() == 4096
    assert _fitting(session, (64, 2048, 3584, 8192)) == [64, 2048, 3584]
    list(session.generate([5] * 40, Settings(max_tokens=4)))
    assert _fitting(session, (64, 2048, 3584, 8192)) == [64, 2048]


def test_a_kept_one_comes_back_and_is_stale_when_anything_changes(tmp_path: Path) -> None:
    result, _, _ = calibrated(contexts=(64,))
    assert save_calibration(result, tmp_path) is not None
    assert load_calibration(KEY, tmp_path) == result
    for field in ("machine", "mlx_version", "target", "draft"):
        other = dataclasses.replace(KEY, **{field: "something else"})
        assert load_calibration(other, tmp_path) is None
    assert stored_calibrations(tmp_path) == [result]
    path = next(tmp_path.iterdir())
    for damaged in ("{damaged", 100_000 * "[", path.read_text().replace(": 64", ": Infinity")):
        path.write_text(damaged)
        assert load_calibration(KEY, tmp_path) is None


def test_a_pair_that_is_not_loaded_is_found_by_its_names(tmp_path: Path) -> None:
    result, _, _ = calibrated(contexts=(64,))
    newer = dataclasses.replace(
        result, measured_at=9000.0, key=dataclasses.replace(KEY, target="qwen3-14b (8-bit)")
    )
    save_calibration(newer, tmp_path)
    save_calibration(result, tmp_path)
    pair = Registry.load().resolve_pair("qwen3-14b", "qwen3-0.6b")
    assert calibration_of(pair, KEY.machine, KEY.mlx_version, tmp_path) == newer
    assert calibration_of(pair, KEY.machine, "0.40", tmp_path) is None
    other = Registry.load().resolve_pair("qwen3-8b", "qwen3-0.6b")
    assert calibration_of(other, KEY.machine, KEY.mlx_version, tmp_path) is None


def test_the_cache_folder_follows_the_system() -> None:
    assert calibrations_dir({"XDG_CACHE_HOME": "/x"}) == Path("/x/mlx-specdec/calibrations")


def test_whole_rounds_teach_the_session_nothing() -> None:
    """They are what costs are measured by; the first of them compile kernels."""
    session = session_of(toy_model(VOCAB, layers=1), toy_model(VOCAB, layers=1))
    _whole_rounds(session.beside(session.clock), 0.0)
    assert session.lookahead.costs.version == 0

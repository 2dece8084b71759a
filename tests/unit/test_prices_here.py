"""Prices of this machine: a stored calibration before the published table, and what is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mlx_specdec.costs.calibration import Calibration, CalibrationKey, Spread
from mlx_specdec.costs.machines import CHIPS
from mlx_specdec.costs.pair_costs import PairCosts
from mlx_specdec.costs.prices_here import keep_if_better, prices_here, shapes_key
from mlx_specdec.costs.store import load_calibration, save_calibration
from mlx_specdec.downloads.question import Machine
from mlx_specdec.forecast.log import ForecastLog, KeptPrices
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.this_machine import machine_label, versions
from tests.forecasts import pair_of

import pytest

MODEL = LatencyModel.measured(((1, 0.05), (2, 0.055)), 0.004)
PAIR = pair_of("qwen3-14b")
UNKNOWN = Machine("a CPU", 24 * 2**30, 17 * 10**9)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def calibration(share: float = 0.02, at: float = 1000.0, stopped: str = "interval") -> Calibration:
    key = CalibrationKey(
        machine_label(), versions()["mlx"], "qwen3-14b (4-bit, 8 bytes)", "qwen3-0.6b (4-bit)"
    )
    costs = PairCosts(((0, MODEL),))
    return Calibration(key, costs, at, stopped, (Spread("pass", 0.05, share, 9),))


def test_nothing_is_known_of_a_cpu_before_it_was_measured() -> None:
    assert prices_here(PAIR, UNKNOWN) is None
    save_calibration(calibration())
    found = prices_here(PAIR, UNKNOWN)
    assert found is not None
    assert found.source == "measured"
    assert found.model.target_seconds == 0.05


def test_a_calibration_comes_before_the_published_table() -> None:
    mac = replace(UNKNOWN, chip=CHIPS["m3-pro"])
    before = prices_here(PAIR, mac)
    assert before is not None
    assert before.source == "published"
    save_calibration(calibration())
    after = prices_here(PAIR, mac)
    assert after is not None
    assert after.source == "measured"
    other = prices_here(pair_of("qwen3-8b"), mac)
    assert other is not None
    assert other.source == "published"


def test_shapes_timed_here_come_between_the_two() -> None:
    mac = replace(UNKNOWN, chip=CHIPS["m3-pro"])
    log = ForecastLog()
    log.write_prices(KeptPrices(PAIR.name, shapes_key(mac), MODEL, "shapes timed", 1.0))
    found = prices_here(PAIR, mac)
    assert found is not None
    assert found.source == "shapes"
    assert found.words.startswith("shapes timed ")
    assert found.words.endswith(" ago")
    other = prices_here(PAIR, replace(mac, name="another"))
    assert other is not None
    assert other.source == "published"
    save_calibration(calibration())
    best = prices_here(PAIR, mac)
    assert best is not None
    assert best.source == "measured"


def test_one_too_wide_to_decide_by_is_neither_kept_nor_shown() -> None:
    """As in ``known_costs``, which would not use it."""
    wide = calibration(0.4)
    assert not wide.is_usable
    assert not keep_if_better(wide)
    assert load_calibration(wide.key) is None
    save_calibration(wide)  # as an earlier version did
    assert prices_here(PAIR, UNKNOWN) is None
    assert keep_if_better(calibration(0.1, at=2000.0))


def test_a_worse_calibration_does_not_replace_a_recent_better_one() -> None:
    good, bad = calibration(0.02, at=1000.0), calibration(0.1, at=2000.0)
    assert keep_if_better(good)
    assert not keep_if_better(bad)
    assert load_calibration(good.key) == good
    late = calibration(0.1, at=1000.0 + 2 * 86400)
    assert keep_if_better(late)
    assert load_calibration(good.key) == late
    assert keep_if_better(replace(good, measured_at=late.measured_at + 1))

"""A run's own forecast: none from tables that are not of its models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from mlx_specdec import this_machine as machine_module
from mlx_specdec.costs.cost_table import CostTable
from mlx_specdec.costs.machines import CHIPS
from mlx_specdec.costs.prices import Prices
from mlx_specdec.costs.prices_here import prices_here
from mlx_specdec.downloads.question import Machine
from mlx_specdec.forecast.log import ForecastLog, RunSeen
from mlx_specdec.forecast.own_run import foretell
from mlx_specdec.forecast.prediction import predict
from mlx_specdec.prompts import Prompt
from mlx_specdec.settings import Settings
from tests.forecasts import pair_of

import pytest

MAC = replace(Machine("M3 Pro", 36 * 2**30, 27 * 10**9), chip=CHIPS["m3-pro"])


@pytest.mark.parametrize(
    ("target", "draft", "is_foretold"),
    [("qwen3-14b", True, True), ("qwen3-14b", "copy", False), ("tiny", True, False)],
)
def test_neither_a_toy_nor_copying_is_forecast_from_published_figures(
    target: str, draft: Any, is_foretold: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(machine_module, "this_machine", lambda: MAC)
    pair, log = pair_of(target), ForecastLog()
    log.add_run(RunSeen(pair.name, "greedy", 0.0, "another", ((3, 4), (2, 3)), 1.0))
    said = foretell(pair, Settings(draft=draft), Prompt("p", "own", "Why?"), 20)
    assert (said is not None) is is_foretold
    assert bool(log.predictions()) is is_foretold


def test_the_draft_s_reading_of_the_prompt_is_in_the_forecast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(machine_module, "this_machine", lambda: MAC)
    pair, log = pair_of("qwen3-14b"), ForecastLog()
    log.add_run(RunSeen(pair.name, "greedy", 0.0, "another", ((3, 4), (2, 3)), 1.0))
    settings, prompt = Settings(max_tokens=64, lookahead=2), Prompt("p", "own", "Why?")
    said = foretell(pair, settings, prompt, 900)
    prices = prices_here(pair, MAC, 900)
    assert said is not None
    assert isinstance(prices, Prices)
    assert prices.costs is not None
    reading = CostTable(prices.costs).catch_up_seconds(901, 900)
    without = predict(pair, prices, (0.75, 2 / 3), 2, num_tokens=64).speedup
    plain = 63 * prices.model.target_seconds
    assert plain / said.speedup - plain / without == pytest.approx(reading, rel=0.2)

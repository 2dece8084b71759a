"""A demo's own forecast: none before anything is known, then said before and scored after."""

from __future__ import annotations

import math
from pathlib import Path

from mlx_specdec.cli import main
from mlx_specdec.costs import calibration
from mlx_specdec.forecast.log import ForecastLog
from tests.toyfolders import ToyFolders, read_json

import pytest

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MLX_SPECDEC_CONFIG_DIR", str(tmp_path / "config"))


def demo(toys: ToyFolders, *words: str) -> int:
    return main(
        [
            "demo",
            *toys.pair,
            "--plain",
            "--runs",
            "1",
            "--max-tokens",
            "24",
            "--lookahead",
            "2",
            *words,
        ]
    )


@pytest.mark.usefixtures("own_folders")
def test_a_forecast_needs_prices_and_another_run_and_is_then_scored(
    toys: ToyFolders, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However busy this machine is: what is measured here is good enough.
    monkeypatch.setattr(calibration, "_USABLE_SHARE", math.inf)
    assert main(["forecast", toys.target, toys.draft, "--seconds", "2"]) == 0
    assert demo(toys, "code-1") == 0
    assert "\nforecast " not in capsys.readouterr().out  # nothing ran before it
    assert demo(toys, "prose-1") == 0
    out = capsys.readouterr().out
    line = next(line for line in out.splitlines() if line.startswith("forecast     "))
    assert "x, measured " in line
    assert "1 earlier run on other prompts" in " ".join(out.split())
    assert demo(toys, "--json", "code-1") == 0
    forecast = read_json(capsys.readouterr().out)["forecast"]
    assert {"speedup", "measured", "error", "lookahead", "acceptance"} <= forecast.keys()
    log = ForecastLog()
    assert len(log.predictions()) == len(log.scores()) == 2
    assert log.scores()[1].prediction == log.predictions()[1]
    assert main(["forecast", "--history"]) == 0
    assert "2 forecasts, half of them within" in capsys.readouterr().out


@pytest.mark.usefixtures("own_folders")
def test_without_prices_nothing_is_said_and_the_run_is_remembered(
    toys: ToyFolders, capsys: Captured
) -> None:
    assert demo(toys, "--json", "code-1") == 0
    assert read_json(capsys.readouterr().out)["forecast"] is None
    assert ForecastLog().scores() == []
    assert [run.prompt for run in ForecastLog().runs()] == ["code-1"]

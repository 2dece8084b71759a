"""``mlx-specdec forecast``: published, timed on a toy clock, formats, history, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

from mlx_specdec import this_machine
from mlx_specdec.cli import main
from mlx_specdec.costs.prices_here import prices_here
from mlx_specdec.downloads.question import Machine
from mlx_specdec.forecast import here as forecast_here
from mlx_specdec.forecast import timing as forecast_timing
from mlx_specdec.forecast.log import ForecastLog
from mlx_specdec.forecast.prediction import Prediction, Score
from mlx_specdec.model_spec import ModelSpec
from tests.forecasts import pair_of
from tests.toyfolders import ToyFolders, read_json

import pytest

Captured = pytest.CaptureFixture[str]


class ToyTimer:
    """In the place of ShapeTimer: a pass costs by its model's width, and nothing is computed."""

    made: ClassVar[list[tuple[str, int, float]]] = []  # emptied by the fixture

    def __init__(
        self, spec: ModelSpec, weights: Any, num_layers: int, share: float, *_: Any
    ) -> None:
        self.spec, self.mode = spec, weights.mode
        self.made.append((spec.alias, num_layers, share))

    def seconds(self, rows: int) -> float:
        slope = 0.02 if self.mode == "mxfp4" else 1.0
        return 1e-5 * self.spec.hidden_width * (1 + slope * (rows - 1))


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MLX_SPECDEC_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path


@pytest.fixture
def toy_timer(state: Path, monkeypatch: pytest.MonkeyPatch) -> type[ToyTimer]:
    monkeypatch.setattr(ToyTimer, "made", [])
    monkeypatch.setattr(forecast_timing, "ShapeTimer", ToyTimer)
    monkeypatch.setattr(forecast_timing, "seconds_per_weight", lambda *_: 1.4e-8)
    for module in (forecast_timing, forecast_here, this_machine):
        monkeypatch.setattr(module, "backend_name", lambda: "cpu")
    for module in (forecast_timing, this_machine):
        monkeypatch.setattr(module, "memory_bytes", lambda: 24 * 2**30)
    return ToyTimer


def test_another_machine_by_its_published_figures(state: Path, capsys: Captured) -> None:
    assert main(["forecast", "qwen3-14b", "qwen3-0.6b", "--chip", "m3-pro"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "qwen3-14b + qwen3-0.6b on M3 Pro"
    assert "Worth it on M3 Pro" in out
    assert "published, not measured" in out
    assert "\x1b" not in out


def test_json_has_a_schema_and_every_part(state: Path, capsys: Captured) -> None:
    assert main(["forecast", "qwen3-14b", "--chip", "Apple M2", "--json"]) == 0
    document = read_json(capsys.readouterr().out)
    assert document["schema"] == 1
    assert (document["target"], document["draft"]) == ("qwen3-14b", "qwen3-0.6b")
    assert document["outcome"] == "not worth it"
    assert document["sentence"].startswith("Drafting is not worth it on M2")
    assert len(document["speedups"]) == 6 * 9
    assert {"acceptance", "lookahead", "speedup"} == document["speedups"][0].keys()
    assert [row["rows"] for row in document["target_passes"]] == list(range(1, 10))
    assert [row["lookahead"] for row in document["break_even_acceptance"]] == list(range(1, 9))
    assert document["measured"] == []
    assert document["assumed"]
    assert document["memory"]["total_bytes"] > 8e9


def test_here_it_times_shapes_of_both_and_writes_the_prices_down(
    toy_timer: type[ToyTimer], capsys: Captured
) -> None:
    assert main(["forecast", "qwen3-14b", "--json"]) == 0
    document = read_json(capsys.readouterr().out)
    assert document["source"] == "measured"
    assert [made[0] for made in toy_timer.made] == ["qwen3-14b", "qwen3-0.6b"]
    assert toy_timer.made[0][1] == 1  # one layer on a CPU, and of it a share
    assert toy_timer.made[0][2] < 0.05
    assert document["target_timing"]["rows_timed"] == list(range(1, 10))
    assert document["draft_pass_seconds"] == pytest.approx(0.01024)
    found = prices_here(pair_of("qwen3-14b"), this_machine.this_machine())
    assert found is not None
    assert found.source == "shapes"
    assert found.words == "layers of the right shapes, timed on this machine just now"


def test_models_that_are_here_are_measured_themselves(
    state: Path, toys: ToyFolders, capsys: Captured
) -> None:
    words = ["forecast", toys.target, toys.draft, "--seconds", "2"]
    assert main(words) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("target + draft on ")
    assert "target: passes over 1, 2" in out
    assert "the model itself; passes measured on this machine just now" in out
    assert "right shapes" not in out
    assert main([*words, "--shapes", "--json"]) == 0
    document = read_json(capsys.readouterr().out)
    assert document["target_timing"]["sample"]["num_layers"] == 1


def test_formats_are_compared_and_the_command_is_given(
    toy_timer: type[ToyTimer], capsys: Captured
) -> None:
    assert main(["forecast", "qwen3-14b", "--formats", "--json"]) == 0
    document = read_json(capsys.readouterr().out)
    modes = [(item["mode"], item["bits"], item["group_size"]) for item in document["formats"]]
    assert modes == [
        ("affine", 4, 64),
        ("affine", 4, 32),
        ("affine", 8, 64),
        ("mxfp4", 4, 32),
        ("nvfp4", 4, 16),
    ]
    assert document["convert_command"].endswith("-q --q-mode mxfp4")
    assert [made[0] for made in toy_timer.made].count(
        "qwen3-14b"
    ) == 6  # once alone, then all in turn
    assert main(["forecast", "qwen3-14b", "--formats"]) == 0
    out = capsys.readouterr().out
    assert "mlx_lm.convert --hf-path Qwen/Qwen3-14B" in out
    assert all(len(line) <= 80 for line in out.splitlines() if "mlx_lm.convert" not in line)


def test_a_cpu_that_is_too_slow_names_what_works(
    toy_timer: type[ToyTimer], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(ToyTimer, "seconds", lambda self, rows: 30.0 * rows)
    assert main(["forecast", "qwen3-14b"]) == 0
    out = capsys.readouterr().out
    assert "this CPU needs about 30 s a token" in out.replace("\n", " ")
    assert "What runs on this CPU: tiny, " in out
    assert "--chip m3-pro" in out


def test_the_plot_is_written(state: Path, capsys: Captured) -> None:
    file = state / "forecast.svg"
    assert main(["forecast", "qwen3-8b", "--chip", "m5-max", "--plot", str(file)]) == 0
    assert ElementTree.parse(file).getroot().tag.endswith("svg")


def test_history_says_what_was_predicted_and_what_came(state: Path, capsys: Captured) -> None:
    assert main(["forecast", "--history"]) == 0
    assert "No forecast has been scored yet" in capsys.readouterr().out
    said = Prediction("qwen3-14b+qwen3-0.6b", 1.77, 15.4, 0.73, 3, "measured", "", "", 1.0)
    ForecastLog().write_score(Score(said, 1.80, 1.0))
    assert main(["forecast", "--history"]) == 0
    out = capsys.readouterr().out
    assert "1.77x  1.80x    -2%" in out
    assert "One forecast, off by 2 % of what was measured." in out
    assert main(["forecast", "--history", "--json"]) == 0
    document = read_json(capsys.readouterr().out)
    assert document["schema"] == 1
    assert document["median_error"] == pytest.approx(1 - 1.77 / 1.80)
    assert main(["forecast", "qwen3-8b", "--history"]) == 0
    assert "No forecast" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "A target is missing"),
        (["qwen3-14"], "Did you mean qwen3-14b?"),
        (["qwen3-14b", "--chip", "m9"], "no published figures for 'm9'"),
        (["qwen3-14b", "--chip", "m3", "--formats"], "--chip is another machine"),
        (["someone/Unknown-7B-4bit"], "is not known before its download"),
        (["someone/Unknown-7B-4bit", "--chip", "m3"], "is not known before its download"),
        (["qwen3-14b", "--context", "0"], "--context 0 is not usable"),
        (["qwen3-14b", "--seconds", "1"], "--seconds 1 is not usable"),
        (["qwen3-14b", "--chip", "m3", "--plot", "/no/such/folder/f.svg"], "does not exist"),
    ],
)
def test_errors_say_what_to_do(state: Path, capsys: Captured, words: list[str], said: str) -> None:
    assert main(["forecast", *words]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(("core_share", "is_busy"), [(0.2, True), (1.0, False)])
def test_a_busy_machine_is_noticed_by_the_core_it_did_not_get(
    toy_timer: type[ToyTimer], core_share: float, is_busy: bool
) -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += 1.0
        return now[0]

    made = forecast_timing.time_pair(
        pair_of("qwen3-14b"),
        Machine("a CPU", 24 * 2**30, 17 * 10**9),
        512,
        60.0,
        clock=clock,
        core_clock=lambda: now[0] * core_share,
    )
    assert any("busy machine" in line for line in made.measured) is is_busy

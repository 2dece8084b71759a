"""``mlx-specdec bench`` on the built-in pair, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

from mlx_specdec.bench.plan import PLAIN, Arm
from mlx_specdec.bench.runner import EngineRunner
from mlx_specdec.cli import main
from mlx_specdec.engine import load
from mlx_specdec.events import Round
from mlx_specdec.settings import Settings

import pytest

SMALL = ["--repeats", "1", "--max-tokens", "8", "--lookaheads", "2"]


@pytest.fixture
def prompts(tmp_path: Path) -> str:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"kind": "own", "text": "What does lantern mean?"}\n' * 2)
    return str(path)


def test_json_holds_a_list_of_workloads_each_with_its_arms(
    prompts: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlx_specdec.cli.bench.CALIBRATION_SECONDS", 0.5)
    assert main(["bench", "--prompts", prompts, "--json", *SMALL]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    (workload,) = document["workloads"]
    names = [arm["name"] for arm in workload["arms"]]
    assert names == [
        *("plain", "lookahead 2", "lookahead 2, profiled"),
        *("mlx-lm plain", "mlx-lm, 4 drafted"),
    ]
    for arm in workload["arms"]:
        assert arm["metrics"]["emitted_tokens"] == 8
        assert arm["texts_equal_to_plain"] == arm["texts_compared"] == 1
    profiled = workload["arms"][2]["seconds"]
    assert profiled["draft"] > 0
    assert profiled["verify"] > 0
    assert workload["arms"][1]["seconds"]["draft"] == 0


def test_copying_is_measured_and_not_forecast(
    prompts: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlx_specdec.cli.bench.CALIBRATION_SECONDS", 0.5)
    assert main(["bench", "--draft", "copy", "--prompts", prompts, *SMALL]) == 0
    out = capsys.readouterr().out
    assert "lookahead 2" in out
    assert "drafted" not in out
    assert "Forecasts, written" not in out


def test_mlx_lm_counts_what_it_kept_as_we_do() -> None:
    """Its loop and ours see the same pair at temperature 0, so they keep the same guesses."""
    settings = Settings(max_tokens=24, seed=1, ignore_eos=True, think=False)
    with load("tiny") as engine:
        runner = EngineRunner(engine, lambda: 0.0)
        runs = [
            runner.run("Explain these words: lantern, orchard", arm, settings)
            for arm in (Arm("ours", 4), Arm("theirs", 4, "match", baseline=True))
        ]
    texts = [
        [token.token for event in run if isinstance(event, Round) for token in event.emitted]
        for run in runs
    ]
    assert texts[0] == texts[1]
    kept = [sum(e.num_accepted for e in run if isinstance(e, Round)) for run in runs]
    assert abs(kept[0] - kept[1]) <= 4  # its first pass may begin with the prefill's own token


def test_a_warm_up_of_an_arm_teaches_nothing_and_a_run_does() -> None:
    settings = Settings(max_tokens=16, seed=1, ignore_eos=True, think=False)
    with load("tiny") as engine:
        runner, costs = EngineRunner(engine, lambda: 0.0), engine.session.lookahead.costs
        before = costs.version
        for arm in (PLAIN, Arm("auto", "auto"), Arm("ours", 4), Arm("theirs", 4, baseline=True)):
            runner.warm_up("Explain these words: lantern, orchard", arm, settings)
            assert costs.version == before
        runner.run("Explain these words: lantern, orchard", Arm("ours", 4), settings)
        assert costs.version > before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kinds", "nonsense"], "no kind 'nonsense'"),
        (["--lookaheads", "0"], "no lookahead of an arm"),
        (["--lookaheads", "17"], "no lookahead of an arm"),
        (["--rules", "sideways"], "no rule 'sideways'"),
        (["--repeats", "0"], "repeats 0"),
        (["--json", "--markdown"], "two outputs"),
        (["--lookahead", "2", "--lookaheads", "3"], "two things"),
        (["--max-tokens", "-1"], "needs a limit"),
        (["--prompts", "/no/such/file"], "cannot be read"),
        (["--plot", "/no/such/folder/bench.svg"], "no folder"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_loaded(
    words: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("mlx_specdec.cli.bench.open_engine", fail)
    assert main(["bench", *words]) in (1, 2)
    assert message in capsys.readouterr().err

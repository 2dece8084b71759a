"""``mlx-specdec ledger`` without figures: the last run, or a recording, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlx_specdec.cli import main
from mlx_specdec.ledger.last_run import remember_run
from mlx_specdec.race.recording import Recording
from tests.races import GOLDEN, HEADER, golden, made_lane
from tests.toyfolders import ToyFolders

import pytest


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def ledger_json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["ledger", *words, "--json"]) == 0
    figures: dict[str, Any] = json.loads(capsys.readouterr().out)
    return figures


def test_before_anything_ran_it_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger"]) == 1
    said = capsys.readouterr().err
    assert "Nothing has run yet." in said
    assert "mlx-specdec demo" in said
    assert "--acceptance" in said


def test_the_last_run_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    remember_run(golden("fable"))
    assert main(["ledger"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("qwen3-14b + qwen3-0.6b · 4-bit · temp 0 · M3 Pro 36 GB · 2026-10-01")
    assert "WHERE THE 6.159 s WENT" in out
    assert "WHY 2.65 TOKENS A PASS IS NOT 2.65 TIMES" in out
    assert "from published figures for M3 Pro" in out
    assert "acceptance = guesses kept ÷ guesses checked (99 of 136)." in out
    assert "\x1b" not in out


def test_a_recording_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    figures = ledger_json(capsys, str(GOLDEN / "race_fable.jsonl"))
    assert figures["schema"] == 1
    assert (figures["lookahead"], figures["rounds"]) == (3, 60)
    assert sum(row["seconds"] for row in figures["time"]) == pytest.approx(figures["lane_seconds"])
    assert figures["metrics"]["accepted"] == 99
    assert round(figures["measured_speedup"], 2) == 1.80
    assert figures["waterfall"][0]["after"] == "tokens per pass"
    assert len(figures["what_if"]["speedups"]) == 6
    assert [each["lookahead"] for each in figures["break_even_acceptance"]] == [*range(1, 9)]


def test_a_reply_alone_has_no_prices_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    alone = Recording(HEADER.__class__("own", "draft"), (), made_lane([1, 2, 0], 3))
    remember_run(alone)
    figures = ledger_json(capsys)
    assert (figures["prices"], figures["what_if"], figures["waterfall"]) == (None, None, None)
    assert figures["measured_speedup"] is None
    assert main(["ledger"]) == 0
    assert "what a pass costs is not known yet" in capsys.readouterr().out


def test_a_retimed_recording_is_named_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = (GOLDEN / "race_fable.jsonl").read_text(encoding="utf-8")
    head, rest = text.split("\n", 1)
    path = tmp_path / "retimed.jsonl"
    path.write_text(json.dumps({**json.loads(head), "retimed": "m5-max"}) + "\n" + rest)
    assert main(["ledger", str(path)]) == 0
    out = capsys.readouterr().out
    assert "re-timed for m5-max, not measured" in out
    assert "published figures for M5 Max" in out


def test_what_is_no_recording_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no recording\n")
    assert main(["ledger", str(path)]) == 2
    assert "is not part of a recording" in capsys.readouterr().err
    assert main(["ledger", str(tmp_path / "missing")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_recording_and_figures_do_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ledger", "race.jsonl", "--acceptance", "0.7", "--draft-cost", "0.1"]
    assert main(words) == 2
    assert "Give either FILE or figures." in capsys.readouterr().err


def test_generate_leaves_a_run_to_look_at(
    capsys: pytest.CaptureFixture[str], toys: ToyFolders, state: Path
) -> None:
    words = ["generate", "--target", str(toys.target), "--draft", str(toys.draft)]
    assert main([*words, "--max-tokens", "12", "--temp", "0", "one two"]) == 0
    capsys.readouterr()
    figures = ledger_json(capsys)
    assert figures["metrics"]["emitted_tokens"] == 12
    assert figures["target"] == str(toys.target)
    kept = (state / "mlx-specdec" / "last-run.jsonl").read_text(encoding="utf-8")
    assert '"prompt": ""' in kept

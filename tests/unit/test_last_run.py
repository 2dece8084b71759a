"""The last run: kept without its words, read again, and never in the way."""

from __future__ import annotations

import json
from pathlib import Path

from mlx_specdec.ledger.last_run import last_run_file, read_last_run, remember_run
from mlx_specdec.metrics import fold
from mlx_specdec.race.recording import Recording
from tests.races import HEADER, golden, made_lane

import pytest


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def test_a_run_is_kept_with_all_its_figures() -> None:
    race = golden("fable")
    remember_run(race)
    kept = read_last_run()
    assert kept is not None
    assert fold(kept.speculative) == fold(race.speculative)
    assert fold(kept.standard) == fold(race.standard)
    assert kept.header.target == "qwen3-14b"


def test_no_word_of_it_is_kept() -> None:
    remember_run(golden("fable"))
    text = last_run_file().read_text(encoding="utf-8")
    assert "sky" not in text
    assert "Sunlight" not in text
    for line in text.splitlines()[1:]:
        event = json.loads(line)
        assert not any(each["text"] for each in event.get("emitted", ()))
        assert not any(each["text"] for each in event.get("proposed", ()))


def test_the_next_run_takes_its_place(state: Path) -> None:
    remember_run(golden("fable"))
    remember_run(Recording(HEADER, (), made_lane([1, 2], 3)))
    kept = read_last_run()
    assert kept is not None
    assert kept.standard == ()
    assert fold(kept.speculative).accepted == 3
    assert [path.name for path in (state / "mlx-specdec").iterdir()] == ["last-run.jsonl"]


def test_a_run_without_a_pass_is_not_kept() -> None:
    remember_run(Recording(HEADER, (), made_lane([], 3)))
    assert read_last_run() is None


def test_a_damaged_file_is_no_run(state: Path) -> None:
    remember_run(golden("fable"))
    last_run_file().write_text("{", encoding="utf-8")
    assert read_last_run() is None


def test_a_disk_that_takes_no_file_disturbs_nobody(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = state / "blocked"
    blocked.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(blocked))
    remember_run(golden("fable"))
    assert read_last_run() is None

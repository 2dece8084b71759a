"""What the app leaves behind for the ledger command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mlx_specdec.ledger.last_run import read_last_run
from mlx_specdec.metrics import fold
from mlx_specdec.model_spec import ModelSpec, PairSpec
from tests.races import golden, made_lane
from tui.remembering import remember_last
from tui.state import AppState

import pytest

PAIR = PairSpec(ModelSpec(alias="qwen3-14b", bits=4), ModelSpec(alias="qwen3-0.6b", bits=4))


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_a_race_is_left_with_both_lanes() -> None:
    remember_last(AppState(pair=PAIR, recording=golden("fable"), replies=[made_lane([1], 3)]))
    kept = read_last_run()
    assert kept is not None
    assert fold(kept.standard).emitted_tokens == fold(kept.speculative).emitted_tokens == 160


def test_without_a_race_it_is_the_last_reply() -> None:
    replies = [made_lane([3, 3], 3), made_lane([1, 0], 3), ()]
    remember_last(AppState(pair=PAIR, machine="M3 Pro 36 GB", replies=list(replies)))
    kept = read_last_run()
    assert kept is not None
    assert fold(kept.speculative).accepted == 1
    assert (kept.header.target, kept.header.machine) == ("qwen3-14b", "M3 Pro 36 GB")


def test_what_was_only_watched_is_not_a_run() -> None:
    race = golden("fable")
    remember_last(AppState(recording=race), is_replay=True)
    remember_last(AppState(recording=replace(race, header=replace(race.header, retimed="m2"))))
    remember_last(AppState())
    assert read_last_run() is None

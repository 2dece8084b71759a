"""``demo --card`` and ``--moving-card``: of a recording without a model, and of a race here."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from mlx_specdec.cli import main
from mlx_specdec.ledger.last_run import read_last_run
from tests.races import GOLDEN
from tests.toyfolders import ToyFolders

import pytest

FABLE = str(GOLDEN / "race_fable.jsonl")


def test_both_cards_of_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    card, moving = tmp_path / "race.svg", tmp_path / "new" / "moving.svg"
    words = ["demo", "--replay", FABLE, "--card", str(card), "--moving-card", str(moving)]
    assert main(words) == 0
    assert "15.4 -> 27.7 tok/s" in capsys.readouterr().out
    for path in (card, moving):
        text = path.read_text(encoding="utf-8")
        ElementTree.fromstring(text)
        assert "160 of 160 tokens equal" in text


def test_a_card_on_another_clock_says_so(tmp_path: Path) -> None:
    card = tmp_path / "race.svg"
    assert main(["demo", "--replay", FABLE, "--clock", "m5-max", "--card", str(card)]) == 0
    text = card.read_text(encoding="utf-8")
    assert text.count("not measured") >= 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--replay", FABLE, "--card", "race.png"], "--card race.png is no SVG file."),
        (["--replay", FABLE, "--moving-card", "x"], "--moving-card x is no SVG file."),
        (["--loop", "--card", "race.svg"], "--card cannot be honoured"),
        (["--loop", "--moving-card", "race.svg"], "--moving-card cannot be honoured"),
    ],
)
def test_what_cannot_be_honoured_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_place_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert main(["demo", "--replay", FABLE, "--card", str(file / "race.svg")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_a_race_here_leaves_a_card_and_a_run(
    tmp_path: Path, toys: ToyFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    card = tmp_path / "race.svg"
    words = ["demo", "one two", "--target", toys.target, "--draft", toys.draft]
    assert main([*words, "--max-tokens", "12", "--runs", "1", "--card", str(card)]) == 0
    text = card.read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert "12 tokens" in text
    kept = read_last_run()
    assert kept is not None
    assert kept.standard
    assert kept.header.prompt == ""

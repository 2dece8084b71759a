"""What is shared of a race: the line, its honesty rules, and the files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from mlx_specdec.cards.share import card_words, save_share, why_no_words, write_text
from mlx_specdec.errors import SpecdecError
from mlx_specdec.figures import pair_label
from mlx_specdec.prompts import Prompt
from mlx_specdec.race.header import header_names, race_header, share_name
from mlx_specdec.race.recording import Recording, RecordingHeader
from mlx_specdec.registry import Registry
from mlx_specdec.settings import Settings
from tests.races import golden, made_lane

import pytest


def test_the_line_of_the_drawing() -> None:
    assert card_words(golden("fable")) == (
        "Qwen3-14B-4bit + 0.6B, M3 Pro 36 GB: 15.4 -> 27.7 tok/s (1.80x), 160/160 tokens "
        "equal, 2.65 a pass, temp 0, prompt explain-2, 1 run, mains, mlx 0.32.4"
    )
    assert ", median of 3 runs, " in card_words(golden("fable"), runs=3)


def test_the_line_names_the_pair_as_the_demo_does() -> None:
    pair = Registry.load().resolve_pair("qwen3-14b")
    header = race_header(pair, Settings(), Prompt("p", "own", "Why?"))
    assert share_name(header) == pair_label(pair) == "Qwen3-14B-4bit + 0.6B"
    race = replace(golden("fable"), header=replace(header, machine="M3"))
    assert card_words(race).startswith("Qwen3-14B-4bit + 0.6B, M3: ")


def test_models_that_are_not_known_here_are_named_without_their_folders() -> None:
    header = RecordingHeader("/models/mine/", "/models/small")
    assert share_name(header) == header_names(header) == "mine + small"
    assert share_name(replace(header, is_toy=True)) == "toy pair mine + small"


def test_different_and_parked_stand_in_the_line() -> None:
    assert "different from token 135 (gap 0.02)" in card_words(golden("different"))
    assert "equal" not in card_words(golden("different"))
    assert "(1.00x), 160/160 tokens equal, drafting parked" in card_words(golden("parked"))


def test_a_temperature_names_its_rule_and_a_toy_says_so() -> None:
    race = golden("tiny")
    long = Recording(race.header, made_lane([0] * 120, 0), made_lane([1] * 60, 3))
    words = card_words(long)
    assert words.startswith("toy pair tiny")
    assert "temp 0.7, rule coupled" in words


@pytest.mark.parametrize(
    ("race", "rate", "why"),
    [
        (golden("tiny"), 1.0, "it takes an answer of at least 100 tokens"),
        (golden("fable"), 0.5, "from a replay at another speed"),
        (
            replace(golden("fable"), header=replace(golden("fable").header, retimed="m2")),
            1.0,
            "re-timed, not measured",
        ),
        (Recording(golden("fable").header), 1.0, "at least 100 tokens"),
        (
            replace(golden("fable"), standard=golden("fable").standard[:90]),
            1.0,
            "at least 100 tokens",
        ),
    ],
)
def test_no_line_where_it_would_not_hold(race: Recording, rate: float, why: str) -> None:
    assert card_words(race, rate) == ""
    assert why in why_no_words(race, rate)


def test_a_line_has_no_reason_against_it() -> None:
    assert why_no_words(golden("fable")) == ""


def test_both_cards_are_written_and_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    first = save_share(golden("fable"), folder)
    second = save_share(golden("fable"), folder)
    assert first.card.name == "race-qwen3-14b-explain-2-2026-10-01.svg"
    assert first.moving_card.name == "race-qwen3-14b-explain-2-2026-10-01-moving.svg"
    assert second.card.name == "race-qwen3-14b-explain-2-2026-10-01-2.svg"
    assert len(set(first.paths) | set(second.paths)) == len(list(folder.iterdir())) == 4
    for path in folder.iterdir():
        ElementTree.parse(path)
    assert first.words == card_words(golden("fable"))
    assert first.why_not == ""


def test_a_name_of_odd_characters_stays_in_its_folder(tmp_path: Path) -> None:
    race = golden("fable")
    odd = replace(race, header=replace(race.header, target="../../etc/ x\n", prompt_id="", date=""))
    assert save_share(odd, tmp_path).card.parent == tmp_path
    empty = replace(race, header=replace(race.header, target="", prompt_id="", date=""))
    assert save_share(empty, tmp_path).card.name == "race.svg"


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(SpecdecError, match=r"cannot be written.*Name another place"):
        save_share(golden("fable"), file)
    with pytest.raises(SpecdecError, match="cannot be written"):
        write_text(tmp_path, "x")

"""``--draft copy`` on the command line: no second model, the same words, and what it is called."""

from __future__ import annotations

import io
from pathlib import Path

from mlx_specdec.cli import main
from mlx_specdec.figures import pair_label, pair_names
from mlx_specdec.last_pair import draft_name, read_last_pair, remember_pair
from mlx_specdec.prompts import edit_prompt
from mlx_specdec.race.header import race_header, share_name
from mlx_specdec.race.recorded_prices import names_in
from mlx_specdec.race.recording import read_recording_file
from mlx_specdec.registry import Registry
from mlx_specdec.settings import Settings
from tests.toyfolders import ToyFolders, read_json

import pytest

REPEATED = "one two three four one two three four one two three four one two"


def copying(toys: ToyFolders) -> tuple[str, ...]:
    return "--target", toys.target, "--draft", "copy"


def test_generate_copies_with_the_target_alone(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--json", "--max-tokens", "40", "--lookahead", "4", REPEATED)
    assert main(["generate", *copying(toys), *words]) == 0
    copied = read_json(capsys.readouterr().out)
    assert main(["generate", "--target", toys.target, "--draft", "none", *words]) == 0
    alone = read_json(capsys.readouterr().out)
    assert copied["tokens"] == alone["tokens"]
    assert copied["metrics"]["proposed"] > 0
    assert copied["models"]["draft"] == {"name": "copy"}
    assert alone["models"]["draft"] is None


def test_a_demo_calls_it_copy_from_the_first_line_to_the_last(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / "race.jsonl"
    words = ("--runs", "1", "--lookahead", "3", "--max-tokens", "110", "--record", str(kept))
    assert main(["demo", "--plain", *copying(toys), *words, REPEATED]) == 0
    out = capsys.readouterr().out
    assert "110 of 110 tokens identical" in out
    assert out.splitlines()[-1].startswith("target + copy, ")
    header = read_recording_file(kept).header
    assert (header.draft, header.draft_size) == ("copy", "")
    assert main(["ledger"]) == 0
    assert "+ copy" in capsys.readouterr().out


def test_without_a_prompt_a_demo_copies_on_an_edit(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--json", "--runs", "1", "--lookahead", "3", "--max-tokens", "20")
    assert main(["demo", *copying(toys), *words]) == 0
    assert read_json(capsys.readouterr().out)["prompt"]["id"] == "edit-1"


def test_a_chat_can_change_to_copying_and_back(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = f"/draft copy\n/lookahead 3\n{REPEATED}\n/stats\n/draft off\n/draft on\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    where = ("--target", toys.target, "--draft", "none", "--no-save")
    assert main(["chat", *where, "--temp", "0", "--max-tokens", "30", "-q"]) == 0
    err = capsys.readouterr().err
    place = 0
    for text in (
        "Guesses are copied from the text from the next reply on.",
        "accepted ",
        "lookahead 3, copying, temperature 0",
        "Drafting is off",
        "No draft is loaded",
    ):
        place = err.index(text, place) + len(text)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["audit", "--target", "tiny", "--draft", "copy"], 2, "a copy has none"),
        (["forecast", "qwen3-14b", "copy", "--chip", "m3-pro"], 2, "depends on the text alone"),
    ],
)
def test_what_does_not_apply_to_copying_says_so(
    words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == code
    assert said in capsys.readouterr().err


def test_names_that_a_copying_pair_goes_by(own_config: Path) -> None:
    pair = Registry.load().resolve_pair("qwen3-14b+copy")
    assert (pair.name, pair.specs) == ("qwen3-14b+copy", (pair.target,))
    assert pair_names(pair) == "qwen3-14b + copy"
    assert pair_label(pair) == "Qwen3-14B-4bit + copy"
    assert pair_label(Registry.load().resolve_pair("tiny", "copy")) == "toy tiny + copy"
    assert draft_name(pair) == "copy"
    remember_pair(pair)
    assert read_last_pair() == ("qwen3-14b", "copy")


def test_a_race_that_copied_beside_a_draft_is_named_after_what_it_did() -> None:
    pair = Registry.load().resolve_pair("qwen3-14b")
    header = race_header(pair, Settings(draft="copy"), edit_prompt(False))
    assert header.draft == "copy"
    assert share_name(header) == "Qwen3-14B-4bit + copy"
    assert names_in(header).draft == "copying"

"""``mlx-specdec chat``: line by line, in a pipe and on a terminal."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

from mlx_specdec.cli import main
from mlx_specdec.cli.interrupts import Interrupts
from tests.terminals import CTRL_C, CTRL_D, TerminalRun
from tests.toyfolders import ToyFolders

import pytest

pytestmark = pytest.mark.usefixtures("own_config")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    lines = io.StringIO()
    monkeypatch.setattr(sys, "stdin", lines)
    return lines


def chat(typed: io.StringIO, lines: str, *words: str) -> int:
    typed.write(lines)
    typed.seek(0)
    return main(["chat", *words])


def test_piped_lines_are_answered_one_by_one(
    toys: ToyFolders, typed: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chat(typed, "hello\n\nand you?\n/stats\n", *toys.pair, "--max-tokens", "12") == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("[stopped at --max-tokens 12]\n" * 2)
    assert "2 replies, 24 tokens" in captured.err
    assert "›" not in captured.out
    assert "\x1b" not in captured.out + captured.err


def test_the_commands(
    toys: ToyFolders, typed: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (
        "/stats\n/draft off\n/draft maybe\nhello\n/stats\n/draft on\n/temp 0.5\n/temp x\n/temp -1\n"
        "/system Be brief.\n/system\n/clear\n/stats\n/nonsense\n/help\n/quit\nnever read\n"
    )
    assert chat(typed, lines, *toys.pair, "--max-tokens", "8", "-q") == 0
    err = capsys.readouterr().err
    said = (
        "Nothing was said yet.",
        "Drafting is off",
        "Say /draft on or /draft off.",
        "1 reply, 8 tokens",
        "not drafting; lookahead 3, drafting off",
        "Drafting is on",
        "The temperature is 0.5",
        "Say a number",
        "temperature -1.0 is out of range",
        "Set from the next reply on.",
        "No system prompt any more.",
        "The conversation is forgotten.",
        "Nothing was said yet.",
        "There is no /nonsense",
        "/clear           forget the conversation",
    )
    place = 0
    for text in said:
        place = err.index(text, place) + len(text)


def test_without_a_draft_it_cannot_be_switched_on(
    toys: ToyFolders, typed: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chat(typed, "/draft on\n", "--target", toys.target, "--draft", "none") == 0
    assert "No draft is loaded" in capsys.readouterr().err


def test_a_line_that_ends_in_a_backslash_goes_on(
    toys: ToyFolders, typed: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chat(typed, "one\\\ntwo\n/stats\n", *toys.pair, "--max-tokens", "3") == 0
    assert "1 reply, 3 tokens" in capsys.readouterr().err


def test_a_full_context_is_said_and_the_chat_lives_on(
    toys: ToyFolders, typed: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = f"{'word ' * 60}\n/clear\nhello\n/stats\n"
    words = ("--target", toys.short, "--draft", "none", "--max-tokens", "4")
    assert chat(typed, lines, *words) == 0
    err = capsys.readouterr().err
    assert err.index("The context is full: ") < err.index("1 reply, 4 tokens")


def test_a_draft_that_cannot_be_used_ends_the_chat_before_it_begins(
    toys: ToyFolders, typed: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    """E6: never silently plain."""
    assert chat(typed, "hello\n", "--target", toys.target, "--draft", toys.unknown) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("The draft cannot be loaded: No draft: ")
    assert "nobody-knows" in captured.err
    assert captured.err.count("\n") == 1


def test_thinking_cut_short_is_said(
    toys: ToyFolders, typed: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    """G8: a blank answer, because the limit fell into the thinking."""
    words = ("--target", toys.thinker, "--draft", "none", "--max-tokens", "16")
    assert chat(typed, "hello\n", *words) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("<think>\n")
    assert "[stopped while thinking (limit 16)" in captured.err


def test_without_a_name_and_without_a_model_it_says_what_to_fetch(
    typed: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chat(typed, "hello\n") == 1
    err = capsys.readouterr().err
    assert "There is no model on this disk" in err
    assert "mlx-specdec chat --target qwen3-" in err


def test_without_a_name_the_largest_on_disk_is_taken_and_then_the_last(
    toys: ToyFolders, typed: io.StringIO, capsys: pytest.CaptureFixture[str], own_config: Path
) -> None:
    models = {"small": toys.draft, "large": toys.target}
    tables = [f"[models.{name}]\npath = {json.dumps(path)}\n" for name, path in models.items()]
    tables[1] += 'default_draft = "small"\n'
    (own_config / "models.toml").write_text("\n".join(tables), encoding="utf-8")
    assert chat(typed, "/draft on\n", "-v") == 0
    assert "target + draft: the best on this disk" in capsys.readouterr().err
    kept = json.loads((own_config / "last-pair.json").read_text(encoding="utf-8"))
    assert kept["target"].endswith("target")

    assert chat(typed, "", "--target", toys.short, "--draft", "none") == 0
    capsys.readouterr()
    assert chat(typed, "/draft on\n", "-v") == 0
    err = capsys.readouterr().err
    assert "short: the pair used last" in err
    assert "No draft is loaded" in err


def test_the_toy_is_not_remembered(
    typed: io.StringIO, own_config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mlx_specdec.last_pair import read_last_pair, remember_pair
    from mlx_specdec.registry import Registry

    remember_pair(Registry.load().resolve_pair("tiny"))
    assert read_last_pair() is None
    (own_config / "last-pair.json").write_text("{", encoding="utf-8")
    assert read_last_pair() is None


def test_a_second_ctrl_c_within_two_seconds_quits() -> None:
    now = 0.0
    presses = Interrupts(lambda: now)
    assert not presses.is_second()
    now = 2.5
    assert not presses.is_second()
    now = 4.5
    assert presses.is_second()


def test_ctrl_c_stops_the_reply_and_keeps_the_chat(toys: ToyFolders, own_config: Path) -> None:
    """H7: Ctrl-C ended the whole chat."""
    with TerminalRun("chat", *toys.pair, "--max-tokens", "-1", "--temp", "0") as run:
        run.wait_for("/help shows the commands")
        run.wait_for("› ")
        run.press("hello\n")
        run.wait_for("hello\n")
        run.wait_for_output()
        run.press(CTRL_C)
        run.wait_for("[stopped]")
        run.wait_for("› ")
        run.press("/stats\n")
        run.wait_for("1 reply, ")
        run.wait_for("› ")
        run.press(CTRL_D)
        assert run.exit_code() == 0
        assert "Traceback" not in run.shown


def test_two_ctrl_c_quit_even_from_a_reply(toys: ToyFolders, own_config: Path) -> None:
    with TerminalRun("chat", *toys.pair, "--max-tokens", "-1", "--temp", "0") as run:
        run.wait_for("› ")
        run.press("hello\n")
        run.wait_for("hello\n")
        run.wait_for_output()
        run.press(CTRL_C)
        run.wait_for("[stopped]")
        run.wait_for("› ")
        assert run.press_to_the_end(CTRL_C) == 130

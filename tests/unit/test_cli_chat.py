"""``mlx-specdec chat``: line by line, in a pipe and on a terminal."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

from mlx_specdec.chat.store import ChatStore
from mlx_specdec.cli import main
from mlx_specdec.cli.interrupts import Interrupts
from mlx_specdec.safe_text import safe_text
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
        "Say /draft on, /draft off or /draft copy.",
        "1 reply, 8 tokens",
        "not drafting; lookahead auto, drafting off",
        "Drafting is on",
        "The temperature is 0.5",
        "Say a number",
        "temperature -1.0 is out of range",
        "Set from the next reply on.",
        "No system prompt any more.",
        "The conversation is forgotten.",
        "Nothing was said yet.",
        "There is no /nonsense",
        "/clear             forget the conversation",
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
    with TerminalRun("chat", "--plain", *toys.pair, "--max-tokens", "-1", "--temp", "0") as run:
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
    with TerminalRun("chat", "--plain", *toys.pair, "--max-tokens", "-1", "--temp", "0") as run:
        run.wait_for("› ")
        run.press("hello\n")
        run.wait_for("hello\n")
        run.wait_for_output()
        run.press(CTRL_C)
        run.wait_for("[stopped]")
        run.wait_for("› ")
        assert run.press_to_the_end(CTRL_C) == 130


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChatStore:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return ChatStore()


def test_a_chat_is_kept_and_goes_on(
    toys: ToyFolders, typed: io.StringIO, capsys: pytest.CaptureFixture[str], kept: ChatStore
) -> None:
    lines = "/system Be brief.\n/temp 0.5\nhello there\nand you?\n"
    assert chat(typed, lines, *toys.pair, "--max-tokens", "6") == 0
    first = kept.read("hello-there")
    assert [turn.role for turn in first.turns] == ["user", "assistant"] * 2
    assert first.turns[1].tokens == 6
    assert safe_text(first.turns[1].text) in capsys.readouterr().out
    assert (first.header.system, first.header.settings["temperature"]) == ("Be brief.", 0.5)

    typed.seek(0)
    typed.truncate()
    assert chat(typed, "more\n/stats\n", "--continue", "-v", "--max-tokens", "4") == 0
    err = capsys.readouterr().err
    assert "going on with hello-there, 4 messages" in err
    assert "temperature 0.5" in err
    later = kept.read("hello-there")
    assert later.turns[:4] == first.turns
    assert later.turns[4].text == "more"
    assert later.header.target == toys.target


def test_resume_by_name_and_its_nearest(
    toys: ToyFolders, typed: io.StringIO, capsys: pytest.CaptureFixture[str], kept: ChatStore
) -> None:
    assert chat(typed, "sky\n", *toys.pair, "--max-tokens", "3") == 0
    typed.seek(0)
    typed.truncate()
    assert chat(typed, "sea\n", "--resume", "sky", "--max-tokens", "3") == 0
    assert [turn.text for turn in kept.read("sky").turns][::2] == ["sky", "sea"]
    capsys.readouterr()
    assert chat(typed, "", "--resume", "skyy") == 2
    assert "Did you mean sky? Kept: sky." in capsys.readouterr().err


def test_no_save_keeps_nothing(
    toys: ToyFolders, typed: io.StringIO, capsys: pytest.CaptureFixture[str], kept: ChatStore
) -> None:
    assert chat(typed, "hello\n", *toys.pair, "--max-tokens", "3", "--no-save") == 0
    assert kept.names() == []
    assert chat(typed, "", *toys.pair, "--continue") == 2
    assert "There is no chat to go on with." in capsys.readouterr().err


def test_a_failing_reply_is_kept_as_far_as_it_came(
    toys: ToyFolders, typed: io.StringIO, kept: ChatStore
) -> None:
    lines = f"hello\n{'word ' * 60}\n"
    assert chat(typed, lines, "--target", toys.short, "--draft", "none", "--max-tokens", "4") == 0
    assert [turn.text for turn in kept.read("hello").turns][::2] == ["hello"]


def test_a_wrong_command_gets_the_nearest_one(
    toys: ToyFolders, typed: io.StringIO, capsys: pytest.CaptureFixture[str], kept: ChatStore
) -> None:
    assert chat(typed, "/sytem x\n/lookahead 2\n", *toys.pair) == 0
    err = capsys.readouterr().err
    assert "Did you mean /system?" in err
    assert "The lookahead is 2 from the next reply on." in err
    assert kept.names() == []


def test_on_a_terminal_the_app_opens_answers_and_leaves_nothing_behind(
    toys: ToyFolders, own_config: Path, kept: ChatStore
) -> None:
    """H6: quitting did not end the process, or left the terminal as it was in the app."""
    with TerminalRun("chat", *toys.pair, "--max-tokens", "8", "--temp", "0") as run:
        run.wait_for("answers, ")
        run.press("hello\r")
        run.wait_for("kept in hello.jsonl")
        run.wait_for("--max-tokens 8")
        run.press(CTRL_D)
        assert run.exit_code() == 0
        assert "\x1b[?1049l" in run.shown  # the screen from before is back
        assert "Traceback" not in run.shown
    turns = kept.read("hello").turns
    assert [turn.role for turn in turns] == ["user", "assistant"]
    assert turns[1].tokens == 8

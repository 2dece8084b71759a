"""The chat's commands as words: parsed, completed, turned into settings."""

from __future__ import annotations

from mlx_specdec.chat.commands import (
    COMMANDS,
    changed_settings,
    completions,
    drafting_words,
    parse_command,
)
from mlx_specdec.chat.settings import kept_settings, resumed_settings
from mlx_specdec.errors import SpecdecError, UsageError
from mlx_specdec.request import SamplingParams
from mlx_specdec.settings import Settings

import pytest


@pytest.mark.parametrize(
    ("line", "name", "argument"),
    [
        ("/help", "/help", ""),
        ("/temp 0.5", "/temp", "0.5"),
        ("/system  Be brief. And kind. ", "/system", "Be brief. And kind."),
        ("/QUIT", "/quit", ""),
        ("/exit", "/quit", ""),
        ("/q", "/quit", ""),
        ("/?", "/help", ""),
    ],
)
def test_a_command_and_its_argument(line: str, name: str, argument: str) -> None:
    parsed = parse_command(line)
    assert parsed is not None
    assert (parsed[0].name, parsed[1]) == (name, argument)


@pytest.mark.parametrize(
    "line", ["hello", " /help", "/usr/bin", "/no_think please", "/help\nand more", ""]
)
def test_words_for_the_model(line: str) -> None:
    assert parse_command(line) is None


@pytest.mark.parametrize(
    ("line", "hint"),
    [("/tmep 1", "Did you mean /temp?"), ("/clea", "Did you mean /clear?"), ("/xyzzy", "/help")],
)
def test_a_wrong_command_gets_the_nearest_one(line: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_command(line)
    assert hint in caught.value.hint
    assert "Nothing was sent" in caught.value.hint


def test_completion_of_names_and_arguments() -> None:
    assert [line.strip() for line, _ in completions("/")] == list(COMMANDS)
    assert [line for line, _ in completions("/te")] == ["/temp "]
    assert [line for line, _ in completions("/c")] == ["/clear"]
    assert completions("/clear") == []
    assert [line for line, _ in completions("/draft o")] == ["/draft on", "/draft off"]
    assert [line for line, _ in completions("/draft c")] == ["/draft copy"]
    assert completions("/draft on") == []
    chats = ["sky", "sand", "merge"]
    assert [line for line, _ in completions("/resume s", chats)] == ["/resume sky", "/resume sand"]
    assert completions("hello") == completions("") == completions("/a\nb") == []


def test_settings_that_commands_change() -> None:
    settings = Settings()
    assert not changed_settings("/draft", "off", settings, True)[0].draft
    assert changed_settings("/temp", "0,7", settings, True)[0].sampling.temperature == 0.7
    assert changed_settings("/lookahead", "5", settings, True)[0].lookahead == 5
    changed, words = changed_settings("/lookahead", "0", settings, True)
    assert (changed.lookahead, words) == (0, "Not drafting from the next reply on.")


@pytest.mark.parametrize("has_draft", [False, True])
def test_copying_needs_no_draft_and_can_be_left(has_draft: bool) -> None:
    copying = changed_settings("/draft", "copy", Settings(), has_draft)[0]
    assert copying.draft == "copy"
    assert drafting_words(copying, has_draft) == "copying"
    left = changed_settings("/draft", "off", copying, has_draft)[0]
    assert left.draft is False
    assert drafting_words(left, has_draft) == "drafting off"
    if not has_draft:
        with pytest.raises(SpecdecError, match="No draft is loaded"):
            changed_settings("/draft", "on", copying, has_draft)
    assert resumed_settings(Settings(), kept_settings(copying)).draft == "copy"
    assert resumed_settings(Settings(), {"draft": "cpoy"}).draft is True


@pytest.mark.parametrize(
    ("name", "argument"),
    [("/draft", ""), ("/temp", "x"), ("/temp", "-1"), ("/lookahead", "x"), ("/lookahead", "17")],
)
def test_arguments_that_make_no_sense(name: str, argument: str) -> None:
    with pytest.raises(SpecdecError):
        changed_settings(name, argument, Settings(), True)


def test_settings_are_kept_and_come_back() -> None:
    settings = Settings(
        sampling=SamplingParams(temperature=0.6, top_p=0.9), lookahead=5, draft=False, think=True
    )
    kept = kept_settings(settings)
    assert kept["top_p"] == 0.9
    assert "top_k" not in kept
    assert resumed_settings(Settings(), kept) == settings


def test_a_kept_value_that_makes_no_sense_any_more_is_left_out() -> None:
    kept = {"temperature": "hot", "lookahead": 99, "gone": 1, "draft": False, "top_p": 0.5}
    settings = resumed_settings(Settings(), kept)
    assert settings == Settings(sampling=SamplingParams(top_p=0.5), draft=False)

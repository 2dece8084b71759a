"""The chat's commands: each does what it says, a wrong one sends nothing."""

from __future__ import annotations

from pathlib import Path

from mlx_specdec.chat.store import ChatStore
from tests.tui.chat_fakes import (
    PAIR,
    ChatHost,
    chat_state,
    finished,
    reply_events,
    say,
    screen_text,
)
from tests.tui.test_chat_keys import asked, field, play
from tui.chat.opening import ChatOpening
from tui.widgets.chat_input import CompletionList

import pytest
from textual.pilot import Pilot


@pytest.fixture
def store(tmp_path: Path) -> ChatStore:
    return ChatStore(tmp_path)


@pytest.mark.parametrize(
    ("line", "words", "name", "value"),
    [
        ("/draft off", "Drafting is off", "draft", False),
        ("/draft on", "Drafting is on", "draft", True),
        ("/lookahead 5", "The lookahead is 5", "lookahead", 5),
        ("/lookahead 0", "Not drafting", "lookahead", 0),
    ],
)
def test_settings_hold_from_the_next_reply_on(
    line: str, words: str, name: str, value: object
) -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, line)
        assert words in screen_text(host)
        assert asked(host) == []
        await say(pilot, host, "hello")
        assert getattr(host.fake.asked[-1][1], name) == value

    play(steps)


def test_temp() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "/temp 0.5")
        await say(pilot, host, "hello")
        assert host.fake.asked[-1][1].sampling.temperature == 0.5
        assert "temp 0.5" in screen_text(host)

    play(steps)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/temq 1", "Did you mean /temp?"),
        ("/temp warm", "Say a number"),
        ("/temp -1", "out of range"),
        ("/draft maybe", "Say /draft on, /draft off or /draft copy."),
        ("/lookahead many", "Say a number from 0 to 16, or auto"),
        ("/lookahead 99", "out of range"),
        ("/nonsense", "/help shows what there is"),
        ("/resume nobody", "There is no chat called 'nobody'"),
    ],
)
def test_a_wrong_command_sends_nothing_and_says_what_is_right(
    line: str, words: str, store: ChatStore
) -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, line)
        assert words in host.said[-1]
        assert asked(host) == []

    play(steps, ChatHost(store))


def test_without_a_draft_it_cannot_be_switched_on() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "/draft on")
        assert "No draft is loaded" in host.said[-1]

    alone = chat_state(pair=type(PAIR)(PAIR.target, None))
    play(steps, ChatHost(state=alone))


@pytest.mark.parametrize("line", [" /temp 1", "/usr/bin is what", "/think hard"])
def test_what_only_looks_like_a_command_is_sent(line: str) -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        field(host).put(line)
        await pilot.press("escape", "escape", "enter")
        assert asked(host) == [line.strip()]

    play(steps)


def test_system() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "/system Be brief.")
        assert host.fake.conversation.system == "Be brief."
        assert "holds from the next reply on" in screen_text(host)
        field(host).put("/system")
        await pilot.press("enter")
        await pilot.pause()
        assert host.fake.conversation.system == ""

    play(steps)


def test_clear_forgets_the_conversation_and_its_figures(store: ChatStore) -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("Hi."), finished())
        host.fake.conversation.say("user", "hello")
        await say(pilot, host, "/clear")
        assert host.fake.conversation.messages == []
        assert host.state.replies == []
        assert "Hi." not in screen_text(host)

    play(steps, ChatHost(store))
    assert store.read("hello").turns == ()


def test_help_shows_commands_and_keys() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "/help")
        shown = screen_text(host)
        for words in ("/lookahead N|auto", "/quit", "ctrl+j", "token by token"):
            assert words in shown

    play(steps, size=(120, 36))


def test_quit_ends_the_app() -> None:
    """H8: a typed command for those whose terminal takes the keys."""

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "/quit")
        assert host._exit

    play(steps)


def test_resume_brings_a_chat_back(store: ChatStore) -> None:
    async def first(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "/temp 0.3")
        await say(pilot, host, "sky", *reply_events("It is blue."), finished())
        await say(pilot, host, "why", *reply_events("Light scatters."), finished("cancelled"))

    async def second(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("Hi."), finished())
        await say(pilot, host, "/resume sky")
        shown = screen_text(host)
        for words in ("It is blue.", "Light scatters.", "stopped", "kept in sky.jsonl"):
            assert words in shown
        assert "Hi." not in shown
        said = [(message.role, message.content) for message in host.fake.conversation.messages]
        assert said == [
            ("user", "sky"),
            ("assistant", "It is blue."),
            ("user", "why"),
            ("assistant", "Light scatters."),
        ]
        assert host.state.settings.sampling.temperature == 0.3
        await say(pilot, host, "and now", *reply_events("More."), finished())

    play(first, ChatHost(store))
    play(second, ChatHost(store))
    assert [turn.text for turn in store.read("sky").turns][-2:] == ["and now", "More."]
    assert [turn.text for turn in store.read("hello").turns] == ["hello", "Hi."]


def test_resume_alone_lists_what_is_kept(store: ChatStore) -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "sky", *reply_events("Blue."), finished())
        field(host).put("/resume ")
        await pilot.press("enter")
        await pilot.pause()
        assert "goes on with one of: sky" in screen_text(host)

    play(steps, ChatHost(store))


def test_a_chat_that_begins_resumed_shows_it_and_what_was_not_answered(store: ChatStore) -> None:
    async def first(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "sky", *reply_events("Blue."), finished())
        await say(pilot, host, "lost question")

    async def second(host: ChatHost, pilot: Pilot[None]) -> None:
        assert "Blue." in screen_text(host)
        assert field(host).text == "lost question"
        assert [message.content for message in host.fake.conversation.messages] == ["sky", "Blue."]

    play(first, ChatHost(store))
    opening = ChatOpening(store, resumed=store.read("sky"))
    play(second, ChatHost(store, opening=opening))


def test_tab_and_arrows_complete_a_command(store: ChatStore) -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        listed = host.chat.query_one(CompletionList)
        await pilot.press("slash")
        assert "/lookahead" in screen_text(host)
        await pilot.press("down", "down", "tab")
        assert field(host).text == "/draft "
        await pilot.press("tab")
        assert field(host).text == "/draft on"
        assert not listed.is_open
        field(host).put("/cl")
        await pilot.pause()
        await pilot.press("escape")
        assert not listed.is_open
        assert field(host).has_focus

    play(steps, ChatHost(store))


def test_enter_takes_a_half_written_command() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "/tem")
        assert field(host).text == "/temp "
        field(host).put("/he")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert "ctrl+j" in screen_text(host)
        assert host.said == []

    play(steps, size=(120, 36))

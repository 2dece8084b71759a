"""The chat's keys, one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from mlx_specdec.chat.store import ChatStore
from mlx_specdec.conversation import Message
from tests.tui.chat_fakes import (
    ChatHost,
    FakeBridge,
    bring,
    chat_state,
    finished,
    reply_events,
    say,
    screen_text,
    type_text,
)
from tui.app import SpecdecApp
from tui.opening import AppOpening
from tui.widgets.chat_input import ChatInput
from tui.widgets.chat_transcript import Transcript
from tui.widgets.chat_turns import ReplyTurn, UserTurn

import pytest
from textual.pilot import Pilot

CODE = "Look:\n\n```python\nx = [1]\nprint(x)\n```\n\nDone."
THOUGHT = "<think>\nLet me see.\n</think>\n\nYes, it is."
Play = Callable[[ChatHost, Pilot[None]], Awaitable[None]]


def play(steps: Play, host: ChatHost | None = None, size: tuple[int, int] = (80, 24)) -> ChatHost:
    """Run the app without a terminal and let ``steps`` press the keys."""
    shown = ChatHost() if host is None else host

    async def run() -> None:
        async with shown.run_test(size=size) as pilot:
            await pilot.pause()
            await steps(shown, pilot)

    asyncio.run(run())
    return shown


def field(host: ChatHost) -> ChatInput:
    return host.chat.query_one(ChatInput)


def transcript(host: ChatHost) -> Transcript:
    return host.chat.query_one(Transcript)


def asked(host: ChatHost) -> list[str | None]:
    return [text for text, _ in host.fake.asked]


def test_enter_sends_and_the_field_is_empty_again() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("Hi there."), finished())
        assert asked(host) == ["hello"]
        assert field(host).text == ""
        assert "Hi there." in screen_text(host)
        assert not host.chat.is_busy

    play(steps)


def test_enter_on_an_empty_field_sends_nothing() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await pilot.press("enter", "space", "enter")
        assert asked(host) == []

    play(steps)


@pytest.mark.parametrize("keys", [("ctrl+j",), ("backslash", "enter")])
def test_a_new_line(keys: tuple[str, ...]) -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await pilot.press("a", *keys, "b", "enter")
        assert asked(host) == ["a\nb"]

    play(steps)


def test_esc_stops_the_reply_and_keeps_what_was_said(tmp_path: Path) -> None:
    """H7: people want to stop only the reply."""

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("one two three"))
        await pilot.press("escape")
        assert host.fake.feed.is_cancelled
        await bring(pilot, host)
        assert "one two three" in screen_text(host)
        assert "stopped" in screen_text(host)
        await say(pilot, host, "more", *reply_events("four"), finished())
        assert asked(host) == ["hello", "more"]

    host = play(steps, ChatHost(ChatStore(tmp_path)))
    assert [turn.reason for turn in ChatStore(tmp_path).read("hello").turns] == [
        "",
        "cancelled",
        "",
        "stop",
    ]
    assert host.return_code in (0, None)


def test_while_a_reply_comes_nothing_else_is_sent() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "one", *reply_events("a b"))
        await say(pilot, host, "two")
        assert asked(host) == ["one"]
        assert field(host).text == "two"
        assert "One reply at a time" in host.said[-1]

    play(steps)


def test_esc_goes_to_the_transcript_and_enter_or_i_comes_back() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("Hi."), finished())
        for key in ("enter", "i", "escape"):
            await pilot.press("escape")
            assert transcript(host).has_focus
            assert isinstance(transcript(host).selected, ReplyTurn)
            await pilot.press(key)
            assert field(host).has_focus
            assert field(host).text == ""
            assert transcript(host).selected is None

    play(steps)


def test_j_and_k_move_over_messages_and_code() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "one", *reply_events(CODE), finished())
        await say(pilot, host, "two", *reply_events("short"), finished())
        await pilot.press("escape")
        seen = []
        for key in ("k", "k", "up", "k", "k"):
            await pilot.press(key)
            seen.append(type(transcript(host).selected).__name__)
        assert seen == ["UserTurn", "ChatFence", "ReplyTurn", "UserTurn", "UserTurn"]
        for key in ("j", "down"):
            await pilot.press(key)
        assert type(transcript(host).selected).__name__ == "ChatFence"
        await pilot.press("g")
        assert transcript(host).selected is transcript(host).turns[0]
        await pilot.press("G")
        assert transcript(host).selected is transcript(host).turns[-1]

    play(steps)


def test_y_copies_the_message_or_the_code_as_it_was_written() -> None:
    """H12: the raw text, not wrapped lines, and by whom it was copied."""
    copied: list[str] = []

    def copier(text: str) -> str:
        copied.append(text)
        return "pbcopy"

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "one", *reply_events(CODE), finished())
        await pilot.press("escape", "y")
        await pilot.press("j", "y")
        await pilot.press("k", "k", "y")
        await pilot.pause()

    host = play(steps, ChatHost(copier=copier))
    assert copied == [CODE, "x = [1]\nprint(x)", "one"]
    assert host.said[:2] == ["Copied the message with pbcopy.", "Copied the code with pbcopy."]


def test_y_goes_through_the_terminal_where_no_program_copies() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "one", *reply_events("two"), finished())
        await pilot.press("escape", "y")
        await pilot.pause()
        assert host.clipboard == "two"
        assert "the terminal (OSC 52)" in host.said[-1]

    play(steps)


def test_t_shows_the_tokens_and_markdown_again() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "one", *reply_events("**bold** words here"), finished())
        assert "**" not in screen_text(host)
        await pilot.press("escape", "t")
        assert "**bold** words here" in screen_text(host)
        await pilot.press("t")
        assert "**" not in screen_text(host)

    play(steps)


def test_thinking_folds_and_unfolds() -> None:
    """G10: thinking neither vanishes nor mixes with the answer."""

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "one", *reply_events(THOUGHT), finished())
        assert "thought for" in screen_text(host)
        assert "▸" in screen_text(host)
        assert "Let me see." not in screen_text(host)
        await pilot.press("escape", "j", "enter")
        assert "Let me see." in screen_text(host)
        assert "▾" in screen_text(host)
        await pilot.press("enter")
        assert "Let me see." not in screen_text(host)

    play(steps)


def test_a_click_unfolds_the_thinking() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "one", *reply_events(THOUGHT), finished())
        await pilot.click("ThinkingLine")
        assert "Let me see." in screen_text(host)

    play(steps)


def test_up_on_an_empty_field_edits_the_last_message() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        talked = host.fake.conversation
        await say(pilot, host, "first", *reply_events("one"), finished())
        await say(pilot, host, "second", *reply_events("two"), finished())
        talked.messages[:] = [
            Message("user", "first"),
            Message("assistant", "one"),
            Message("user", "second"),
            Message("assistant", "two"),
        ]
        await pilot.press("up")
        assert field(host).text == "second"
        assert "editing your last message" in screen_text(host)
        await say(pilot, host, " again", *reply_events("three"), finished())
        assert asked(host) == ["first", "second", "second again"]
        assert [message.content for message in talked.messages] == ["first", "one"]
        shown = screen_text(host)
        assert "two" not in shown
        assert len(host.chat.query(UserTurn)) == 2

    play(steps)


def test_esc_leaves_the_edited_message_as_it_was() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "first", *reply_events("one"), finished())
        await pilot.press("up", "escape")
        assert field(host).text == ""
        assert len(host.chat.query(".-leaving")) == 0
        await say(pilot, host, "second", *reply_events("two"), finished())
        assert len(host.chat.query(UserTurn)) == 2

    play(steps)


def test_up_in_a_text_goes_back_through_what_was_sent() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "first", *reply_events("one"), finished())
        await say(pilot, host, "second", *reply_events("two"), finished())
        await type_text(pilot, "draft")
        await pilot.press("up")
        assert field(host).text == "second"
        await pilot.press("up")
        assert field(host).text == "first"
        await pilot.press("down", "down")
        assert field(host).text == "draft"

    play(steps)


def test_ctrl_d_quits_on_an_empty_field_only() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await pilot.press("a", "b", "left", "ctrl+d")
        assert field(host).text == "a"
        assert host.is_running
        await pilot.press("backspace", "ctrl+d")
        await pilot.pause()
        assert not host.is_running or host._exit

    play(steps)


def test_slash_in_the_transcript_begins_a_command() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await pilot.press("escape", "slash")
        assert field(host).has_focus
        assert field(host).text == "/"

    play(steps)


def test_the_palette_does_not_end_a_reply() -> None:
    """H14: opening the palette killed the running worker."""

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("one two"))
        await pilot.press("ctrl+p")
        await pilot.pause()
        host.fake.feed.put(*reply_events(" three")[1:])
        await host.chat.take_text()
        await pilot.press("escape")
        await pilot.pause()
        await bring(pilot, host, finished())
        assert not host.fake.feed.is_cancelled
        assert "one two three" in screen_text(host)

    play(steps)


def test_scrolled_up_it_stays_and_at_the_end_it_follows_again() -> None:
    """H9: after one wheel tick the view no longer followed."""
    text = "\n\n".join(f"Paragraph {i}." for i in range(30))

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        view = transcript(host)
        await say(pilot, host, "hello", *reply_events(text))
        assert view.scroll_y == view.max_scroll_y > 0
        view.scroll_up(animate=False)
        await pilot.pause()
        place = view.scroll_y
        await bring(pilot, host, *reply_events("\n\nMore.\n\nAnd more.\n\nAnd more.")[1:])
        assert view.scroll_y == place < view.max_scroll_y
        for _ in range(6):  # nearly to the end, as a wheel does: not exactly onto it
            view.scroll_down(animate=False)
            await pilot.pause()
        await bring(pilot, host, *reply_events("\n\nEven more.\n\nThe end.")[1:], finished())
        assert view.scroll_y == view.max_scroll_y

    play(steps)


def test_page_keys_scroll_while_writing() -> None:
    text = "\n\n".join(f"Paragraph {i}." for i in range(30))

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        view = transcript(host)
        await say(pilot, host, "hello", *reply_events(text), finished())
        await pilot.press("pageup")
        await pilot.pause()
        assert view.scroll_y < view.max_scroll_y
        assert field(host).has_focus
        await pilot.press("pagedown", "pagedown")
        await pilot.pause()
        assert view.scroll_y == view.max_scroll_y

    play(steps)


def test_the_first_ctrl_c_stops_the_reply_and_the_second_quits() -> None:
    """H7, in the app as it is, on a clock of the test's own."""
    now = [10.0]
    state = chat_state()
    app = SpecdecApp(AppOpening(screen="chat", request=None), FakeBridge(), lambda: now[0])
    app.state = state

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            bridge = app.bridge
            assert isinstance(bridge, FakeBridge)
            await type_text(pilot, "hello")
            await pilot.press("enter")
            await pilot.pause()
            await pilot.press("ctrl+c")
            assert bridge.feed.is_cancelled
            assert not app._exit
            now[0] += 3.0
            await pilot.press("ctrl+c")
            assert not app._exit
            now[0] += 1.0
            await pilot.press("ctrl+c")
            assert app._exit

    asyncio.run(run())

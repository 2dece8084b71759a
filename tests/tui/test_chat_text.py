"""Text of a model in the chat: whatever it holds is shown as text and breaks nothing."""

from __future__ import annotations

from tests.tui.chat_fakes import (
    ChatHost,
    bring,
    chat_state,
    failed,
    finished,
    reply_events,
    say,
    screen_text,
)
from tests.tui.test_chat_keys import CODE, asked, field, play
from tui.chat.markdown_feed import MarkdownFeed
from tui.messages import StateChanged

import pytest
from rich.cells import cell_len
from textual.events import Paste
from textual.pilot import Pilot

HOSTILE = (
    "[/a0/tests] {p}[/{t}...]/read [bold]x [b + c[#888]..] [link=x]y[/link] "
    "List<int> <b>bold</b> <script>alert(1)</script>"
)
CODES = "\x1b[2J\x1b]52;c;aGk=\x07 \x1b[6n \x9b31m \x07 \x00 end"


def rows_of(host: ChatHost) -> list[str]:
    width = host.size.width
    strips = host.screen._compositor.render_strips()
    assert all(strip.cell_length == width for strip in strips)
    return [strip.text for strip in strips]


@pytest.mark.parametrize("plain", [False, True])
def test_brackets_and_tags_are_text(plain: bool) -> None:
    """H4: the whole app died on model text such as '[/path]'. G10: tags vanished."""

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        if plain:
            await pilot.press("escape", "t", "i")
        field(host).put(HOSTILE)
        await pilot.press("enter")
        await pilot.pause()
        await bring(pilot, host, *reply_events(HOSTILE), finished())
        shown = screen_text(host)
        for words in ("[/a0/tests]", "[bold]x", "List<int>", "<b>bold</b>", "<script>"):
            assert shown.count(words) == 2, words

    play(steps, size=(120, 36))


@pytest.mark.parametrize("plain", [False, True])
def test_control_codes_are_shown_and_never_sent(plain: bool) -> None:
    """H5: model output drove the terminal."""

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        if plain:
            await pilot.press("escape", "t", "i")
        reply = reply_events(f"{CODES}\n\n```\n{CODES}\n```\n<think>{CODES}")
        await say(pilot, host, "hello", *reply, finished())
        rows = rows_of(host)
        assert not [
            sign for row in rows for sign in row if ord(sign) < 32 or 127 <= ord(sign) < 160
        ]
        assert "␛[2J" in "".join(rows)

    play(steps)


def test_a_pasted_control_code_is_text() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        field(host).post_message(Paste("a\x1b[2Jb\r\nc"))
        await pilot.pause()
        assert field(host).text == "a␛[2Jb\nc"

    play(steps)


@pytest.mark.parametrize(
    "text", ["日本語のテキスト", "👩‍👩‍👧 family", "❤️ heart", "🇩🇪 flag", "é ḧ", "ﷺ"]
)
def test_wide_and_joined_characters_keep_every_row_whole(text: str) -> None:
    """H11: borders were one cell off with emoji and CJK."""

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        field(host).put(text)
        rows_of(host)
        await pilot.press("enter")
        await pilot.pause()
        body = f"{text} " * 30 + f"\n\n```\n{text * 40}\n```\n"
        await bring(pilot, host, *reply_events(body), finished())
        rows_of(host)
        await pilot.press("escape", "t")
        await pilot.pause()
        rows_of(host)

    play(steps)


def test_a_very_long_line_is_wrapped_and_nothing_of_it_is_lost() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("Z" * 300 + "end"), finished())
        assert sum(row.count("Z") for row in rows_of(host)) == 300
        await say(pilot, host, "code", *reply_events("```\n" + "Q" * 300 + "\n```"), finished())
        assert sum(row.count("Q") for row in rows_of(host)) == 300

    play(steps)


def test_a_fence_that_arrives_byte_by_byte_never_flickers() -> None:
    """H3: half a fence was drawn as text, then as a block."""

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("Look:\n\n")[:1])
        heights = []
        for sign in CODE:
            await bring(pilot, host, *reply_events(sign)[1:])
            heights.append(host.chat.query_one("ChatMarkdown").size.height)
            assert "`" not in screen_text(host)
        assert heights == sorted(heights)

    play(steps)


def test_streamed_text_is_the_text_that_was_said() -> None:
    """H2: the last piece is shown, however it was cut."""
    text = (
        "# Title\n\n- one\n- two\n  - three\n\n1. a\n2. b\n\n> quote\n\n"
        f"| a | b |\n|---|---|\n| 1 | 2 |\n\n{CODE}\n\n---\n\nend"
    )

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("")[:1])
        for start in range(0, len(text), 7):
            await bring(pilot, host, *reply_events(text[start : start + 7])[1:])
        await bring(pilot, host, finished())
        in_pieces = screen_text(host)
        await say(pilot, host, "/clear")
        await say(pilot, host, "hello", *reply_events(text), finished())
        pieces = in_pieces.split("qwen3-14b\n")[1].split("tok/s")[0].rsplit("\n", 1)[0]
        assert pieces.strip() in screen_text(host)

    play(steps, size=(80, 60))


def test_a_long_list_grows_item_by_item() -> None:
    """H1: a list was drawn anew, all of it, with each word."""

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("1. item 1\n2. item 2\n"))
        for number in range(3, 13):
            await bring(pilot, host, *reply_events(f"{number}. item {number}\n")[1:])
        await bring(pilot, host, *reply_events("\nAfter it.")[1:], finished())
        shown = screen_text(host)
        for number in range(1, 13):
            assert f"{number}. item {number}\n" in shown
        assert "After it." in shown

    play(steps, size=(80, 36))


def test_a_failing_reply_is_said_keeps_its_text_and_the_chat_lives_on() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("one two three"), failed("[/x] broke"))
        assert "one two three" in screen_text(host)
        assert "[/x] broke: The prompt takes 96 of 96 tokens." in screen_text(host)
        assert "[/x] broke" in host.said[-1]
        assert "Begin anew with /clear." in host.said[-1]
        await say(pilot, host, "more", *reply_events("four"), finished())
        assert asked(host) == ["hello", "more"]

    play(steps)


def test_a_failure_before_the_first_word_gives_the_message_back() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "first", *reply_events("one"), finished())
        await say(pilot, host, "too long", failed())
        assert field(host).text == "too long"
        assert "The context is full" in screen_text(host)
        field(host).put("")
        await pilot.press("up")
        assert field(host).text == "first"  # the last message that the model knows

    play(steps)


def test_a_full_context_says_what_to_do() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("one two"), finished("context"))
        assert "context is full" in screen_text(host)
        assert "/clear forgets" in screen_text(host)

    play(steps)


def test_a_limit_within_the_thinking_is_said() -> None:
    """G8: a blank answer, because the whole budget went to thinking."""

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        host.fake.thinks = True
        await say(pilot, host, "hello", *reply_events("hm hm hm"), finished("length"))
        shown = screen_text(host)
        assert "stopped while thinking (limit 4096)" in shown
        assert "thought for" in shown
        assert "hm hm" not in shown

    play(steps)


def test_an_empty_think_block_leaves_no_trace() -> None:
    """G7: an empty block was printed."""

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hi", *reply_events("<think>\n\n</think>\n\nYes."), finished())
        shown = screen_text(host)
        assert "Yes." in shown
        assert "think" not in shown
        assert "thought" not in shown

    play(steps)


def test_what_is_written_while_models_load_is_sent_once_they_are_ready() -> None:
    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello")
        assert field(host).text == "hello"
        assert "as soon as the models are ready" in host.said[-1]
        assert asked(host) == []
        assert "loading qwen3-14b" in screen_text(host)
        host.state.is_ready = True
        host.chat.post_message(StateChanged())
        await pilot.pause()
        assert asked(host) == ["hello"]
        assert field(host).text == ""

    play(steps, ChatHost(state=chat_state(is_ready=False)))


def test_a_split_character_is_one_character() -> None:
    """G1: emoji became replacement marks. The engine joins bytes; the screen joins pieces."""

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("👩")[:2])
        for piece in ("\u200d", "👩", "\u200d", "👧", " e", "\u0301"):
            await bring(pilot, host, *reply_events(piece)[1:])
        await bring(pilot, host, finished())
        row = next(row for row in rows_of(host) if "👩" in row)
        assert "👩‍👩‍👧 e\u0301" in row
        assert cell_len(row) == host.size.width

    play(steps)


def test_a_line_is_held_until_its_marks_are_whole() -> None:
    feed = MarkdownFeed()
    assert feed.push("Hello\n-") == "Hello\n"
    assert feed.push("--") == ""
    assert feed.push("\n") == "---\n"
    assert feed.push("``") == ""
    assert feed.push("`py") == ""
    assert feed.push("thon\nx") == "```python\nx"
    assert feed.push("\n1") == "\n"
    assert feed.push("2") == ""
    assert feed.push(". a") == "12. a"
    assert feed.push("\n**") == "\n"
    assert feed.finish() == "**"
    assert feed.finish() == ""


def test_marks_without_end_are_not_held_for_ever() -> None:
    feed = MarkdownFeed()
    shown = "".join(feed.push("-") for _ in range(500))
    assert len(shown) >= 200
    assert shown + feed.finish() == "-" * 500

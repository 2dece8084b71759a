"""Chats kept as JSONL: what was said comes back, whatever happened to the file."""

from __future__ import annotations

import os
from pathlib import Path

from mlx_specdec.chat.file import ChatFile
from mlx_specdec.chat.record import (
    ASSISTANT,
    INTERRUPTED,
    USER,
    ChatHeader,
    ChatTurn,
    SavedChat,
    read_chat,
)
from mlx_specdec.chat.store import ChatStore, chats_folder
from mlx_specdec.errors import UnknownChatError

import pytest

HEADER = ChatHeader("qwen3-14b", "qwen3-0.6b", {"temperature": 0.6}, "Be brief.")
ODD = 'a "quote", a \\ and \\n, two\nlines, \t, \x1b[2J, é, 日本, 👩‍👩‍👧'


@pytest.fixture
def store(tmp_path: Path) -> ChatStore:
    return ChatStore(tmp_path / "chats")


def reply(text: str, reason: str = "stop") -> ChatTurn:
    return ChatTurn(ASSISTANT, text, False, reason, 12, 1.5, 0.25)


def say(chat: ChatFile, question: str, answer: str, reason: str = "stop") -> None:
    """One turn of each side, the reply in pieces."""
    chat.user(question)
    chat.begin_reply(False)
    for piece in (answer[:3], answer[3:7], answer[7:]):
        chat.reply_piece(piece)
    chat.end_reply(reply(answer, reason))


def new_chat(store: ChatStore, resumed: SavedChat | None = None) -> ChatFile:
    return ChatFile(store, HEADER, resumed, now=lambda: "2026-11-29 12:00:00")


def test_what_was_said_comes_back(store: ChatStore) -> None:
    chat = new_chat(store)
    say(chat, "Merge two sorted lists, please, in Python", ODD)
    say(chat, ODD, "again", "cancelled")
    chat.close()
    kept = store.read("merge-two-sorted-lists-please")
    assert kept.turns == (
        ChatTurn(USER, "Merge two sorted lists, please, in Python"),
        reply(ODD),
        ChatTurn(USER, ODD),
        reply("again", "cancelled"),
    )
    assert kept.header.target == "qwen3-14b"
    assert kept.header.settings == {"temperature": 0.6}
    assert kept.header.system == "Be brief."
    assert kept.header.created == "2026-11-29 12:00:00"
    assert kept.num_damaged == 0


def test_each_line_is_on_the_disk_as_soon_as_it_is_said(store: ChatStore) -> None:
    chat = new_chat(store)
    chat.user("hello")
    assert store.read("hello").unanswered == "hello"
    chat.begin_reply(False)
    chat.reply_piece("one two")
    kept = store.read("hello")  # without close or flush of ours
    assert kept.turns[-1] == ChatTurn(ASSISTANT, "one two", reason=INTERRUPTED)
    assert kept.unanswered == ""


def test_a_crash_at_any_byte_of_a_reply_loses_nothing_before_it(store: ChatStore) -> None:
    chat = new_chat(store)
    chat.user("hello")
    chat.begin_reply(False)
    chat.reply_piece(ODD)
    chat.end_reply(reply(ODD))
    chat.close()
    data = store.path("hello").read_bytes()
    start = data.index(b'"text": "a ') + len(b'"text": "')
    before = ""
    for cut in range(start, len(data)):
        store.path("hello").write_bytes(data[:cut])
        kept = store.read("hello")
        text = kept.turns[-1].text if len(kept.turns) == 2 else ""
        assert ODD.startswith(text)
        assert text.startswith(before)
        assert kept.num_damaged == 0
        before = text
    assert before == ODD


def test_a_chat_goes_on_after_a_crash(store: ChatStore) -> None:
    chat = new_chat(store)
    say(chat, "hello", "hi")
    chat.user("more")
    chat.begin_reply(False)
    chat.reply_piece("half a re")
    cut = store.read("hello")
    later = new_chat(store, cut)
    say(later, "and now", "all of it")
    later.close()
    kept = store.read("hello")
    assert [turn.text for turn in kept.turns] == [
        "hello",
        "hi",
        "more",
        "half a re",
        "and now",
        "all of it",
    ]
    assert kept.turns[3].reason == INTERRUPTED
    assert store.names() == ["hello"]


def test_a_message_without_an_answer_waits_to_be_sent_again(store: ChatStore) -> None:
    chat = new_chat(store)
    say(chat, "hello", "hi")
    chat.user("more")
    chat.close()
    cut = store.read("hello")
    assert (cut.unanswered, len(cut.turns)) == ("more", 2)
    later = new_chat(store, cut)
    say(later, "more", "here it is")
    assert [turn.text for turn in store.read("hello").turns] == [
        "hello",
        "hi",
        "more",
        "here it is",
    ]


def test_a_reply_without_a_word_takes_the_question_back(store: ChatStore) -> None:
    chat = new_chat(store)
    say(chat, "hello", "hi")
    chat.user("too long for the context")
    chat.begin_reply(False)
    chat.end_reply(reply("", "failed"))
    kept = store.read("hello")
    assert [turn.text for turn in kept.turns] == ["hello", "hi"]
    assert kept.unanswered == ""


def test_what_was_done_to_the_chat_is_done_again_when_read(store: ChatStore) -> None:
    chat = new_chat(store)
    say(chat, "one", "1")
    chat.clear()
    say(chat, "two", "2")
    say(chat, "three", "3")
    chat.drop_last_turn()
    chat.set_system("Be long.")
    chat.set_settings({"temperature": 0.9})
    kept = store.read("one")
    assert [turn.text for turn in kept.turns] == ["two", "2"]
    assert kept.header.system == "Be long."
    assert kept.header.settings == {"temperature": 0.9}
    assert kept.header.target == "qwen3-14b"


def test_settings_before_the_first_message_stand_in_the_header(store: ChatStore) -> None:
    chat = new_chat(store)
    chat.set_system("Speak French.")
    chat.set_settings({"temperature": 1.0})
    chat.clear()
    assert store.names() == []
    chat.user("hello")
    kept = store.read("hello")
    assert kept.header.system == "Speak French."
    assert kept.header.settings == {"temperature": 1.0}


def test_damaged_lines_are_counted_and_the_rest_is_read(store: ChatStore) -> None:
    chat = new_chat(store)
    say(chat, "hello", "hi")
    chat.close()
    with store.path("hello").open("ab") as file:
        file.write(b'\xff\xfe\n[1, 2]\n{"role": "user", "te\n')
    kept = store.read("hello")
    assert len(kept.turns) == 2
    assert kept.num_damaged == 2  # bytes that are no text are left out, the line with them


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Merge two sorted lists in Python", "merge-two-sorted-lists-in"),
        ("../../etc/passwd", "etc-passwd"),
        ("  ...  ", "chat"),
        ("日本語で話してください", "日本語で話してください"),
        ("a" * 300, "a" * 40),
        ("\x1b[2J\x00", "2j"),
    ],
)
def test_names_are_safe(store: ChatStore, words: str, name: str) -> None:
    assert store.new_name(words) == name


def test_two_chats_that_begin_alike_have_two_files(store: ChatStore) -> None:
    for _ in range(3):
        chat = new_chat(store)
        say(chat, "hello", "hi")
        chat.close()
    assert sorted(store.names()) == ["hello", "hello-2", "hello-3"]


def test_the_last_one_written_to_comes_first(store: ChatStore) -> None:
    for number, name in enumerate(("one", "two", "three")):
        chat = new_chat(store)
        say(chat, name, "hi")
        chat.close()
        os.utime(store.path(name), (100 - number, 100 - number))
    assert store.names() == ["one", "two", "three"]
    assert store.latest().name == "one"


def test_an_unknown_name_gets_the_nearest_and_a_list(store: ChatStore) -> None:
    for name in ("sky", "merge lists"):
        chat = new_chat(store)
        say(chat, name, "hi")
        chat.close()
    assert store.read("sky.jsonl").name == "sky"
    with pytest.raises(UnknownChatError) as caught:
        store.read("merge-list")
    assert "Did you mean merge-lists?" in caught.value.hint
    assert "sky" in caught.value.hint
    with pytest.raises(UnknownChatError, match="There is no chat called 'zzz'"):
        store.read("zzz")


def test_where_nothing_is_kept_it_says_so(store: ChatStore) -> None:
    with pytest.raises(UnknownChatError, match="no chat to go on with"):
        store.latest()
    with pytest.raises(UnknownChatError) as caught:
        store.read("sky")
    assert caught.value.hint == "None is kept yet."


def test_a_file_of_something_else_is_not_a_chat(store: ChatStore) -> None:
    store.folder.mkdir(parents=True)
    store.path("other").write_text('{"schema": 99}\n', encoding="utf-8")
    with pytest.raises(UnknownChatError, match="other is not a chat"):
        store.read("other")
    assert read_chat("empty", []) is None


def test_a_disk_that_cannot_be_written_to_does_not_end_a_chat(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")
    chat = new_chat(ChatStore(blocked / "chats"))
    say(chat, "hello", "hi")
    say(chat, "more", "hi")
    assert chat.problem.startswith("This chat is not kept: ")


def test_without_a_store_nothing_is_written(tmp_path: Path) -> None:
    chat = ChatFile(None, HEADER)
    say(chat, "hello", "hi")
    chat.clear()
    assert (chat.path, chat.problem) == (None, "")
    assert list(tmp_path.iterdir()) == []


def test_a_stray_surrogate_does_not_lose_the_line(store: ChatStore) -> None:
    chat = new_chat(store)
    say(chat, "caf\udce9", "hi")
    assert store.latest().turns[0].text == "caf?"


def test_the_folder_of_each_system(tmp_path: Path) -> None:
    end = Path("mlx-specdec") / "chats"
    assert chats_folder({"XDG_DATA_HOME": str(tmp_path)}, "Darwin") == tmp_path / end
    assert chats_folder({}, "Linux") == Path.home() / ".local" / "share" / end
    mac = chats_folder({}, "Darwin")
    assert mac == Path.home() / "Library" / "Application Support" / end


def test_the_model_is_told_a_reply_without_its_thinking() -> None:
    text = "<think>\nhm\n</think>\n\nYes."
    assert ChatTurn(ASSISTANT, text).message.content == "Yes."
    assert ChatTurn(ASSISTANT, text[8:], begins_thinking=True).message.content == "Yes."
    assert ChatTurn(USER, text).message.content == text

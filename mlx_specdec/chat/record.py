"""A kept chat as lines of JSON: the header, then one line a turn; how damaged lines are read.

A reply is written while it comes, so a crash leaves its line without an end. Such a line reads as
a reply that was interrupted where the text breaks off.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..conversation import THINK_START, Message, split_thinking

__all__ = [
    "ASSISTANT",
    "INTERRUPTED",
    "USER",
    "ChatHeader",
    "ChatTurn",
    "SavedChat",
    "drop_last_turn",
    "header_line",
    "read_chat",
    "reply_end",
    "reply_piece",
    "reply_start",
    "turn_line",
]

SCHEMA = 1
USER, ASSISTANT = "user", "assistant"
INTERRUPTED = "interrupted"
# A reply's line up to its last whole character: the rest of an escape was cut by the crash.
_CUT_REPLY = re.compile(
    r'\{"role": "assistant", "begins_thinking": (true|false), "text": '
    r'"((?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)'
)


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """What one side said.

    Args:
        text: of a reply as it came, thinking tags included.
        begins_thinking: the prompt had opened the thinking block already.
        reason: how a reply ended: Finished's word, ``failed``, or INTERRUPTED.
        tokens, seconds, thinking_seconds: of a reply, from the request on.
    """

    role: str
    text: str
    begins_thinking: bool = False
    reason: str = ""
    tokens: int = 0
    seconds: float = 0.0
    thinking_seconds: float = 0.0

    @property
    def message(self) -> Message:
        """The turn as the model is told of it: a reply without its thinking."""
        if self.role == USER:
            return Message(USER, self.text)
        opening = THINK_START if self.begins_thinking else ""
        return Message(ASSISTANT, split_thinking(opening + self.text).answer)


@dataclass(frozen=True, slots=True)
class ChatHeader:
    """With whom and how: names as ``--target`` and ``--draft`` take them (``none``: no draft).

    ``settings`` are keywords of Settings and SamplingParams; ``created`` is a date in words.
    """

    target: str
    draft: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    system: str = ""
    created: str = ""


@dataclass(frozen=True, slots=True)
class SavedChat:
    """A chat as its file tells it.

    ``unanswered`` is a last message that got no reply, because the program ended before it; it
    is not among the turns. ``num_damaged`` lines could not be read at all.
    """

    name: str
    header: ChatHeader
    turns: tuple[ChatTurn, ...] = ()
    unanswered: str = ""
    num_damaged: int = 0


def _line(**entry: Any) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"


def header_line(header: ChatHeader) -> str:
    """The first line of a chat."""
    return _line(
        schema=SCHEMA,
        pair={"target": header.target, "draft": header.draft},
        settings=dict(header.settings),
        system=header.system,
        created=header.created,
    )


def turn_line(**entry: Any) -> str:
    """A whole line: a turn of the user, ``system=TEXT``, ``settings={...}``, ``done="clear"`` or
    ``done="drop"``.
    """
    return _line(**entry)


def reply_start(begins_thinking: bool) -> str:
    """The beginning of a reply's line."""
    opening = json.dumps({"role": ASSISTANT, "begins_thinking": begins_thinking})
    return f'{opening[:-1]}, "text": "'


def reply_piece(text: str) -> str:
    """More of its text."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def reply_end(turn: ChatTurn) -> str:
    """The end of the line: how the reply ended, and its figures."""
    rest = {
        "reason": turn.reason,
        "tokens": turn.tokens,
        "seconds": round(turn.seconds, 4),
        "thinking_seconds": round(turn.thinking_seconds, 4),
    }
    return f'", {json.dumps(rest)[1:]}\n'


def read_chat(name: str, lines: Iterable[str]) -> SavedChat | None:
    """The chat that the lines tell; None when they do not begin with a header of ours."""
    header: ChatHeader | None = None
    turns: list[ChatTurn] = []
    damaged = 0
    for line in lines:
        entry = _entry(line.strip())
        if entry is None:
            damaged += bool(line.strip())
        elif header is None:
            header = _header(entry)
            if header is None:
                return None
        else:
            header = _obey(entry, header, turns)
    if header is None:
        return None
    is_open = bool(turns) and turns[-1].role == USER
    unanswered = turns.pop().text if is_open else ""
    return SavedChat(name, header, tuple(turns), unanswered, damaged)


def _entry(line: str) -> dict[str, Any] | None:
    """One line as a dict; a reply without its end is given one."""
    try:
        entry = json.loads(line)
    except ValueError:
        cut = _CUT_REPLY.match(line)
        if cut is None:
            return None
        text = json.loads(f'"{cut[2]}"')
        return {
            "role": ASSISTANT,
            "begins_thinking": cut[1] == "true",
            "text": text,
            "reason": INTERRUPTED,
        }
    return entry if isinstance(entry, dict) else None


def _header(entry: Mapping[str, Any]) -> ChatHeader | None:
    pair, settings = entry.get("pair"), entry.get("settings")
    if entry.get("schema") != SCHEMA or not isinstance(pair, dict):
        return None
    return ChatHeader(
        str(pair.get("target", "")),
        str(pair.get("draft", "none")),
        settings if isinstance(settings, dict) else {},
        str(entry.get("system", "")),
        str(entry.get("created", "")),
    )


def _obey(entry: Mapping[str, Any], header: ChatHeader, turns: list[ChatTurn]) -> ChatHeader:
    """Take in one line after the header: a turn, or what was done to the chat."""
    if entry.get("role") in (USER, ASSISTANT):
        turn = _turn(entry)
        if turn.text:
            turns.append(turn)
        elif turn.role == ASSISTANT:
            drop_last_turn(turns)  # nothing was answered: the question was taken back as well
    elif entry.get("done") == "clear":
        turns.clear()
    elif entry.get("done") == "drop":
        drop_last_turn(turns)
    elif "system" in entry:
        return dataclasses.replace(header, system=str(entry["system"]))
    elif isinstance(entry.get("settings"), dict):
        return dataclasses.replace(header, settings=entry["settings"])
    return header


def drop_last_turn(turns: list[ChatTurn]) -> None:
    """Forget the user's last message and all after it."""
    while turns and turns.pop().role != USER:
        pass


def _turn(entry: Mapping[str, Any]) -> ChatTurn:
    def number(name: str) -> float:
        value = entry.get(name, 0)
        return float(value) if isinstance(value, int | float) else 0.0

    return ChatTurn(
        role=str(entry["role"]),
        text=str(entry.get("text", "")),
        begins_thinking=bool(entry.get("begins_thinking", False)),
        reason=str(entry.get("reason", "")),
        tokens=int(number("tokens")),
        seconds=number("seconds"),
        thinking_seconds=number("thinking_seconds"),
    )

"""Conversation: who said what, and how a chat template turns it into token ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import InvalidRequestError

__all__ = [
    "THINK_END",
    "THINK_START",
    "Conversation",
    "Message",
    "Thought",
    "has_chat_template",
    "split_thinking",
]

THINK_START, THINK_END = "<think>", "</think>"


@dataclass(frozen=True, slots=True)
class Message:
    """``role`` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Thought:
    """A reply taken apart; ``is_open`` when it ended before the thinking did."""

    thinking: str
    answer: str
    is_open: bool


def split_thinking(text: str, start: str = THINK_START, end: str = THINK_END) -> Thought:
    """Thinking and answer of a reply; an empty block counts as none."""
    head, found, rest = text.partition(start)
    if not found or head.strip():
        return Thought("", text, False)
    thinking, closed, answer = rest.partition(end)
    return Thought(thinking.strip("\n"), answer.lstrip("\n"), not closed)


def has_chat_template(tokenizer: Any) -> bool:
    return bool(getattr(tokenizer, "chat_template", None)) or bool(
        getattr(tokenizer, "has_chat_template", False)
    )


@dataclass
class Conversation:
    """The messages so far, an optional system prompt before them.

    ``template_options`` are handed to the chat template with every prompt.
    """

    system: str = ""
    messages: list[Message] = field(default_factory=list)
    template_options: Mapping[str, Any] = field(default_factory=dict)

    def say(self, role: str, content: str) -> None:
        self.messages.append(Message(role, content))

    def clear(self) -> None:
        """Forget every message; the system prompt stays."""
        self.messages.clear()

    def edit(self, index: int, content: str) -> None:
        """Replace message ``index`` and forget what came after it.

        Raises:
            InvalidRequestError: there is no such message.
        """
        if not 0 <= index < len(self.messages):
            raise InvalidRequestError(
                f"There is no message {index}.", f"This chat has {len(self.messages)}, from 0 on."
            )
        role = self.messages[index].role
        del self.messages[index:]
        self.say(role, content)

    def prompt_tokens(self, tokenizer: Any, think: bool | None = None) -> list[int]:
        """The ids of the whole conversation, ready for the assistant's turn.

        Raises:
            InvalidRequestError: the model has no chat template, or refuses these messages.
        """
        if not has_chat_template(tokenizer):
            raise InvalidRequestError(
                "This model has no chat template, so it cannot hold a conversation.",
                "Take an instruct model, or `mlx-specdec generate --ignore-chat-template`.",
            )
        from jinja2.exceptions import TemplateError

        said = [{"role": message.role, "content": message.content} for message in self.messages]
        if self.system:
            said.insert(0, {"role": "system", "content": self.system})
        options = dict(self.template_options)
        if think is not None:
            options["enable_thinking"] = think
        try:
            ids = tokenizer.apply_chat_template(
                said, add_generation_prompt=True, tokenize=True, return_dict=False, **options
            )
        except TemplateError as error:
            raise InvalidRequestError(
                f"The model's chat template refuses this conversation: {error}.",
                "Leave the system prompt out, or start anew with /clear.",
            ) from error
        return [int(token) for token in ids]

"""ReplyTrack: one reply as it comes in: its text, its thinking, how it ended, its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..events import Emitted, Event, Failed, Finished, Prefilled, Round
from ..metrics import Metrics, fold
from ..thinking import ThinkingStream
from .record import ASSISTANT, ChatTurn

__all__ = ["Gain", "ReplyTrack"]


@dataclass(frozen=True, slots=True)
class Gain:
    """What some events added: text as it came, and the same taken apart."""

    raw: str = ""
    thinking: str = ""
    answer: str = ""
    emitted: tuple[Emitted, ...] = ()


class ReplyTrack:
    """Takes in the events of one reply.

    Args:
        begins_thinking: the prompt had opened the thinking block.
    """

    def __init__(self, begins_thinking: bool = False) -> None:
        self.begins_thinking = begins_thinking
        self.events: list[Event] = []
        self.text = ""
        self.answer = ""
        self.failure: Failed | None = None
        self.reason = ""
        self.prompt_tokens = 0
        self.num_tokens = 0
        self.note = ""
        self._stream = ThinkingStream(begins_thinking)
        self._prefilled_at = 0.0
        self._thought_until: float | None = None

    def add(self, events: Sequence[Event]) -> Gain:
        """Take in what has arrived since the last time."""
        raw, thinking, answer = "", "", ""
        emitted: list[Emitted] = []
        for event in events:
            self.events.append(event)
            text = self._take(event, emitted)
            pieces = self._stream.push(text)
            if isinstance(event, Finished | Failed):
                pieces += self._stream.finish()
            raw += text
            for is_thinking, piece in pieces:
                thinking += piece if is_thinking else ""
                answer += "" if is_thinking else piece
                if is_thinking:
                    self._thought_until = event.at
        self.text += raw
        self.answer += answer
        return Gain(raw, thinking, answer, tuple(emitted))

    def _take(self, event: Event, emitted: list[Emitted]) -> str:
        if isinstance(event, Prefilled):
            self.prompt_tokens, self._prefilled_at = event.prompt_tokens, event.at
        elif isinstance(event, Round):
            emitted += event.emitted
            self.num_tokens += len(event.emitted)
            self.note = event.note or self.note
            return "".join(token.text for token in event.emitted)
        elif isinstance(event, Finished):
            self.reason = event.reason
            return event.trailing_text
        else:
            self.failure, self.reason = event, "failed"
        return ""

    @property
    def is_thinking(self) -> bool:
        """Whether the text so far ends inside the thinking."""
        return self._stream.is_open

    @property
    def thinking_seconds(self) -> float | None:
        """From the end of the prompt to the last word of the thinking; None where there is none."""
        if self._thought_until is None:
            return None
        return self._thought_until - self._prefilled_at

    @property
    def is_over(self) -> bool:
        return bool(self.reason)

    @property
    def context_tokens(self) -> int:
        """Tokens of the context in use: the prompt and what was said."""
        return self.prompt_tokens + self.num_tokens

    @property
    def metrics(self) -> Metrics:
        return fold(self.events)

    @property
    def turn(self) -> ChatTurn:
        """As it is kept."""
        return ChatTurn(
            ASSISTANT,
            self.text,
            self.begins_thinking,
            self.reason,
            self.num_tokens,
            self.events[-1].at if self.events else 0.0,
            self.thinking_seconds or 0.0,
        )

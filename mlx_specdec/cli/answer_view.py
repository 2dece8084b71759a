"""AnswerView: shows a reply as it arrives, its thinking apart."""

from __future__ import annotations

from ..conversation import THINK_END, THINK_START
from ..events import Event, Finished, Round
from ..thinking import ThinkingStream
from .terminal import Terminal

__all__ = ["AnswerView"]


class AnswerView:
    """Writes a reply's text to standard output: thinking between its tags, dim on a terminal.

    Args:
        begins_thinking: the chat template has opened the thinking block.
    """

    def __init__(self, terminal: Terminal, begins_thinking: bool = False) -> None:
        self._terminal = terminal
        self._stream = ThinkingStream(begins_thinking)
        self._in_thought = False
        self.reason = ""
        self.is_empty = True
        self._last = "\n"

    @property
    def is_thinking(self) -> bool:
        """Whether the reply so far ends inside its thinking."""
        return self._stream.is_open

    def show(self, event: Event) -> None:
        """Write what the event brings."""
        if isinstance(event, Round):
            self._show(self._stream.push("".join(token.text for token in event.emitted)))
        elif isinstance(event, Finished):
            self.reason = event.reason
            self._show(self._stream.push(event.trailing_text) + self._stream.finish())

    def end(self) -> None:
        """Leave the output at the beginning of a line."""
        if self._last != "\n" or self.is_empty:
            self._terminal.write("\n")
            self._last = "\n"

    def _show(self, pieces: list[tuple[bool, str]]) -> None:
        for is_thinking, text in pieces:
            if is_thinking and not self._in_thought:
                self._write(f"{THINK_START}\n", "dim")
            elif self._in_thought and not is_thinking:
                self._write(f"\n{THINK_END}\n\n", "dim")
            self._in_thought = is_thinking
            self._write(text, "dim" if is_thinking else "")

    def _write(self, text: str, style: str) -> None:
        self._terminal.write(text, style)
        self._last, self.is_empty = text[-1:], False

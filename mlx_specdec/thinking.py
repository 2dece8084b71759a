"""ThinkingStream: tells thinking from answer while a reply arrives, piece by piece."""

from __future__ import annotations

from .conversation import THINK_END, THINK_START

__all__ = ["ThinkingStream"]

Piece = tuple[bool, str]
"""Whether it is thinking, and the text."""


class ThinkingStream:
    """Splits text at the tags of a thinking block at its beginning; the tags are not handed out.

    An empty block leaves no trace. Text that may be the beginning of a tag is held back.

    Args:
        is_open: the prompt ended inside the block already.
    """

    def __init__(self, is_open: bool = False) -> None:
        self._state = "thinking" if is_open else "start"
        self._held = ""
        self._wants_text = True  # white space before the first word of a part is dropped

    @property
    def is_open(self) -> bool:
        """Whether the text so far ends inside the block."""
        return self._state == "thinking"

    def push(self, text: str) -> list[Piece]:
        self._held += text
        pieces: list[Piece] = []
        if self._state == "start":
            self._start()
        if self._state == "thinking":
            pieces += self._thinking()
        if self._state == "answer":
            if self._wants_text:
                self._held = self._held.lstrip("\n")
            if self._held:
                pieces.append((False, self._held))
                self._wants_text, self._held = False, ""
        return pieces

    def finish(self) -> list[Piece]:
        """What is still held back when the reply ends."""
        rest, self._held = self._held, ""
        if self._state == "thinking":
            rest = rest.strip("\n") if self._wants_text else rest.rstrip("\n")
        return [(self._state == "thinking", rest)] if rest else []

    def _start(self) -> None:
        begun = self._held.lstrip()
        if begun.startswith(THINK_START):
            self._state, self._held = "thinking", begun[len(THINK_START) :]
        elif not THINK_START.startswith(begun):
            self._state, self._wants_text = "answer", False

    def _thinking(self) -> list[Piece]:
        text, found, after = self._held.partition(THINK_END)
        if self._wants_text:
            text = text.lstrip()
        ready = text.rstrip()
        if found:
            self._state, self._held = "answer", after
        else:
            keep = next(
                (n for n in range(len(THINK_END) - 1, 0, -1) if text.endswith(THINK_END[:n])), 0
            )
            ready = text[: len(text) - keep].rstrip()
            self._held = text[len(ready) :]
        pieces = [(True, ready)] if ready else []
        self._wants_text = bool(found) or (self._wants_text and not ready)
        return pieces

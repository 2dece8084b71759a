"""ChatFile: writes one chat as it is said; flushed at once, so that a crash loses nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from .record import (
    USER,
    ChatHeader,
    ChatTurn,
    SavedChat,
    header_line,
    reply_end,
    reply_piece,
    reply_start,
    turn_line,
)
from .store import ChatStore

__all__ = ["ChatFile"]


class ChatFile:
    """The file of the chat under way; it comes to be with the first message.

    A disk that cannot be written to does not end a chat: ``problem`` then says why nothing is
    kept any more.

    Args:
        store: None keeps nothing.
        header: of a chat that is new.
        resumed: the chat to go on with.
        now: the date and time in words.
    """

    def __init__(
        self,
        store: ChatStore | None,
        header: ChatHeader,
        resumed: SavedChat | None = None,
        now: Callable[[], str] = lambda: time.strftime("%Y-%m-%d %H:%M:%S"),
    ) -> None:
        self._store = store
        self._header = header
        self._now = now
        self._file: TextIO | None = None
        self._is_in_reply = False
        self.resumed = resumed
        self.name = resumed.name if resumed is not None else ""
        self.problem = ""

    @property
    def path(self) -> Path | None:
        """Where it is kept; None before the first message, and when nothing is kept."""
        return self._store.path(self.name) if self._store is not None and self.name else None

    def user(self, text: str) -> None:
        """The user's turn."""
        if self._store is not None and self._file is None and not self.problem:
            self._open(self._store, text)
        self._write(turn_line(role=USER, text=text))

    def begin_reply(self, begins_thinking: bool) -> None:
        """The reply's line begins; ``reply_piece`` goes on with it, ``end_reply`` ends it."""
        self._write(reply_start(begins_thinking))
        self._is_in_reply = True

    def reply_piece(self, text: str) -> None:
        if text and self._is_in_reply:
            self._write(reply_piece(text))

    def end_reply(self, turn: ChatTurn) -> None:
        """``turn`` says how it ended; its text has been written already."""
        if self._is_in_reply:
            self._write(reply_end(turn))
            self._is_in_reply = False

    def drop_last_turn(self) -> None:
        """The user's last message and its reply are taken back."""
        self._note(done="drop")

    def clear(self) -> None:
        self._note(done="clear")

    def set_system(self, text: str) -> None:
        self._header = replace(self._header, system=text)
        self._note(system=text)

    def set_settings(self, settings: Mapping[str, Any]) -> None:
        """The settings from the next reply on."""
        self._header = replace(self._header, settings=settings)
        self._note(settings=dict(settings))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _note(self, **entry: Any) -> None:
        """What was done to the chat; before the first message of a new one, nothing to keep."""
        if self._store is not None and self.resumed is not None and self._file is None:
            self._open(self._store, "")
        self._write(turn_line(**entry))

    def _open(self, store: ChatStore, first_words: str) -> None:
        try:
            if self.resumed is None:
                self._create(store, first_words)
            else:
                self._reopen(store, self.resumed)
        except OSError as error:
            self._give_up(error)

    def _create(self, store: ChatStore, first_words: str) -> None:
        store.folder.mkdir(parents=True, exist_ok=True)
        while self._file is None:
            self.name = store.new_name(first_words)
            with suppress(FileExistsError):  # another chat took the name just now
                self._file = store.path(self.name).open("x", encoding="utf-8")
        self._write(header_line(replace(self._header, created=self._now())))

    def _reopen(self, store: ChatStore, chat: SavedChat) -> None:
        path = store.path(chat.name)
        is_cut = not path.read_bytes().endswith(b"\n")
        self._file = path.open("a", encoding="utf-8")
        if is_cut:
            self._write("\n")
        if chat.unanswered:
            self._write(turn_line(done="drop"))

    def _write(self, text: str) -> None:
        if self._file is None:
            return
        try:
            # A lone surrogate (a stray byte of the terminal) is no reason to lose the line.
            self._file.write(text.encode("utf-8", "replace").decode("utf-8"))
            self._file.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        where = self._store.folder if self._store is not None else ""
        self.problem = f"This chat is not kept: {error.strerror or error} ({where})."
        self._file = None

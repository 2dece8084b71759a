"""ChatStore: chats kept by themselves, one JSONL file each in the user's data folder.

``$XDG_DATA_HOME/mlx-specdec/chats``, by default below ``~/.local/share``, on macOS below
``~/Library/Application Support``.
"""

from __future__ import annotations

import difflib
import os
import platform
from collections.abc import Mapping
from pathlib import Path

from ..errors import UnknownChatError
from .record import SavedChat, read_chat

__all__ = ["ChatStore", "chats_folder"]

_SUFFIX = ".jsonl"
_NAME_WORDS, _NAME_LENGTH, _NAME_BYTES = 5, 40, 120
_SHOWN_NAMES = 8


def chats_folder(environ: Mapping[str, str] | None = None, system: str | None = None) -> Path:
    """Where chats are kept; it need not exist.

    Args:
        system: as ``platform.system()`` says it.
    """
    env = os.environ if environ is None else environ
    base = env.get("XDG_DATA_HOME", "")
    if base:
        root = Path(base)
    elif (platform.system() if system is None else system) == "Darwin":
        root = Path.home() / "Library" / "Application Support"
    else:
        root = Path.home() / ".local" / "share"
    return root / "mlx-specdec" / "chats"


class ChatStore:
    """The chats in a folder.

    Args:
        folder: by default ``chats_folder()``.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = chats_folder() if folder is None else folder

    def names(self) -> list[str]:
        """All chats, the one written to last first."""
        found = []
        for path in self.folder.glob(f"*{_SUFFIX}"):
            try:
                found.append((-path.stat().st_mtime_ns, path.name.removesuffix(_SUFFIX)))
            except OSError:
                continue  # gone in the meantime
        return [name for _, name in sorted(found)]

    def latest(self) -> SavedChat:
        """The chat written to last.

        Raises:
            UnknownChatError: none is kept.
        """
        names = self.names()
        if not names:
            raise UnknownChatError("There is no chat to go on with.", "Begin one: mlx-specdec chat")
        return self.read(names[0])

    def read(self, name: str) -> SavedChat:
        """The chat of that name; a file name will do as well.

        Raises:
            UnknownChatError: there is none (with the nearest name and a list), or it is no chat.
        """
        wanted = Path(name.strip()).name.removesuffix(_SUFFIX)
        names = self.names()
        if wanted not in names:
            raise self._unknown(wanted, names)
        path = self.path(wanted)
        try:
            text = path.read_bytes().decode("utf-8", "ignore")  # a crash may have cut a character
        except OSError as error:
            raise UnknownChatError(
                f"The chat {wanted} cannot be read: {error.strerror}.", f"Look at {path}."
            ) from error
        chat = read_chat(wanted, text.split("\n"))
        if chat is None:
            raise UnknownChatError(f"{wanted} is not a chat of this program.", f"Look at {path}.")
        return chat

    def path(self, name: str) -> Path:
        """The file of a chat."""
        return self.folder / f"{name}{_SUFFIX}"

    def new_name(self, first_words: str) -> str:
        """A name that no chat has, made of the words a chat begins with."""
        base = _slug(first_words)
        name, number = base, 1
        while self.path(name).exists():
            number += 1
            name = f"{base}-{number}"
        return name

    def _unknown(self, wanted: str, names: list[str]) -> UnknownChatError:
        message = f"There is no chat called {wanted!r}."
        if not names:
            return UnknownChatError(message, "None is kept yet.")
        near = difflib.get_close_matches(wanted, names, n=1, cutoff=0.5)
        near = near or [name for name in names if wanted and wanted in name][:1]
        shown = ", ".join(names[:_SHOWN_NAMES])
        more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
        start = f"Did you mean {near[0]}? " if near else ""
        return UnknownChatError(message, f"{start}Kept: {shown}{more}.")


def _slug(text: str) -> str:
    """The first words as a file name: letters and digits, joined by dashes."""
    letters = "".join(sign if sign.isalnum() else " " for sign in text.lower())
    name = "-".join(letters.split()[:_NAME_WORDS])[:_NAME_LENGTH]
    while len(name.encode()) > _NAME_BYTES:
        name = name[:-1]
    return name.strip("-") or "chat"

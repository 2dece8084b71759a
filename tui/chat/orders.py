"""ChatOrders: obeys the commands of a chat; what must be drawn is asked of the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mlx_specdec.chat.commands import ChatCommand, changed_settings
from mlx_specdec.chat.record import ChatTurn
from mlx_specdec.chat.store import ChatStore
from tui.chat.help import HELP
from tui.chat.talk import Talk
from tui.state import AppState

__all__ = ["ChatOrders", "OrderScreen"]

_SHOWN_NAMES = 12


class OrderScreen(Protocol):
    """What a command may ask of the screen."""

    async def tell(self, words: str) -> None: ...
    async def show_turns(self, turns: Sequence[ChatTurn]) -> None: ...
    def put(self, text: str) -> None: ...
    def warn(self, words: str) -> None: ...
    def leave(self) -> None: ...


class ChatOrders:
    """The commands of one chat.

    Args:
        store: where chats are kept.
    """

    def __init__(self, talk: Talk, state: AppState, store: ChatStore, screen: OrderScreen) -> None:
        self._talk = talk
        self._state = state
        self._store = store
        self._screen = screen

    async def obey(self, command: ChatCommand, argument: str) -> None:
        """Do what a command says.

        Raises:
            SpecdecError: an argument that makes no sense, with one that does.
        """
        name = command.name
        if name == "/quit":
            self._screen.leave()
        elif name == "/help":
            await self._screen.tell(HELP)
        elif name == "/resume":
            await self._resume(argument)
        elif name == "/clear":
            await self._clear()
        elif name == "/system":
            self._talk.set_system(argument)
            held = "The system prompt holds from the next reply on."
            await self._screen.tell(held if argument else "No system prompt any more.")
        else:
            await self._set(name, argument)

    async def _set(self, name: str, argument: str) -> None:
        pair = self._state.pair
        has_draft = pair is None or pair.drafts
        settings, words = changed_settings(name, argument, self._state.settings, has_draft)
        self._talk.set_settings(settings)
        await self._screen.tell(words)

    async def _clear(self) -> None:
        if self._is_free():
            self._talk.clear()
            await self._screen.show_turns(())
            await self._screen.tell("The conversation is forgotten; its file keeps what was said.")

    async def _resume(self, name: str) -> None:
        if not name:
            names = ", ".join(self._store.names()[:_SHOWN_NAMES]) or "none is kept yet"
            await self._screen.tell(f"/resume NAME goes on with one of: {names}.")
        elif self._is_free():
            chat = self._store.read(name)
            self._talk.resume(chat)
            await self._screen.show_turns(chat.turns)
            self._screen.put(chat.unanswered)
            await self._screen.tell(f"Going on with {chat.name}.")

    def _is_free(self) -> bool:
        """Whether models are there and no reply is under way; says so if not."""
        if self._talk.is_busy:
            self._screen.warn("Esc stops the reply first.")
        elif not self._talk.prepare():
            self._screen.warn("The models are still loading.")
        else:
            return True
        return False

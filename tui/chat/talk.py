"""Talk: one chat behind its screen: what was said, the reply under way, the file it is kept in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlx_specdec.chat.file import ChatFile
from mlx_specdec.chat.record import USER, ChatHeader, ChatTurn, SavedChat, drop_last_turn
from mlx_specdec.chat.reply_track import Gain, ReplyTrack
from mlx_specdec.chat.settings import kept_settings, resumed_settings
from mlx_specdec.conversation import Conversation, Message
from mlx_specdec.events import Event
from mlx_specdec.last_pair import draft_name, remember_pair, spec_name
from mlx_specdec.model_spec import PairSpec
from tui.bridge import Bridge, Feed
from tui.chat.opening import ChatOpening
from tui.state import AppState

__all__ = ["Talk"]


class Talk:
    """Knows no widget. The engine's conversation follows ``turns``, which are the truth here.

    Args:
        state: its settings are those of the next reply; replies are added to it.
        bridge: the way to the engine.
    """

    def __init__(self, state: AppState, bridge: Bridge, opening: ChatOpening) -> None:
        self._state = state
        self._bridge = bridge
        self._opening = opening
        self._feed: Feed | None = None
        self._pair: PairSpec | None = None
        self._file: ChatFile | None = None
        self._resumed = opening.resumed
        self.turns: list[ChatTurn] = []
        self.system = opening.system or ""
        self.track: ReplyTrack | None = None
        if self._resumed is not None:
            self._take_over(self._resumed, opening.system)

    @property
    def is_busy(self) -> bool:
        """Whether a reply is under way."""
        return self._feed is not None

    @property
    def kept_as(self) -> str:
        """The chat's name; empty while nothing is kept."""
        if not self._opening.is_kept or self.problem:
            return ""
        if self._file is None:
            return self._resumed.name if self._resumed is not None else ""
        return self._file.name

    @property
    def problem(self) -> str:
        """Why the chat is not kept although it should be."""
        return self._file.problem if self._file is not None else ""

    def prepare(self) -> bool:
        """Once models are ready: tell the engine what was said so far. False while they are not.

        A pair that is new gets the whole conversation.
        """
        if not self._state.is_ready or self._state.pair is None:
            return False
        if self._pair is not self._state.pair:
            self._pair = self._state.pair
            settings = self._state.settings
            if self._resumed is not None:
                settings = resumed_settings(settings, self._resumed.header.settings)
            self._state.settings = self._opening.with_options(settings)
            self._tell_engine()
        return True

    def send(self, text: str) -> None:
        """The person's turn; the reply comes through ``poll``.

        Raises:
            SpecdecError: no models are loaded, or a setting is outside its range.
        """
        feed = self._bridge.start_reply(text, self._state.settings)
        if self._pair is not None and not self.turns:
            remember_pair(self._pair)
        self._feed, self.track = feed, None
        self._kept().user(text)
        self.turns.append(ChatTurn(USER, text))
        self._state.replies.append(())

    def stop(self) -> None:
        """End the reply after the round under way; what was said stays."""
        if self._feed is not None:
            self._feed.cancel()

    def poll(self) -> Gain:
        """What the reply has brought since the last time; ``is_busy`` is False after its end."""
        if self._feed is None:
            return Gain()
        events: list[Event] = self._feed.poll()
        if not events:
            return Gain()
        if self.track is None:
            self.track = ReplyTrack(self._bridge.begins_thinking)
            self._kept().begin_reply(self.track.begins_thinking)
        gain = self.track.add(events)
        self._kept().reply_piece(gain.raw)
        self._state.replies[-1] = tuple(self.track.events)
        if self.track.is_over:
            self._end(self.track)
        return gain

    def drop_last(self) -> None:
        """Take the last message and its reply back."""
        drop_last_turn(self.turns)
        self._kept().drop_last_turn()
        self._bridge.conversation_call(lambda session: _drop_last(session.conversation))

    def clear(self) -> None:
        """Forget the conversation; the figures begin anew as well."""
        self.turns.clear()
        self._state.replies.clear()
        self.track = None
        if self._file is not None:
            self._file.clear()
        self._bridge.conversation_call(lambda session: session.clear())

    def set_system(self, text: str) -> None:
        """What the model is told beforehand."""
        self.system = text
        if self._file is not None:
            self._file.set_system(text)
        self._tell_engine()

    def set_settings(self, settings: Any) -> None:
        """From the next reply on."""
        self._state.settings = settings
        if self._file is not None:
            self._file.set_settings(kept_settings(settings))

    def resume(self, chat: SavedChat) -> None:
        """Leave this chat and go on with another one."""
        self.close()
        self._file, self.track = None, None
        self._state.replies.clear()
        self._resumed = chat
        self._take_over(chat, None)
        self._state.settings = resumed_settings(self._state.settings, chat.header.settings)
        self._tell_engine()

    def close(self) -> None:
        """Nothing more is written."""
        if self._file is not None:
            self._file.close()

    def _take_over(self, chat: SavedChat, system: str | None) -> None:
        self.turns = list(chat.turns)
        self.system = chat.header.system if system is None else system

    def _tell_engine(self) -> None:
        if self._pair is None:
            return
        messages = [turn.message for turn in self.turns]
        system, options = self.system, dict(self._opening.template_options)
        self._bridge.conversation_call(
            lambda session: _set(session.conversation, messages, system, options)
        )

    def _kept(self) -> ChatFile:
        if self._file is None:
            store = self._opening.store if self._opening.is_kept else None
            self._file = ChatFile(store, self._header(), self._resumed)
        return self._file

    def _header(self) -> ChatHeader:
        pair = self._state.pair
        names = ("", "none")
        if pair is not None:
            names = (spec_name(pair.target), draft_name(pair))
        return ChatHeader(*names, kept_settings(self._state.settings), self.system)

    def _end(self, track: ReplyTrack) -> None:
        self._feed = None
        self._kept().end_reply(track.turn)
        if track.text:
            self.turns.append(track.turn)
        else:
            drop_last_turn(self.turns)  # the session takes an unanswered message back as well
        if not track.num_tokens:
            self._state.replies.pop()


def _set(
    conversation: Conversation, messages: list[Message], system: str, options: Mapping[str, object]
) -> None:
    conversation.messages[:] = messages
    conversation.system = system
    conversation.template_options = options


def _drop_last(conversation: Conversation) -> None:
    messages = conversation.messages
    while messages and messages.pop().role != USER:
        pass

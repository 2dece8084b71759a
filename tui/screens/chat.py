"""ChatScreen: a conversation with the pair, its figures beside it. Composes and wires, no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from mlx_specdec.chat.commands import completions, parse_command
from mlx_specdec.chat.record import USER, ChatTurn
from mlx_specdec.chat.reply_track import Gain, ReplyTrack
from mlx_specdec.errors import SpecdecError
from mlx_specdec.figures import short_name
from mlx_specdec.safe_text import safe_text
from tui.bridge import Bridge
from tui.chat.clipboard import BY_TERMINAL, copy_by_program
from tui.chat.help import empty_words, end_note, key_words, loading_words
from tui.chat.opening import ChatOpening
from tui.chat.orders import ChatOrders
from tui.chat.talk import Talk
from tui.chat.words import Figures, top_words
from tui.collector import hold_full_rounds, release_full_rounds
from tui.messages import StateChanged
from tui.state import AppState, pair_words
from tui.widgets.chat_input import ChatInput, CompletionList
from tui.widgets.chat_lines import Prompt, RuleLine, Welcome
from tui.widgets.chat_panel import ChatPanel, FiguresLine
from tui.widgets.chat_transcript import Transcript
from tui.widgets.chat_turns import ReplyTurn, UserTurn
from tui.widgets.key_line import KeyLine
from tui.widgets.top_line import TopLine

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Resize
from textual.screen import Screen

__all__ = ["ChatScreen"]

TEXT_SECONDS = 0.1
FIGURES_SECONDS = 0.25
WARNING_SECONDS = 3.0
QUIET_SECONDS = 2.0
WIDE = 110


class ChatScreen(Screen[None]):
    """The chat.

    Args:
        state: what is loaded and set.
        bridge: the way to the engine.
        opening: what the command line said of the chat.
        copier: copies with a program and says which; empty where the terminal must.
    """

    DEFAULT_CSS = """
    ChatScreen #body { height: 1fr; }
    ChatScreen #entry { height: auto; }
    ChatScreen #panel { display: none; }
    ChatScreen.-wide #panel { display: block; }
    ChatScreen.-wide #figures { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "escape", "back", show=False, priority=True),
        Binding("t", "toggle_tokens", "tokens", show=False),
        Binding("l", "app.show('ledger')", "ledger", show=False),
        Binding("slash", "begin_command", "commands", show=False),
    ]
    AUTO_FOCUS = "#input"

    def __init__(
        self,
        state: AppState,
        bridge: Bridge,
        opening: ChatOpening | None = None,
        copier: Callable[[str], str] = copy_by_program,
    ) -> None:
        super().__init__()
        self._state = state
        self._bridge = bridge
        self._opening = ChatOpening() if opening is None else opening
        self._copier = copier
        self._talk = Talk(state, bridge, self._opening)
        self._orders = ChatOrders(self._talk, state, self._opening.store, self)
        self._figures = Figures(state)
        self._reply: ReplyTurn | None = None
        self._shows_tokens = False
        self._is_editing = False
        self._waiting = ""  # sent while the models were loading
        self._ticks = 0

    # ------------------------------------------------------------------ parts

    def compose(self) -> ComposeResult:
        self._completions = CompletionList()
        self._input = ChatInput(self._completions)
        self._transcript = Transcript()
        yield TopLine("chat", pair_words(self._state))
        with Horizontal(id="body"):
            yield self._transcript
            yield ChatPanel()
        yield FiguresLine()
        yield RuleLine()
        yield self._completions
        with Horizontal(id="entry"):
            yield Prompt()
            yield self._input
        yield KeyLine(())

    async def on_mount(self) -> None:
        self._welcome = Welcome()
        await self._transcript.mount(self._welcome)
        await self.show_turns(self._talk.turns)
        if self._opening.resumed is not None and self._opening.resumed.unanswered:
            self._input.put(self._opening.resumed.unanswered)
        self._text_timer = self.set_interval(TEXT_SECONDS, self.take_text, pause=True)
        self._figures_timer = self.set_interval(FIGURES_SECONDS, self.show_figures)
        self._update_words()

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.width >= WIDE, "-wide")
        self.call_after_refresh(self._update_words)

    async def on_state_changed(self, message: StateChanged) -> None:
        self._update_words()
        waiting = self._waiting
        if waiting and self._talk.prepare():
            self._waiting = ""
            if self._input.text.strip() == waiting:  # else it was written anew meanwhile
                await self._send(waiting)

    def on_unmount(self) -> None:
        self._talk.close()
        release_full_rounds()

    @property
    def is_busy(self) -> bool:
        """Whether a reply is under way."""
        return self._talk.is_busy

    # ------------------------------------------------------------------ saying

    async def on_chat_input_sent(self, message: ChatInput.Sent) -> None:
        text = message.text
        try:
            command = parse_command(text)
            if command is not None:
                self._input.remember(text.strip())
                self._input.put("")
                await self._orders.obey(*command)
            else:
                await self._send(text.strip())
        except SpecdecError as error:
            self._say_error(error)

    async def _send(self, text: str) -> None:
        if not self._talk.prepare():
            self._waiting = text
            self.warn("Sent as soon as the models are ready.")
            return
        if self._talk.is_busy:
            self.warn("One reply at a time: esc stops this one.")
            return
        if self._is_editing:
            await self._drop_edited()
        self._talk.send(text)
        self._input.remember(text)
        self._input.put("")
        self._reply = ReplyTurn(self._target_name(), self._shows_tokens)
        await self._transcript.mount(UserTurn(text), self._reply)
        self._reply.set_note("reading …   esc stops")
        self._transcript.follow()
        self._text_timer.resume()
        self._figures_timer.pause()
        hold_full_rounds()
        self._update_words()

    async def take_text(self) -> None:
        gain = self._talk.poll()
        self._ticks += 1
        if self._ticks % 5 in (0, 2):  # four times a second, in a frame that the text draws anyway
            self.show_figures()
        track, reply = self._talk.track, self._reply
        if track is None or reply is None:
            return
        self._show_gain(reply, track, gain)
        if track.is_over:
            self._text_timer.pause()
            self._figures_timer.resume()
            reply.end()
            self._show_end(reply, track)

    def _show_gain(self, reply: ReplyTurn, track: ReplyTrack, gain: Gain) -> None:
        if not gain.raw and not track.is_over:
            return
        reply.add(gain.thinking, gain.answer, gain.emitted)
        seconds = track.thinking_seconds
        if seconds is not None:
            is_open = track.is_thinking and not track.is_over
            reply.set_thinking("thinking" if is_open else f"thought for {seconds:.1f} s")
        reply.set_note("esc stops")

    def _show_end(self, reply: ReplyTurn, track: ReplyTrack) -> None:
        self._reply = None
        self.set_timer(QUIET_SECONDS, self._release_collector)
        words, is_warning = end_note(track, self._state.settings.max_tokens)
        reply.set_note(words, is_warning)
        if track.failure is not None:
            self._say(track.failure.message, track.failure.hint, track.failure.title)
        if not track.text:
            self._give_back(reply)
        if self._talk.problem:
            self.notify(safe_text(self._talk.problem), severity="warning", markup=False)
        self.show_figures()
        self._update_words()

    def _release_collector(self) -> None:
        if not self._talk.is_busy:
            release_full_rounds()

    def _give_back(self, reply: ReplyTurn) -> None:
        """Nothing was answered: the words go back to where they can be sent again."""
        reply.is_part = False
        asked = self._transcript.last_asked()
        if asked is not None:
            asked.is_part = False
            if not self._input.text:
                self._input.put_last(asked.source)

    # ------------------------------------------------------------------ editing

    def on_chat_input_edit_last(self) -> None:
        asked = self._transcript.last_asked()
        if self._talk.is_busy:
            self.warn("Esc stops the reply; then up edits your message.")
        elif asked is None or not self._talk.turns:
            self._input.put_last()
        else:
            self._is_editing = True
            self._transcript.mark_leaving(asked)
            self._input.put_last(asked.source)
            self._update_words()

    async def _drop_edited(self) -> None:
        self._is_editing = False
        self._talk.drop_last()
        await self._transcript.remove_leaving()

    def _leave_as_it_was(self) -> None:
        self._is_editing = False
        self._transcript.mark_leaving(None)
        self._input.put("")
        self._update_words()

    # ------------------------------------------------------------------ keys

    def action_escape(self) -> None:
        """One step back: the list, the edit, the reply, the field."""
        if self._completions.is_open:
            self._completions.offer(())
            self._update_words()
        elif self._is_editing:
            self._leave_as_it_was()
        elif self._talk.is_busy:
            self.action_stop()
        elif self._input.has_focus:
            self.set_focus(self._transcript)
        else:
            self.set_focus(self._input)

    def action_stop(self) -> None:
        """End the reply; what was said stays."""
        self._talk.stop()
        if self._reply is not None:
            self._reply.set_note("stopping …")

    def action_toggle_tokens(self) -> None:
        """All replies token by token, or as Markdown again."""
        self._shows_tokens = not self._shows_tokens
        self._transcript.show_tokens(self._shows_tokens)
        self._update_words()

    def action_page(self, by: int) -> None:
        """Scroll the transcript by a page, without leaving the field."""
        scroll = self._transcript.scroll_page_up if by < 0 else self._transcript.scroll_page_down
        scroll(animate=False)

    def action_begin_command(self) -> None:
        """A slash in the transcript begins a command."""
        self.set_focus(self._input)
        if not self._input.text:
            self._input.put("/")

    def on_chat_input_ended(self) -> None:
        self.app.exit()

    def on_text_area_changed(self) -> None:
        names = self._opening.store.names() if self._input.text.startswith("/resume ") else ()
        self._completions.offer(completions(self._input.text, names))
        self._update_words()

    def on_descendant_focus(self) -> None:
        self._update_words()

    def on_transcript_moved(self) -> None:
        self._update_words()

    def on_transcript_write(self) -> None:
        self.set_focus(self._input)

    async def on_transcript_copy(self, message: Transcript.Copy) -> None:
        by = await asyncio.to_thread(self._copier, message.text)
        if not by:
            self.app.copy_to_clipboard(message.text)
        self.warn(f"Copied {message.what} with {by or BY_TERMINAL}.")

    # ------------------------------------------------------------------ words and figures

    def _update_words(self) -> None:
        if not self.is_mounted:
            return
        is_ready = self._talk.prepare()
        state = self._state
        self._welcome.display = not self._transcript.turns
        self._welcome.say(empty_words(state, self._bridge.opening))
        self._show_top()
        self.query_one(RuleLine).set_words(self._rule_words(is_ready))
        self.query_one(KeyLine).set_keys(key_words(self._mode(), self._shows_tokens))

    def _rule_words(self, is_ready: bool) -> str:
        if not is_ready:
            return loading_words(self._state, self._bridge.opening)
        if self._is_editing:
            return "editing your last message: esc leaves it as it was"
        return f"kept in {self._talk.kept_as}.jsonl" if self._talk.kept_as else ""

    def _mode(self) -> str:
        if self._transcript.has_focus:
            return "read"
        if self._completions.is_open:
            return "complete"
        return "edit" if self._is_editing else "reply" if self._talk.is_busy else "write"

    def show_figures(self) -> None:
        """Draw the figures as they are now."""
        reply, chat = self._figures.now()
        self.query_one(ChatPanel).show(reply, chat)
        self.query_one(FiguresLine).show(reply, chat)
        if self._talk.is_busy:
            self._show_top()

    def _show_top(self) -> None:
        is_wide = self.size.width >= WIDE
        self.query_one(TopLine).set_right(top_words(self._state, is_wide))

    # ------------------------------------------------------------------ showing

    async def show_turns(self, turns: Sequence[ChatTurn]) -> None:
        """The transcript anew, with what was said before."""
        for turn in turns:
            if turn.role == USER:
                self._input.remember(turn.text)
        await self._transcript.show_kept(turns, self._target_name(), self._shows_tokens)
        self.show_figures()
        self._update_words()

    async def tell(self, words: str) -> None:
        """What the app itself has to say."""
        await self._transcript.tell(words)
        self._update_words()

    def put(self, text: str) -> None:
        """Text to be sent, or written anew."""
        self._input.put(text)

    def warn(self, words: str) -> None:
        """A few words for a moment."""
        self.notify(safe_text(words), markup=False, timeout=WARNING_SECONDS)

    def leave(self) -> None:
        """End the app."""
        self.app.exit()

    def _say_error(self, error: SpecdecError) -> None:
        self._say(error.message, error.hint, "" if error.exit_code == 2 else error.title)

    def _say(self, message: str, hint: str, title: str) -> None:
        text = safe_text(f"{message} {hint}".strip())
        self.notify(text, title=safe_text(title), severity="error", markup=False)

    def _target_name(self) -> str:
        if self._state.pair is not None:
            return short_name(self._state.pair.target)
        resumed = self._opening.resumed
        return resumed.header.target.rsplit("/", 1)[-1] if resumed is not None else "reply"

"""Transcript: all turns; follows what is written, and lets single keys move over the turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlx_specdec.chat.record import USER, ChatTurn
from tui.widgets.chat_markdown import ChatFence
from tui.widgets.chat_turns import AppTurn, Place, ReplyTurn, ThinkingLine, Turn, UserTurn

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.widget import Widget

__all__ = ["Transcript"]

_NEAR_ROWS = 3  # what a wheel's tick misses the end by while the text grows


class Transcript(VerticalScroll, can_focus=True):
    """The conversation. Where the keyboard is here, one place is selected.

    Places are messages, thinking lines and blocks of code, in the order in which they stand.
    """

    DEFAULT_CSS = """
    Transcript { height: 1fr; width: 1fr; padding: 1 0 0 0; scrollbar-size-vertical: 1; }
    """
    BLANK = True
    virtual_size = Reactive(Size(0, 0), repaint=False)  # Textual would do all of it twice
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "next", show=False),
        Binding("k,up", "move(-1)", "previous", show=False),
        Binding("g,home", "go(0)", "first", show=False),
        Binding("G,end", "go(-1)", "last", show=False),
        Binding("y", "copy", "copy", show=False),
        Binding("enter", "open", "open", show=False),
        Binding("i", "write", "write", show=False),
    ]

    @dataclass
    class Copy(Message):
        """Copy this text; ``what`` says in a word or two what it is."""

        text: str
        what: str

    class Write(Message):
        """The person wants to write."""

    class Moved(Message):
        """Another place is selected."""

    def __init__(self) -> None:
        super().__init__(id="transcript")
        self.selected: Place | None = None

    def follow(self) -> None:
        """Show the end, and keep showing it while the text grows."""
        self._settle()
        if self.is_anchored:
            self.anchor()

    def watch_virtual_size(self) -> None:
        self._settle()

    def on_resize(self) -> None:
        self._settle()

    def _settle(self) -> None:
        """Anchor the end only where there is more than the screen shows: else it would sink."""
        overflows = self.virtual_size.height > self.container_size.height
        if overflows != self.is_anchored:
            self.anchor(overflows)
            if not overflows:
                self.scroll_home(animate=False, immediate=True, force=True)

    @property
    def turns(self) -> list[Turn]:
        return list(self.query_children(Turn))

    @property
    def stops(self) -> list[Place]:
        return [stop for turn in self.turns for stop in turn.stops]

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if new_value > old_value and new_value >= self.max_scroll_y - _NEAR_ROWS:
            self.follow()

    def release_anchor(self) -> None:
        """Scrolling releases the anchor; scrolling down at the very end must not."""
        super().release_anchor()
        self.call_after_refresh(self._follow_at_end)

    def _follow_at_end(self) -> None:
        if min(self.scroll_y, self.scroll_target_y) >= self.max_scroll_y > 0:
            self.follow()

    def on_focus(self) -> None:
        messages = [turn for turn in self.turns if turn.stops]
        self.select(messages[-1] if messages else None)

    def on_blur(self) -> None:
        self.select(None)

    def select(self, place: Place | None) -> None:
        """Select one place, or none."""
        if self.selected is not None:
            _mark(self.selected, False)
        self.selected = place
        if place is not None:
            _mark(place, True)
            is_last = place == self.stops[-1]
            self._show_place(place)
            if is_last:
                self.follow()
        self.post_message(self.Moved())

    def _show_place(self, place: Place) -> None:
        if not isinstance(place, ChatFence):
            self.scroll_to_widget(place, animate=False, top=False)
            return
        region = place.region
        for widget in place.view.ancestors_with_self:
            if widget is self or not isinstance(widget, Widget):
                break
            region = region.translate(widget.virtual_region.offset)
        self.scroll_to_region(region, animate=False, top=False)

    def action_move(self, by: int) -> None:
        stops = self.stops
        if not stops:
            return
        here = stops.index(self.selected) if self.selected in stops else len(stops)
        self.select(stops[min(max(here + by, 0), len(stops) - 1)])

    def action_go(self, place: int) -> None:
        stops = self.stops
        if stops:
            self.select(stops[place])
        if place:
            self.follow()

    def action_copy(self) -> None:
        if isinstance(self.selected, ChatFence):
            self.post_message(self.Copy(self.selected.code, "the code"))
        elif isinstance(self.selected, Turn):
            self.post_message(self.Copy(self.selected.source, "the message"))
        elif isinstance(self.selected, ThinkingLine):
            self.post_message(self.Copy(self.selected.source, "the thinking"))

    def action_open(self) -> None:
        """Unfold or fold the thinking that is selected; else go back to writing."""
        if isinstance(self.selected, ThinkingLine):
            self.selected.toggle()
        else:
            self.post_message(self.Write())

    def action_write(self) -> None:
        self.post_message(self.Write())

    def show_tokens(self, shows: bool) -> None:
        """All replies token by token, or as Markdown."""
        for turn in self.query_children(ReplyTurn):
            turn.show_tokens(shows)
        if self.selected is not None and self.selected not in self.stops:
            self.select(_turn_of(self.selected))

    async def show_kept(self, turns: Sequence[ChatTurn], name: str, shows_tokens: bool) -> None:
        """A chat that was kept, in place of all that stands here; ``name`` is who answers."""
        self.select(None)
        await self.query_children(Turn).remove()
        for turn in turns:
            if turn.role == USER:
                await self.mount(UserTurn(turn.text))
                continue
            reply = ReplyTurn(name, shows_tokens)
            await self.mount(reply)
            reply.show_kept(turn)
        self.follow()

    async def tell(self, words: str) -> None:
        """What the app itself has to say."""
        await self.mount(AppTurn(words))
        self.follow()

    def last_asked(self) -> UserTurn | None:
        """The person's last message that the model knows."""
        asked = [turn for turn in self.query_children(UserTurn) if turn.is_part]
        return asked[-1] if asked else None

    def mark_leaving(self, first: Turn | None) -> None:
        """Dim the turns from ``first`` on: they go once it is sent anew; None takes that back."""
        turns = self.turns
        start = turns.index(first) if first is not None else len(turns)
        for place, turn in enumerate(turns):
            turn.set_class(place >= start, "-leaving")

    async def remove_leaving(self) -> None:
        """Take the dimmed turns away."""
        await self.query_children(".-leaving").remove()


def _mark(place: Place, is_selected: bool) -> None:
    if isinstance(place, ChatFence):
        place.set_selected(is_selected)
    else:
        place.set_class(is_selected, "-selected")


def _turn_of(place: Place) -> Turn | None:
    widget = place.view if isinstance(place, ChatFence) else place
    return next((turn for turn in widget.ancestors if isinstance(turn, Turn)), None)

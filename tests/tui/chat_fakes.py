"""What stands in for the engine in tests of the chat: replies made of words, fed by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from mlx_specdec.chat.store import ChatStore
from mlx_specdec.conversation import Conversation
from mlx_specdec.errors import SpecdecError
from mlx_specdec.events import (
    Check,
    Emitted,
    Event,
    Failed,
    Finished,
    Prefilled,
    Proposed,
    Round,
    Timings,
)
from mlx_specdec.model_spec import ModelSpec, PairSpec
from mlx_specdec.settings import Settings
from tui.bridge import Bridge
from tui.chat.opening import ChatOpening
from tui.opening import Opening
from tui.screens.chat import ChatScreen
from tui.state import AppState

from textual.app import App
from textual.pilot import Pilot

PASS_SECONDS = 0.08
PREFILL_SECONDS = 0.4
PAIR = PairSpec(
    ModelSpec(alias="qwen3-14b", repo="mlx-community/Qwen3-14B-4bit", bits=4, group_size=64),
    ModelSpec(alias="qwen3-0.6b", repo="mlx-community/Qwen3-0.6B-4bit", bits=4, group_size=64),
)


def reply_events(
    text: str, *, kept: Sequence[int] = (3, 1, 2, 3, 0), drafts: bool = True, prompt: int = 40
) -> list[Event]:
    """Prefilled, then rounds that emit the words of ``text``; how it ends is up to the caller.

    Args:
        kept: guesses kept by each round of three, over and over.
        drafts: False emits one word a pass.
    """
    words = re.findall(r"\s*\S+\s*?(?=\s|$)|\s+", text)
    events: list[Event] = [Prefilled(prompt, 0, PREFILL_SECONDS, PREFILL_SECONDS)]
    at, place, index = PREFILL_SECONDS + PASS_SECONDS, 0, 0
    while place < len(words):
        num_kept = kept[(index - 1) % len(kept)] if index and drafts else 0
        emitted = words[place : place + num_kept + 1]
        guesses = 3 if index and drafts else 0
        kinds = ["accepted"] * num_kept + [_own_kind(index, guesses, num_kept)]
        events.append(
            Round(
                index,
                prompt + place,
                guesses,
                tuple(Proposed(i, f" g{i}", 0.5, 0.5) for i in range(guesses)),
                tuple(Check(0.9, 0.1, i < num_kept) for i in range(min(num_kept + 1, guesses))),
                num_kept,
                tuple(
                    Emitted(100 + place + i, word, kind, 1.0)
                    for i, (word, kind) in enumerate(zip(emitted, kinds, strict=False))
                ),
                Timings(),
                at,
            )
        )
        at, place, index = at + PASS_SECONDS, place + num_kept + 1, index + 1
    return events


def _own_kind(index: int, guesses: int, num_kept: int) -> str:
    if not guesses:
        return "sampled"
    return "bonus" if num_kept == guesses else "recovered"


def finished(reason: str = "stop", at: float = 9.0) -> Finished:
    return Finished(reason, at, peak_memory_bytes=10_100_000_000)


def failed(
    title: str = "The context is full",
    message: str = "The prompt takes 96 of 96 tokens.",
    hint: str = "Begin anew with /clear.",
) -> Failed:
    return Failed("ContextFullError", title, message, hint, 1.0)


class FakeFeed:
    """Hands out what the test puts in; cancelled, it ends at the next poll."""

    def __init__(self) -> None:
        self.waiting: list[Event] = []
        self.is_cancelled = False
        self.is_done = False

    def put(self, *events: Event) -> None:
        self.waiting += events

    def cancel(self) -> None:
        self.is_cancelled = True

    def poll(self) -> list[Event]:
        events, self.waiting = self.waiting, []
        if self.is_cancelled and not self.is_done:
            events.append(finished("cancelled"))
        self.is_done = any(isinstance(event, Finished | Failed) for event in events)
        return events


class FakeBridge(Bridge):
    """No engine: replies are FakeFeeds, and the conversation is a plain one."""

    def __init__(self) -> None:
        super().__init__()
        self.feeds: list[FakeFeed] = []
        self.asked: list[tuple[str | None, Settings]] = []
        self.conversation = Conversation()
        self.thinks = False

    @property
    def opening(self) -> Opening:
        return Opening(1, "ready", PAIR)

    @property
    def begins_thinking(self) -> bool:
        return self.thinks

    @property
    def feed(self) -> FakeFeed:
        return self.feeds[-1]

    def start_reply(self, text: str | None, settings: Settings) -> Any:
        settings.request((0,))
        self.asked.append((text, settings))
        self.feeds.append(FakeFeed())
        return self.feed

    def conversation_call(self, function: Callable[[Any], Any]) -> Any:
        session = SimpleNamespace(conversation=self.conversation, clear=self.conversation.clear)
        future: Future[Any] = Future()
        try:
            future.set_result(function(session))
        except SpecdecError as error:
            future.set_exception(error)
        return future

    def close(self) -> bool:
        return True


def chat_state(**changes: Any) -> AppState:
    """A pair that is loaded, with what is known of it."""
    state = AppState(
        pair=PAIR,
        machine="M3 Pro 36 GB",
        is_ready=True,
        context_length=40_960,
        weight_bytes=8_650_000_000,
        memory_limit_bytes=27_000_000_000,
    )
    for name, value in changes.items():
        setattr(state, name, value)
    return state


class ChatHost(App[None]):
    """An app with nothing but the chat."""

    def __init__(
        self,
        store: ChatStore | None = None,
        state: AppState | None = None,
        opening: ChatOpening | None = None,
        copier: Callable[[str], str] = lambda text: "",
    ) -> None:
        super().__init__()
        self.state = chat_state() if state is None else state
        self.fake = FakeBridge()
        if opening is None:
            opening = ChatOpening(ChatStore() if store is None else store, store is not None)
        self.chat = ChatScreen(self.state, self.fake, opening, copier)
        self.said: list[str] = []

    def on_mount(self) -> None:
        self.push_screen(self.chat)

    def notify(self, message: str, **more: Any) -> None:
        self.said.append(" ".join(filter(None, (more.get("title", ""), message))))


async def type_text(pilot: Pilot[Any], text: str) -> None:
    """As if typed, key by key."""
    keys = {" ": "space", "/": "slash", "\\": "backslash", "\n": "ctrl+j", ".": "full_stop"}
    await pilot.press(*(keys.get(sign, sign) for sign in text))


async def say(pilot: Pilot[Any], host: ChatHost, text: str, *events: Event) -> None:
    """Send a message and let these events be the reply."""
    await type_text(pilot, text)
    await pilot.press("enter")
    await pilot.pause()
    if events:
        await bring(pilot, host, *events)


async def bring(pilot: Pilot[Any], host: ChatHost, *events: Event) -> None:
    """The engine says more, and the screen takes it in."""
    host.fake.feed.put(*events)
    await host.chat.take_text()
    await pilot.pause()
    host.chat.show_figures()
    await pilot.pause()


def screen_text(app: App[Any]) -> str:
    """What stands on the screen, row by row."""
    width = app.size.width
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text[:width].rstrip() for strip in strips)

"""Every state of the chat as it looks, at two sizes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from mlx_specdec.costs.prices import Prices
from mlx_specdec.ledger.latency import LatencyModel
from tests.tui.chat_fakes import (
    ChatHost,
    bring,
    chat_state,
    failed,
    finished,
    reply_events,
    say,
    type_text,
)

import pytest
from textual.pilot import Pilot

SIZES = [(80, 24), (120, 36)]
PRICES = Prices(LatencyModel(0.0652, 0.06), "measured", "passes measured here 4 min ago")
MERGE = """Walk both lists with one index each and always take the smaller head:

```python
def merge(a, b):
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i]); i += 1
        else:
            out.append(b[j]); j += 1
    return out + a[i:] + b[j:]
```

Every step appends **one element** and moves one index forward, so there are
at most `len(a) + len(b)` steps: the time is linear."""
THOUGHT = f"<think>\nTwo sorted lists.\nOne index each will do.\n</think>\n\n{MERGE}"
Steps = Callable[[Pilot[None], ChatHost], Awaitable[None]]


async def empty(pilot: Pilot[None], host: ChatHost) -> None:
    await pilot.pause()


async def streaming(pilot: Pilot[None], host: ChatHost) -> None:
    await say(pilot, host, "merge two sorted lists", *reply_events(MERGE[:280]))


async def with_code(pilot: Pilot[None], host: ChatHost) -> None:
    await say(pilot, host, "merge two sorted lists", *reply_events(MERGE), finished(at=4.6))


async def folded(pilot: Pilot[None], host: ChatHost) -> None:
    await say(pilot, host, "merge two sorted lists", *reply_events(THOUGHT), finished(at=4.9))


async def unfolded(pilot: Pilot[None], host: ChatHost) -> None:
    await folded(pilot, host)
    await pilot.press("escape", "j", "enter")


async def stopped(pilot: Pilot[None], host: ChatHost) -> None:
    await streaming(pilot, host)
    await pilot.press("escape")
    await bring(pilot, host)


async def failing(pilot: Pilot[None], host: ChatHost) -> None:
    await say(pilot, host, "hello", *reply_events("Hello, what can I do?"), finished(at=2.0))
    await say(pilot, host, "go on", *reply_events("Once upon a time"), failed())


async def tokens(pilot: Pilot[None], host: ChatHost) -> None:
    await with_code(pilot, host)
    await pilot.press("escape", "t")


async def code_selected(pilot: Pilot[None], host: ChatHost) -> None:
    await with_code(pilot, host)
    await pilot.press("escape", "j")


async def commands(pilot: Pilot[None], host: ChatHost) -> None:
    await pilot.press("slash")


async def editing(pilot: Pilot[None], host: ChatHost) -> None:
    await failing(pilot, host)
    await pilot.press("up")


async def several_lines(pilot: Pilot[None], host: ChatHost) -> None:
    await type_text(pilot, "one\ntwo\nthree")


async def not_drafting(pilot: Pilot[None], host: ChatHost) -> None:
    await say(pilot, host, "hello", *reply_events("word " * 30, drafts=False), finished(at=3.0))


STATES: dict[str, Steps] = {
    steps.__name__: steps
    for steps in (
        empty,
        streaming,
        with_code,
        folded,
        unfolded,
        stopped,
        failing,
        tokens,
        code_selected,
        commands,
        editing,
        several_lines,
        not_drafting,
    )
}


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x36"])
@pytest.mark.parametrize("name", STATES)
def test_chat_state(name: str, size: tuple[int, int], snap_compare: Any) -> None:
    host = ChatHost(state=chat_state(prices=PRICES))

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.pause()
        await STATES[name](pilot, host)
        await pilot.pause()

    assert snap_compare(host, terminal_size=size, run_before=steps)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x36"])
def test_chat_without_prices(size: tuple[int, int], snap_compare: Any) -> None:
    """No estimate without a price, and the reason in its place."""
    host = ChatHost()

    async def steps(pilot: Pilot[None]) -> None:
        await with_code(pilot, host)

    assert snap_compare(host, terminal_size=size, run_before=steps)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x36"])
def test_chat_tokens_without_colours(
    size: tuple[int, int], snap_compare: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the target wrote is underlined."""
    monkeypatch.setenv("NO_COLOR", "1")
    host = ChatHost(state=chat_state(prices=PRICES))

    async def steps(pilot: Pilot[None]) -> None:
        await tokens(pilot, host)

    assert snap_compare(host, terminal_size=size, run_before=steps)

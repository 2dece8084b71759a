"""The ledger's screen: every state at both sizes, every key, and what it asks of the app."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from mlx_specdec.events import Round
from mlx_specdec.ledger.words import headline
from mlx_specdec.model_spec import ModelSpec, PairSpec
from mlx_specdec.race.recording import Recording
from tests.races import DRAWN_PRICES, golden, made_lane
from tui.ledger_scopes import scopes
from tui.messages import StateChanged
from tui.screens.ledger import LedgerScreen
from tui.state import AppState
from tui.widgets.key_line import KeyLine

import pytest
from textual.app import App
from textual.pilot import Pilot

SIZES = [pytest.param((80, 24), id="80x24"), pytest.param((120, 36), id="120x36")]
PAIR = PairSpec(
    ModelSpec(alias="qwen3-14b", repo="mlx-community/Qwen3-14B-4bit", bits=4, group_size=64),
    ModelSpec(alias="qwen3-0.6b", repo="mlx-community/Qwen3-0.6B-4bit", bits=4, group_size=64),
)
REPLIES = [made_lane([2, 0, 3, 1], 3), made_lane([3, 3, 0], 3)]


class LedgerApp(App[None]):
    """The screen alone, and what it posts."""

    def __init__(self, state: AppState, measure: Callable[[], None] | None = None) -> None:
        super().__init__()
        self.ledger = LedgerScreen(state, measure)
        self.asked: list[Any] = []

    def on_mount(self) -> None:
        self.push_screen(self.ledger)

    def on_ledger_screen_lookahead_chosen(self, message: LedgerScreen.LookaheadChosen) -> None:
        self.asked.append(message.lookahead)

    def on_ledger_screen_share_asked(self, message: LedgerScreen.ShareAsked) -> None:
        self.asked.append("share")


def state_with(name: str = "", *, prices: bool = True, replies: bool = False) -> AppState:
    """The app's state with a golden race, the drawing's prices, two replies."""
    state = AppState(pair=PAIR, machine="M3 Pro 36 GB")
    state.recording = golden(name) if name else None
    state.prices = DRAWN_PRICES if prices else None
    state.replies = list(REPLIES) if replies else []
    return state


STATES = {
    "empty": lambda: state_with(prices=False),
    "empty_priced": lambda: state_with(),
    "fable": lambda: state_with("fable"),
    "slower": lambda: _slower(),
    "parked": lambda: state_with("parked"),
    "toy": lambda: state_with("tiny"),
    "own_totals": lambda: _own_totals(),
    "reply": lambda: state_with(replies=True),
    "reply_unpriced": lambda: state_with(prices=False, replies=True),
}


def _slower() -> AppState:
    race = golden("fable")
    slow = Recording(race.header, made_lane([0] * 60, 0, 0.065), made_lane([1, 0] * 20, 3, 0.13))
    state = state_with()
    state.recording = slow
    return state


def _own_totals() -> AppState:
    race = golden("fable")
    state = state_with()
    state.recording = replace(race, header=replace(race.header, target="own", machine="other"))
    return state


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", STATES)
def test_how_it_looks(name: str, size: tuple[int, int], snap_compare: Any) -> None:
    assert snap_compare(LedgerApp(STATES[name]()), terminal_size=size)


@pytest.mark.parametrize("size", SIZES)
def test_how_a_moved_mark_looks(size: tuple[int, int], snap_compare: Any) -> None:
    app = LedgerApp(state_with("fable"), measure=lambda: None)
    assert snap_compare(app, terminal_size=size, press=["up", "right", "right"])


def piloted(
    app: LedgerApp,
    steps: Callable[[Pilot[None]], Awaitable[None]],
    size: tuple[int, int] = (120, 36),
) -> None:
    """Run the app and what is done with it."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await steps(pilot)

    asyncio.run(run())


def shown(app: LedgerApp) -> str:
    """The screen's text."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def test_arrows_move_the_mark_and_the_waterfall_follows() -> None:
    app = LedgerApp(state_with("fable"))

    async def steps(pilot: Pilot[None]) -> None:
        assert app.ledger.mark == (3, 3)
        assert "WHY 2.65 TOKENS A PASS IS NOT 2.65 TIMES" in shown(app)
        await pilot.press("up")
        assert app.ledger.mark == (2, 3)
        assert "WHAT IF 60 %, LOOKAHEAD 3" in shown(app)
        await pilot.press("right", "down", "down")
        assert app.ledger.mark == (4, 4)
        assert "WHAT IF 80 %, LOOKAHEAD 4" in shown(app)
        await pilot.press(*["left"] * 12, *["up"] * 12)
        assert app.ledger.mark == (0, 0)
        assert "LOOKAHEAD 0: PLAIN DECODING" in shown(app)
        await pilot.press(*["right"] * 12, *["down"] * 12)
        assert app.ledger.mark == (5, 8)

    piloted(app, steps)


def test_enter_asks_for_the_marked_lookahead() -> None:
    app = LedgerApp(state_with("fable"))

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("left", "enter", "right", "right", "enter")
        await pilot.pause()

    piloted(app, steps)
    assert app.asked == [2, 4]


def test_enter_without_prices_asks_for_nothing() -> None:
    unpriced = LedgerApp(state_with(prices=False))

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("enter", "up", "left", "r", "x", "m")
        await pilot.pause()

    piloted(unpriced, steps)
    assert unpriced.asked == []


def test_r_goes_from_the_race_to_the_reply_to_the_chat_and_back() -> None:
    app = LedgerApp(state_with("fable", replies=True))

    async def steps(pilot: Pilot[None]) -> None:
        seen = []
        for _ in range(4):
            seen.append(app.ledger.scope.whose)
            assert f"WHERE THE {seen[-1].upper()}'S" in shown(app)
            await pilot.press("r")
        assert seen == ["race", "reply", "chat", "race"]

    piloted(app, steps)


def test_only_a_chat_whose_guesses_were_all_copied_is_accounted_for_as_copied() -> None:
    copied = tuple(
        replace(event, proposed=tuple(replace(guess, draft_prob=None) for guess in event.proposed))
        if isinstance(event, Round)
        else event
        for event in REPLIES[1]
    )
    state = state_with()
    state.replies = [REPLIES[0], copied]
    reply, chat = scopes(state)
    assert (reply.view.names.draft, chat.view.names.draft) == ("copying", "0.6B")
    assert reply.view.model is not None
    assert chat.view.model is not None
    assert (reply.view.model.draft_cost, chat.view.model) == (0, DRAWN_PRICES.model)
    assert "of the passes copied" in headline(reply.view)[0]
    assert "copied" not in headline(chat.view)[0]


def test_x_shares_a_race_and_only_a_race() -> None:
    app = LedgerApp(state_with("fable", replies=True))

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("x", "r", "x")
        await pilot.pause()

    piloted(app, steps)
    assert app.asked == ["share"]


def test_m_measures_once_it_is_offered() -> None:
    measured: list[str] = []
    app = LedgerApp(state_with("fable"))

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("m")
        assert "m measure" not in shown(app)
        app.ledger.offer_measuring(lambda: measured.append("again"))
        await pilot.press("m")
        assert "m measure again" in shown(app)

    piloted(app, steps)
    assert measured == ["again"]


def test_what_runs_meanwhile_is_taken_in() -> None:
    state = state_with(prices=False)
    app = LedgerApp(state)

    async def steps(pilot: Pilot[None]) -> None:
        assert "Nothing has run yet" in shown(app)
        state.recording = golden("fable")
        state.prices = DRAWN_PRICES
        app.ledger.post_message(StateChanged())
        await pilot.pause()
        await pilot.pause()
        assert "Lookahead 3 is the best setting here: 1.80 times plain." in shown(app)
        await pilot.press("up")
        state.replies.append(REPLIES[0])
        app.ledger.post_message(StateChanged())
        await pilot.pause()
        assert app.ledger.mark == (2, 3)  # a mark stays where a person put it
        await pilot.press("r")
        assert "WHERE THE REPLY'S" in shown(app)

    piloted(app, steps)


@pytest.mark.parametrize("size", [(80, 24), (100, 34), (112, 36), (200, 50)])
@pytest.mark.parametrize("name", STATES)
def test_nothing_is_cut_off(name: str, size: tuple[int, int]) -> None:
    app = LedgerApp(STATES[name]())

    async def steps(pilot: Pilot[None]) -> None:
        body = app.ledger.query_one("#body")
        assert body.max_scroll_y == 0, shown(app)
        assert app.ledger.query_one(KeyLine).region.bottom == size[1]

    piloted(app, steps, size)


@pytest.mark.parametrize("size", [(40, 12), (20, 5), (72, 20)])
def test_a_small_terminal_scrolls_and_breaks_nothing(size: tuple[int, int]) -> None:
    app = LedgerApp(state_with("fable", replies=True))

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("pagedown", "right", "r", "pageup")
        await pilot.resize_terminal(120, 36)
        await pilot.pause()
        assert "WHAT IF" in shown(app)

    piloted(app, steps, size)

"""Measuring while nobody is here: when it begins, what stops it, and what becomes of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from mlx_specdec.costs.prices import Prices
from mlx_specdec.forward import Cancelled
from mlx_specdec.model_spec import ModelSpec, PairSpec
from mlx_specdec.service import JobHandle
from mlx_specdec.settings import Settings
from tests.race_screens import FakeBridge, MovedClock, golden, pair_named, race_app
from tests.races import DRAWN_PRICES
from tests.tui.test_bridge import ENOUGH_SECONDS, bridge_with_engine
from tui import idle_measuring, opening
from tui.app import SpecdecApp
from tui.bridge import Bridge
from tui.idle_measuring import QUIET_SECONDS, IdleMeasuring, measured_when_idle
from tui.state import AppState

import pytest

PAIR = PairSpec(ModelSpec(alias="one"), ModelSpec(alias="two"))


class IdleBridge(FakeBridge):
    """Hands out a future for idle work that the test fulfils."""

    def __init__(self) -> None:
        super().__init__(golden("fable"))
        self.futures: list[Future[Any]] = []
        self.is_quiet = True
        self.stops = 0

    def when_idle(self, function: Callable[..., Any]) -> Future[Any]:
        assert function is measured_when_idle
        self.futures.append(Future())
        return self.futures[-1]

    def stop_idle(self) -> None:
        self.stops += 1


class Room:
    """An IdleMeasuring with everything that it touches."""

    def __init__(self, *, is_wanted: bool = True, **state: Any) -> None:
        known = {"pair": PAIR, "is_ready": True, "wants_measuring": True, "power": "mains"}
        self.state = AppState(**{**known, **state})
        self.bridge, self.clock = IdleBridge(), MovedClock()
        self.said: list[str] = []
        self.told = 0
        self.idle = IdleMeasuring(
            self.state,
            cast(Bridge, self.bridge),
            self.said.append,
            self._tell,
            self.clock,
            is_wanted=is_wanted,
        )

    def _tell(self) -> None:
        self.told += 1

    def wait(self, seconds: float, is_moving: bool = False) -> int:
        """Let seconds pass; how often measuring has begun so far."""
        for _ in range(round(seconds)):
            self.clock.seconds += 1
            self.idle.look(is_moving)
        return len(self.bridge.futures)

    def finish(self, result: Prices | str) -> None:
        self.bridge.futures[-1].set_result(result)
        self.idle.look()


def test_it_begins_after_a_while_says_so_once_and_its_prices_are_used() -> None:
    room = Room()
    assert room.wait(QUIET_SECONDS - 1) == 0
    assert room.wait(30) == 1
    assert room.said == ["Timing what passes cost here while it is quiet; any key stops it."]
    room.finish(DRAWN_PRICES)
    assert room.state.prices is DRAWN_PRICES
    assert room.told == 1
    assert room.wait(1000) == 1


def test_a_key_puts_it_off_or_stops_it_at_once() -> None:
    room = Room()
    room.wait(QUIET_SECONDS - 1)
    room.idle.come_back()
    assert room.wait(QUIET_SECONDS - 1) == 0
    assert room.bridge.stops == 0
    assert room.wait(1) == 1
    room.idle.come_back()
    assert room.bridge.stops == 1
    room.bridge.futures[0].set_result(DRAWN_PRICES)  # too late: it was given up
    assert room.wait(QUIET_SECONDS - 1) == 1
    assert room.state.prices is None
    assert room.wait(1) == 2


def test_what_is_finished_is_taken_by_the_key_that_comes_before_the_next_look() -> None:
    room = Room()
    room.wait(QUIET_SECONDS)
    room.bridge.futures[0].set_result(DRAWN_PRICES)
    room.idle.come_back()
    assert room.state.prices is DRAWN_PRICES
    assert (room.told, room.bridge.stops) == (1, 0)
    assert room.wait(1000) == 1


def test_a_key_takes_nothing_that_was_found_for_another_pair() -> None:
    room = Room()
    room.wait(QUIET_SECONDS)
    room.bridge.futures[0].set_result(DRAWN_PRICES)
    room.state.pair = replace(PAIR, draft=ModelSpec(alias="three"))
    room.idle.come_back()
    assert (room.state.prices, room.bridge.stops) == (None, 1)


@pytest.mark.parametrize(
    "state",
    [
        {"is_ready": False},
        {"wants_measuring": False},
        {"power": "battery"},
        {"power": "mains, low power mode"},
        {"is_wanted": False},
    ],
)
def test_it_never_begins(state: dict[str, Any]) -> None:
    assert Room(**state).wait(100) == 0


def test_where_the_system_does_not_say_how_it_is_powered_it_begins() -> None:
    assert Room(power="").wait(100) == 1


def test_what_runs_or_plays_comes_first() -> None:
    room = Room()
    room.bridge.is_quiet = False
    assert room.wait(100) == 0
    room.bridge.is_quiet = True
    assert room.wait(100, is_moving=True) == 0
    assert room.wait(QUIET_SECONDS - 1) == 0
    assert room.wait(1) == 1


def test_results_that_are_not_usable_end_it_and_stopped_ones_do_not() -> None:
    room = Room()
    for _ in range(5):
        room.wait(QUIET_SECONDS)
        room.finish("stopped")
    for number in (6, 7, 8):
        assert room.wait(QUIET_SECONDS) == number
        room.finish("unusable")
    assert room.wait(1000) == 8
    assert (room.state.prices, room.told) == (None, 0)
    room.state.pair = replace(PAIR, draft=ModelSpec(alias="three"))
    assert room.wait(QUIET_SECONDS + 1) == 9


def test_an_error_counts_as_a_result_that_is_not_usable() -> None:
    room = Room()
    for _ in range(4):
        room.wait(QUIET_SECONDS)
        if not room.bridge.futures[-1].done():
            room.bridge.futures[-1].set_exception(ValueError("no"))
        room.idle.look()
    assert len(room.bridge.futures) == 3


def test_another_pair_stops_it() -> None:
    room = Room()
    room.wait(QUIET_SECONDS)
    room.state.pair = PairSpec(ModelSpec(alias="other"), None)
    room.bridge.futures[0].set_result(DRAWN_PRICES)
    room.idle.look()
    assert room.bridge.stops == 1
    assert room.state.prices is None


def test_on_the_engines_thread_power_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[float, Callable[[], bool], float]] = []

    def measured(
        session: Any, seconds: float, is_cancelled: Callable[[], bool], step: float
    ) -> Prices | None:
        asked.append((seconds, is_cancelled, step))
        if is_cancelled():
            raise Cancelled
        return DRAWN_PRICES if len(asked) == 1 else None

    monkeypatch.setattr(idle_measuring, "measured_prices", measured)
    monkeypatch.setattr("mlx_specdec.this_machine.power_source", lambda: "battery")
    session = cast(Any, None)
    assert measured_when_idle(session, lambda: False) == "unusable"
    assert asked == []
    monkeypatch.setattr("mlx_specdec.this_machine.power_source", lambda: "mains")
    assert measured_when_idle(session, lambda: False) is DRAWN_PRICES
    assert measured_when_idle(session, lambda: False) == "unusable"
    assert measured_when_idle(session, lambda: True) == "stopped"
    assert asked[0][2] <= 0.5


@pytest.mark.parametrize("start", ["reply", "call", "stop"])
def test_on_the_bridge_whatever_else_is_asked_goes_first(start: str) -> None:
    bridge, _ = bridge_with_engine()
    began = threading.Event()

    def work(session: Any, is_cancelled: Callable[[], bool]) -> str:
        began.set()
        while not is_cancelled():
            threading.Event().wait(0.001)
        return "stopped"

    idle = bridge.when_idle(work)
    assert began.wait(ENOUGH_SECONDS)
    if start == "reply":
        handle = bridge.start_reply(None, Settings())._handle
        assert isinstance(handle, JobHandle)
        handle.wait(ENOUGH_SECONDS)
    elif start == "call":
        call = bridge.conversation_call(lambda session: 7)
        assert call.result(ENOUGH_SECONDS) == 7
    else:
        bridge.stop_idle()
    assert idle.result(ENOUGH_SECONDS) == "stopped"
    assert bridge.close()


def test_on_the_bridge_work_that_had_not_begun_is_given_up() -> None:
    bridge, engine = bridge_with_engine()
    gate = threading.Event()
    call = bridge.conversation_call(lambda session: gate.wait(ENOUGH_SECONDS))
    idle = bridge.when_idle(lambda session, is_cancelled: 1)
    bridge.stop_idle()
    gate.set()
    assert call.result(ENOUGH_SECONDS)
    assert engine.thread.call(lambda: idle.cancelled())
    assert bridge.close()


def test_in_the_app_it_begins_after_a_while_and_a_key_stops_it() -> None:
    bridge, clock = IdleBridge(), MovedClock()
    bridge.become("ready")
    bridge.opening = replace(
        bridge.opening, facts=replace(bridge.opening.facts, wants_measuring=True)
    )
    app = race_app(bridge=bridge, clock=clock, request=None, screen="chat")

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            app._look_idle()
            clock.seconds += QUIET_SECONDS - 1
            await pilot.press("x")
            clock.seconds += QUIET_SECONDS - 1
            app._look_idle()
            assert bridge.futures == []
            clock.seconds += 1
            app._look_idle()
            assert len(bridge.futures) == 1
            await pilot.press("x")
            assert bridge.stops == 1

    asyncio.run(run())


def test_in_the_app_a_race_that_plays_is_left_alone() -> None:
    bridge, clock = IdleBridge(), MovedClock()
    bridge.become("ready")
    bridge.opening = replace(
        bridge.opening, facts=replace(bridge.opening.facts, wants_measuring=True)
    )
    app: SpecdecApp = race_app(bridge=bridge, clock=clock, request=None)

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            clock.seconds += 2 * QUIET_SECONDS
            app._look_idle()
            assert bridge.futures == []

    asyncio.run(run())


@pytest.mark.parametrize(
    ("draft", "usable", "wanted"),
    [("small", None, True), ("small", False, True), ("small", True, False), ("", None, False)],
)
def test_a_pair_wants_it_while_nothing_usable_is_kept_of_it(
    draft: str, usable: bool | None, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A calibration of other weights, another MLX or another machine has another key."""
    asked: list[Any] = []

    def load(key: Any) -> Any:
        asked.append(key)
        return None if usable is None else SimpleNamespace(is_usable=usable)

    monkeypatch.setattr("mlx_specdec.costs.store.load_calibration", load)
    monkeypatch.setattr(
        "mlx_specdec.costs.known_costs.calibration_key", lambda pair, bits: (pair, bits)
    )
    pair = SimpleNamespace(draft=draft or None)
    session = cast(Any, SimpleNamespace(pair=pair, kv_bits=4))
    assert opening._wants_measuring(session) is wanted
    assert asked == ([(pair, 4)] if draft else [])


def test_the_built_in_pair_has_measured_prices_and_no_published_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair, machine = pair_named("tiny", "tiny-draft"), cast(Any, None)
    published, measured = (
        replace(DRAWN_PRICES, source=source) for source in ("published", "measured")
    )
    monkeypatch.setattr("mlx_specdec.costs.prices_here.prices_here", lambda *_: published)
    assert opening._prices(pair, machine) is None
    monkeypatch.setattr("mlx_specdec.costs.prices_here.prices_here", lambda *_: measured)
    assert opening._prices(pair, machine) is measured

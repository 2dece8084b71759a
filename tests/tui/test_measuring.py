"""Measuring: one at a time, what it finds becomes the prices, and what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any

from mlx_specdec.costs.prices import Prices
from mlx_specdec.errors import SpecdecError
from mlx_specdec.model_spec import ModelSpec, PairSpec
from tests.races import DRAWN_PRICES
from tui.bridge import Bridge
from tui.measuring import Measuring
from tui.state import AppState

PAIR = PairSpec(ModelSpec(alias="one"), ModelSpec(alias="two"))


class FakeBridge(Bridge):
    """Hands out a future that the test fulfils."""

    def __init__(self) -> None:
        self.future: Future[Any] = Future()
        self.asked = 0

    def conversation_call(self, function: Callable[..., Any]) -> Future[Any]:
        self.asked += 1
        return self.future


class Bench:
    """A Measuring with everything that it touches."""

    def __init__(self, state: AppState) -> None:
        self.state, self.bridge = state, FakeBridge()
        self.said: list[str] = []
        self.told = 0
        self.tasks: list[Coroutine[Any, Any, None]] = []
        self.measuring = Measuring(
            state, self.bridge, self.tasks.append, self.said.append, self._tell
        )

    def _tell(self) -> None:
        self.told += 1

    def finish(self, result: Prices | None = None, error: Exception | None = None) -> None:
        """Let the measurement end, and what waits for it."""
        if error is not None:
            self.bridge.future.set_exception(error)
        else:
            self.bridge.future.set_result(result)
        asyncio.run(self.tasks.pop())


def ready() -> Bench:
    return Bench(AppState(pair=PAIR, is_ready=True))


def test_what_is_found_becomes_the_prices() -> None:
    bench = ready()
    bench.measuring.start()
    assert bench.said == ["Timing passes for about 8 s; races and replies wait."]
    bench.finish(DRAWN_PRICES)
    assert bench.state.prices is DRAWN_PRICES
    assert bench.told == 1
    assert bench.said[-1] == "Timed: the ledger shows it now."


def test_one_at_a_time() -> None:
    bench = ready()
    bench.measuring.start()
    bench.measuring.start()
    assert bench.said[-1] == "The passes are being timed already."
    assert len(bench.tasks) == 1
    bench.finish(DRAWN_PRICES)
    bench.measuring.start()
    assert bench.said[-1].startswith("Timing passes")
    bench.tasks.pop().close()


def test_nothing_is_changed_by_a_result_that_is_not_usable() -> None:
    bench = ready()
    bench.measuring.start()
    bench.finish(None)
    assert (bench.state.prices, bench.told) == (None, 0)
    assert "nothing was changed" in bench.said[-1]


def test_another_pair_meanwhile_does_not_get_these_prices() -> None:
    bench = ready()
    bench.measuring.start()
    task = bench.tasks.pop()

    async def run() -> None:
        waiting = asyncio.ensure_future(task)
        await asyncio.sleep(0)
        bench.state.pair = PairSpec(ModelSpec(alias="other"), None)
        bench.bridge.future.set_result(DRAWN_PRICES)
        await waiting

    asyncio.run(run())
    assert bench.state.prices is None


def test_an_error_is_said_and_it_can_be_tried_again() -> None:
    bench = ready()
    bench.measuring.start()
    bench.finish(error=SpecdecError("It broke.", "Try again."))
    assert bench.said[-1] == "It broke. Try again."
    bench.bridge.future = Future()
    bench.measuring.start()
    assert bench.said[-1].startswith("Timing passes")
    bench.tasks.pop().close()


def test_before_the_models_are_loaded() -> None:
    bench = Bench(AppState())
    bench.measuring.start()
    assert bench.said == ["The models are not loaded yet."]
    assert bench.tasks == []

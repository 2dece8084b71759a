"""The app's own forecast of a race: said before it runs, and shown beside what it came to."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from mlx_specdec.costs.prices_here import shapes_key
from mlx_specdec.forecast.log import ForecastLog, KeptPrices, RunSeen
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.settings import Settings
from mlx_specdec.this_machine import this_machine
from tests.race_screens import (
    FakeBridge,
    FakeFeed,
    MovedClock,
    golden,
    move,
    on_bridge,
    pair_named,
    race_app,
    race_screen,
    shown,
)
from tui.app import SpecdecApp
from tui.screens.ledger import LedgerScreen

import pytest
from textual.pilot import Pilot

MODEL = LatencyModel.measured([(1, 0.065), (2, 0.068), (3, 0.0735), (4, 0.0824)], 0.0039, 0.0015)


class ReadingBridge(FakeBridge):
    """Tells the prompt's length, as the engine does before it starts."""

    def start_race(self, prompt: str, settings: Settings, **more: Any) -> FakeFeed:
        assert not ForecastLog().scores()
        more["on_prompt"](20)
        self.said_at_start = list(ForecastLog().predictions())
        return super().start_race(prompt, settings, **more)

    def become(self, phase: Any, target: str = "", draft: str = "", **more: Any) -> None:
        super().become(phase, "qwen3-14b", "qwen3-0.6b", **more)


@pytest.fixture(autouse=True)
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices of the pair on this machine, and what another prompt's run accepted."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    name, log = pair_named("qwen3-14b", "qwen3-0.6b").name, ForecastLog()
    log.write_prices(KeptPrices(name, shapes_key(this_machine()), MODEL, "shapes timed", 1.0))
    counts = ((50, 67), (37, 50), (25, 37))
    log.add_run(RunSeen(name, "greedy", 0.0, "another", counts, 1.0))


def end(app: SpecdecApp, clock: MovedClock) -> None:
    while not race_screen(app).director.is_over:
        move(app, clock, 0.5)


def test_a_race_is_foretold_before_it_starts_and_scored_where_its_result_is() -> None:
    bridge = ReadingBridge(golden("fable"))

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        (said,) = bridge.said_at_start
        move(app, clock, 5)
        assert "forecast" not in shown(app)
        end(app, clock)
        await pilot.pause()
        words = f"forecast {said.speedup:.2f}x ("
        assert words in shown(app)
        assert ", said before the race" in shown(app)
        await pilot.press("3")
        await pilot.pause()
        assert f"{said.speedup:.2f}x  off by " in shown(app)
        assert "forecast before it ran" in shown(app)

    app = on_bridge(play, bridge)
    (score,) = ForecastLog().scores()
    assert score == app.state.score
    assert score.prediction == bridge.said_at_start[0]
    assert score.measured == pytest.approx(1.80, abs=0.005)
    assert len(ForecastLog().runs()) == 2


def test_in_a_small_window_too() -> None:
    clock, bridge = MovedClock(), ReadingBridge(golden("fable"))
    bridge.become("ready")
    app = race_app(bridge=bridge, clock=clock, request=None)

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            end(app, clock)
            await pilot.pause()
            row = next(row for row in shown(app).splitlines() if "forecast " in row)
            assert "accepted" in row
            assert "160 equal" in row
            await pilot.press("3")
            await pilot.pause()
            assert isinstance(app.screen, LedgerScreen)
            app.screen.action_scroll_body(1)
            await pilot.pause()
            assert " before the race, measured 1.80x" in shown(app)

    asyncio.run(run())


def test_a_new_race_forgets_the_score_of_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = ReadingBridge(golden("fable"))

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        end(app, clock)
        assert race_screen(app).director.score is app.state.score is not None
        monkeypatch.setattr(bridge, "start_race", lambda *a, **b: FakeFeed([]))
        await pilot.press("enter")
        state: Any = app.state
        assert state.score is None
        assert race_screen(app).director.score is None

    on_bridge(play, bridge)


def test_a_race_on_another_chips_clock_is_not_foretold() -> None:
    bridge = ReadingBridge(golden("tiny"))

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 5)
        assert app.state.score is None

    on_bridge(play, bridge, chip="m3-pro")
    assert not ForecastLog().predictions()
    assert not ForecastLog().scores()

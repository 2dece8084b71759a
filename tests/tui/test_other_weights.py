"""The key that times other weight formats in a parked race: on a fake engine, with a fake job."""

from __future__ import annotations

from mlx_specdec.errors import DoesNotFitError
from mlx_specdec.events import Failed
from tests.forecasts import FLAT_ROWS, SLOW_ROWS, timed_formats
from tests.race_screens import (
    FakeBridge,
    FakeTiming,
    MovedClock,
    golden,
    move,
    on_bridge,
    on_recording,
    parked_bridge,
    race_screen,
    shown,
)
from tui.app import SpecdecApp
from tui.screens.notice import NoticeScreen
from tui.screens.race import RaceScreen
from tui.screens.weights import WeightsScreen

import pytest
from textual.pilot import Pilot

FOUND = timed_formats(FLAT_ROWS, FLAT_ROWS)


async def parked(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
    move(app, clock, 40)
    await pilot.pause()
    assert "measure here" in shown(app)


async def draw(app: SpecdecApp, pilot: Pilot[None]) -> None:
    race_screen(app)._draw_figures()
    await pilot.pause()


def said(app: SpecdecApp) -> list[str]:
    return [note.message for note in app._notifications]


def test_w_times_the_formats_and_shows_what_was_found() -> None:
    bridge = parked_bridge()

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await parked(app, pilot, clock)
        await pilot.press("w")
        timing = bridge.timings[-1]
        timing.bring(12.4)
        await draw(app, pilot)
        assert "being timed; any key stops it" in shown(app)
        assert "12 s left" in shown(app)
        timing.bring(FOUND, is_last=True)
        await draw(app, pilot)
        assert isinstance(app.screen, WeightsScreen)
        assert "mlx_lm.convert --hf-path Qwen/Qwen3-4B" in shown(app)
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, RaceScreen)
        assert "with mxfp4 drafting would pay" in shown(app)
        await pilot.press("w")
        await pilot.pause()
        assert isinstance(app.screen, WeightsScreen)
        assert len(bridge.timings) == 1

    on_bridge(play, bridge)


def test_w_on_what_was_found_times_it_again() -> None:
    bridge = parked_bridge()

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await parked(app, pilot, clock)
        await pilot.press("w")
        bridge.timings[-1].bring(FOUND, is_last=True)
        await draw(app, pilot)
        await pilot.press("w")
        await pilot.pause()
        assert isinstance(app.screen, RaceScreen)
        assert len(bridge.timings) == 2
        bridge.timings[-1].bring(timed_formats(SLOW_ROWS), is_last=True)
        await draw(app, pilot)
        assert "Stay with affine 4-bit" in shown(app)

    on_bridge(play, bridge)


@pytest.mark.parametrize("key", ["space", "w", "escape", "left", "z", "2", "p", "ctrl+c"])
def test_any_key_ends_it_at_once(key: str) -> None:
    bridge = parked_bridge()

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await parked(app, pilot, clock)
        await pilot.press("w")
        before = bridge.timings[-1].is_cancelled
        await pilot.press(key)
        assert (before, bridge.timings[-1].is_cancelled) == (False, True)
        assert len(bridge.timings) == 1
        assert not race_screen(app).weights.is_running

    on_bridge(play, bridge)


def test_a_race_ends_it_and_its_late_result_is_not_taken() -> None:
    bridge = parked_bridge()

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await parked(app, pilot, clock)
        await pilot.press("w", "enter")
        assert len(bridge.races) == 2
        bridge.timings[-1].bring(FOUND, is_last=True)
        await draw(app, pilot)
        assert isinstance(app.screen, RaceScreen)

    on_bridge(play, bridge)


def test_it_waits_for_a_race_under_way() -> None:
    bridge = parked_bridge()

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await parked(app, pilot, clock)
        bridge.is_busy = True
        await pilot.press("w")
        await pilot.pause()
        assert bridge.timings == []
        assert "timed when the race is in" in shown(app)
        bridge.is_busy = False
        await draw(app, pilot)
        assert len(bridge.timings) == 1

    on_bridge(play, bridge)


def test_what_goes_wrong_is_a_notice_with_the_fix() -> None:
    bridge = parked_bridge()

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await parked(app, pilot, clock)
        await pilot.press("w")
        failed = Failed("DoesNotFitError", "Too large", "A few layers take 9 GB.", "Quit first.", 0)
        bridge.timings[-1].bring(failed, is_last=True)
        await draw(app, pilot)
        assert isinstance(app.screen, NoticeScreen)
        assert "A few layers take 9 GB." in shown(app)
        assert "Quit first." in shown(app)
        await pilot.press("escape")
        await draw(app, pilot)
        assert isinstance(app.screen, RaceScreen)
        assert "measure here" in shown(app)

    on_bridge(play, bridge)


def test_a_refusal_before_it_begins_is_a_notice_too() -> None:
    class Refusing(FakeBridge):
        def start_timing(self, pair: object, seconds: float) -> FakeTiming:
            raise DoesNotFitError("No room.", "Make some.")

    bridge = Refusing(golden("parked"))
    bridge.opening = parked_bridge().opening

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await parked(app, pilot, clock)
        await pilot.press("w")
        await draw(app, pilot)
        assert isinstance(app.screen, NoticeScreen)
        assert "Make some." in shown(app)

    on_bridge(play, bridge)


def test_a_recording_of_another_machine_is_not_timed_here() -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 30)
        await pilot.pause()
        assert "only that machine can tell" in shown(app)
        await pilot.press("w")
        assert said(app) == ["That takes loaded models: press m."]

    on_recording(play, "parked", size=(80, 24))


def test_w_is_for_a_parked_race() -> None:
    bridge = FakeBridge(golden("fable"))

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 5)
        await pilot.press("w")
        assert bridge.timings == []
        assert said(app) == ["w is for a race in which drafting is parked."]

    on_bridge(play, bridge)


def test_another_machines_recording_is_not_timed_with_models_loaded() -> None:
    """Its pair may be loaded here as well: figures of this machine would say nothing of that."""
    bridge = parked_bridge()

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await parked(app, pilot, clock)
        app.state.machine = "M5 Max 128 GB"
        await pilot.press("w")
        assert bridge.timings == []
        assert "another machine" in said(app)[-1]

    on_bridge(play, bridge)

"""A parked race on its own machine, and what was found of other weight formats, as they look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlx_specdec.forecast.format_table import TimedFormats
from tests.forecasts import FLAT_ROWS, FLOAT32, SLOW_ROWS, timed_formats
from tests.race_screens import (
    SIZES,
    Before,
    FakeBridge,
    MovedClock,
    at_second,
    parked_bridge,
    race_app,
    race_screen,
)

import pytest
from textual.pilot import Pilot

IDS = ["80x24", "120x36"]
WORSE_ROWS = tuple(1.1 * cost if cost > 1 else cost for cost in SLOW_ROWS)
FOUND = {
    "pays": timed_formats(FLAT_ROWS, FLAT_ROWS),
    "none_pays": timed_formats(WORSE_ROWS),
    "held_as_floats": timed_formats(FLAT_ROWS, FLAT_ROWS, held=FLOAT32),
}


def after_w(clock: MovedClock, bridge: FakeBridge, items: Sequence[Any], *keys: str) -> Before:
    """The parked race, its weights asked for, what the engine says of them, then some keys."""

    async def run(pilot: Pilot[None]) -> None:
        await at_second(clock, 40, "w")(pilot)
        found = any(isinstance(item, TimedFormats) for item in items)
        bridge.timings[-1].bring(*items, is_last=found)
        app: Any = pilot.app
        race_screen(app)._draw_figures()
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
        await pilot.pause()

    return run


@pytest.mark.parametrize("size", SIZES, ids=IDS)
def test_parked_here(size: tuple[int, int], snap_compare: Any) -> None:
    clock, bridge = MovedClock(), parked_bridge()
    app = race_app(bridge=bridge, clock=clock, request=None)
    assert snap_compare(app, terminal_size=size, run_before=at_second(clock, 40))


@pytest.mark.parametrize("size", SIZES, ids=IDS)
@pytest.mark.parametrize("name", FOUND)
def test_weights_found(name: str, size: tuple[int, int], snap_compare: Any) -> None:
    clock, bridge = MovedClock(), parked_bridge()
    app = race_app(bridge=bridge, clock=clock, request=None)
    before = after_w(clock, bridge, [FOUND[name]])
    assert snap_compare(app, terminal_size=size, run_before=before)


def test_weights_being_timed(snap_compare: Any) -> None:
    clock, bridge = MovedClock(), parked_bridge()
    app = race_app(bridge=bridge, clock=clock, request=None)
    before = after_w(clock, bridge, [12.4])
    assert snap_compare(app, terminal_size=(80, 24), run_before=before)


def test_parked_when_weights_are_known(snap_compare: Any) -> None:
    clock, bridge = MovedClock(), parked_bridge()
    app = race_app(bridge=bridge, clock=clock, request=None)
    before = after_w(clock, bridge, [FOUND["pays"]], "escape")
    assert snap_compare(app, terminal_size=(80, 24), run_before=before)

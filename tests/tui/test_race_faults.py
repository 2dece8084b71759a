"""Faults that others have had with figures and keys, looked for on the race's screen."""

from __future__ import annotations

from mlx_specdec.figures import rate
from tests.race_screens import (
    MovedClock,
    director,
    golden,
    move,
    on_bridge,
    on_recording,
    ready_bridge,
    shown,
)
from tui.app import SpecdecApp
from tui.widgets.big_figures import big_rows

import pytest
from textual.pilot import Pilot


def test_ctrl_c_stops_the_race_first_and_quits_the_second_time() -> None:
    bridge = ready_bridge("fable")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await pilot.press("ctrl+c")
        assert bridge.feeds[-1].is_cancelled
        assert app.is_running
        clock.seconds += 5
        await pilot.press("ctrl+c")
        assert app._exit is False
        clock.seconds += 1
        await pilot.press("ctrl+c")
        assert app._exit is True

    on_bridge(play, bridge)


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
def test_h8_more_than_one_key_quits(key: str) -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await pilot.press(key)
        assert app._exit is True

    on_recording(play)


def test_h14_the_palette_does_not_stop_a_race() -> None:
    bridge = ready_bridge("fable")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert not bridge.feeds[-1].is_cancelled
        move(app, clock, 45)
        assert director(app).is_over

    on_bridge(play, bridge)


def test_f7_every_place_shows_the_same_speed() -> None:
    bridge = ready_bridge("fable")
    metrics = golden("fable").metrics("speculative")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 45)
        await pilot.pause()
        rows = shown(app).split("\n")
        top = next(index for index, row in enumerate(rows) if "SPECULATIVE" in row)
        figure = big_rows(rate(metrics.tokens_per_second), 10)
        for offset, part in enumerate(figure):
            assert part in rows[top + offset]
        await pilot.press("question_mark")
        await pilot.pause()
        assert f"here: {metrics.tokens_per_second:.1f} = 159 tokens in" in shown(app)

    app = on_bridge(play, bridge)
    assert f"-> {rate(metrics.tokens_per_second)} tok/s" in app.share_line


def test_f8_nothing_drafted_divides_by_nothing() -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 30)
        rows = shown(app)
        assert "not drafting" in rows
        assert "0 %" not in rows
        assert "parked" in rows

    on_recording(play, "parked")


def test_f12_a_lookahead_does_not_leak_into_the_next_race() -> None:
    bridge = ready_bridge("tiny")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        for value in (2, 6):
            director(app).wishes.set_lookahead(value)
            await pilot.press("enter")
        assert [settings.lookahead for _, settings in bridge.races[1:]] == [2, 6]

    on_bridge(play, bridge)

"""Every state of the race as it looks, at two sizes, from golden recordings on a moved clock."""

from __future__ import annotations

from typing import Any

from tests.race_screens import (
    SIZES,
    FakeBridge,
    MovedClock,
    at_second,
    golden,
    move,
    race_app,
    race_screen,
    slower,
)

import pytest
from textual.pilot import Pilot

STATES: dict[str, tuple[str, float, tuple[str, ...], dict[str, Any]]] = {
    "running": ("fable", 4.0, (), {}),
    "photo_finish": ("fable", 7.0, (), {}),
    "finished": ("fable", 20.0, (), {}),
    "paused": ("tiny", 5.0, ("space",), {}),
    "slow_motion": ("tiny", 9.25, (), {}),
    "parked": ("parked", 5.0, (), {}),
    "different": ("different", 20.0, (), {}),
    "retimed_m2": ("tiny", 4.0, (), {"chip": "m2"}),
    "retimed_m3_pro": ("tiny", 4.0, (), {"chip": "m3-pro"}),
    "retimed_m5_max": ("tiny", 2.0, (), {"chip": "m5-max"}),
}


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x36"])
@pytest.mark.parametrize("state", STATES)
def test_race_state(state: str, size: tuple[int, int], snap_compare: Any) -> None:
    name, seconds, keys, opening = STATES[state]
    clock = MovedClock()
    app = race_app(name, clock=clock, **opening)
    assert snap_compare(app, terminal_size=size, run_before=at_second(clock, seconds, *keys))


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x36"])
def test_race_slower(size: tuple[int, int], snap_compare: Any) -> None:
    """A live race in which drafting loses, at its end."""
    clock, bridge = MovedClock(), FakeBridge(slower(golden("fable"), 2.2))
    bridge.become("ready", "qwen3-14b", "qwen3-0.6b")
    app = race_app(bridge=bridge, clock=clock, request=None)
    assert snap_compare(app, terminal_size=size, run_before=at_second(clock, 45))


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x36"])
def test_race_scoreboard(size: tuple[int, int], snap_compare: Any) -> None:
    """Between two races of a loop the session's speedups stand in the place of the tape."""
    clock, bridge = MovedClock(), FakeBridge(golden("fable"))
    bridge.become("ready", "qwen3-14b", "qwen3-0.6b")
    app = race_app(bridge=bridge, clock=clock, request=None, is_looping=True)

    async def before(pilot: Pilot[None]) -> None:
        await pilot.pause()
        board = race_screen(app).director.scoreboard
        for kind, speedup in (("code", 2.21), ("code", 1.94), ("prose", 1.12)):
            board.add(kind, speedup)
        move(app, clock, 25)
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=before)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x36"])
def test_race_loading(size: tuple[int, int], snap_compare: Any) -> None:
    """The packaged race plays while a pair is loaded."""
    clock, bridge = MovedClock(), FakeBridge()
    bridge.become("loading", "qwen3-14b", "qwen3-0.6b", stored_bytes=8_600_000_000)
    app = race_app(bridge=bridge, clock=clock, request=None)
    assert snap_compare(app, terminal_size=size, run_before=at_second(clock, 6))


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x36"])
def test_keys_page(size: tuple[int, int], snap_compare: Any) -> None:
    clock = MovedClock()
    app = race_app("fable", clock=clock)
    before = at_second(clock, 20, "question_mark")
    assert snap_compare(app, terminal_size=size, run_before=before)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x36"])
def test_notice_of_a_failure(size: tuple[int, int], snap_compare: Any) -> None:
    from mlx_specdec.errors import GatedModelError

    clock = MovedClock()
    app = race_app("fable", clock=clock)

    async def before(pilot: Pilot[None]) -> None:
        await at_second(clock, 3)(pilot)
        error = GatedModelError(
            "The hub wants the licence of org/[bold]model[/] accepted.",
            "Open https://huggingface.co/org/model, accept it, and set HF_TOKEN.",
        )
        race_screen(app)._tell(error.title, error.message, error.hint)
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=before)


def test_narrow_terminal(snap_compare: Any) -> None:
    clock = MovedClock()
    app = race_app("fable", clock=clock)
    assert snap_compare(app, terminal_size=(60, 20), run_before=at_second(clock, 4))


def test_no_color(snap_compare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    clock = MovedClock()
    app = race_app("fable", clock=clock)
    assert snap_compare(app, terminal_size=(120, 36), run_before=at_second(clock, 4))


def test_light_theme(snap_compare: Any) -> None:
    clock = MovedClock()
    app = race_app("fable", clock=clock)

    async def before(pilot: Pilot[None]) -> None:
        pilot.app.theme = "textual-light"
        await at_second(clock, 4)(pilot)

    assert snap_compare(app, terminal_size=(120, 36), run_before=before)


def test_two_hundred_columns(snap_compare: Any) -> None:
    clock = MovedClock()
    app = race_app("fable", clock=clock)
    assert snap_compare(app, terminal_size=(200, 50), run_before=at_second(clock, 6))


def test_prompt_picker(snap_compare: Any) -> None:
    clock = MovedClock()
    app = race_app("fable", clock=clock)
    assert snap_compare(app, terminal_size=(80, 24), run_before=at_second(clock, 4, "p"))

"""The app's shell: screens by number, models on their way, what goes wrong, and what stays."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mlx_specdec.downloads.download import Progress
from mlx_specdec.events import Failed
from mlx_specdec.model_spec import ModelSpec, PairSpec
from mlx_specdec.race.recording import read_recording_file
from tests.race_screens import (
    FakeBridge,
    MovedClock,
    golden,
    move,
    pair_named,
    race_app,
    race_screen,
    shown,
)
from tui.app import SpecdecApp
from tui.opening import Opening, Question
from tui.opening_words import opening_words
from tui.screens.download import DownloadScreen
from tui.screens.notice import NoticeScreen
from tui.state import AppState, pair_words

import pytest
from textual.pilot import Pilot

Play = Callable[[SpecdecApp, Pilot[None], MovedClock], Awaitable[None]]


def played(
    play: Play,
    bridge: FakeBridge | None = None,
    size: tuple[int, int] = (120, 36),
    **opening: Any,
) -> SpecdecApp:
    clock = MovedClock()
    opening.setdefault("request", None)
    app = race_app(bridge=bridge, clock=clock, **opening)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await play(app, pilot, clock)

    asyncio.run(run())
    return app


def until_over(app: SpecdecApp, clock: MovedClock) -> None:
    """Let the race on the screen come to its end."""
    while not race_screen(app).director.is_over:
        move(app, clock, 0.5)


def screen_name(app: SpecdecApp) -> str:
    return type(app.screen).__name__


def test_numbers_go_to_the_screens_and_esc_back_to_the_race() -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        for key, name in (("3", "LedgerScreen"), ("1", "RaceScreen"), ("4", "ProofScreen")):
            await pilot.press(key)
            await pilot.pause()
            assert screen_name(app) == name
        await pilot.press("escape")
        await pilot.pause()
        assert screen_name(app) == "RaceScreen"
        await pilot.press("2")
        await pilot.pause()
        assert screen_name(app) == "ChatScreen"

    bridge = FakeBridge(golden("fable"))
    bridge.become("ready")
    played(play, bridge)


def test_a_race_goes_on_while_another_screen_is_shown() -> None:
    bridge = FakeBridge(golden("fable"))
    bridge.become("ready")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await pilot.press("3")
        await pilot.pause()
        clock.seconds += 30
        await pilot.press("1")
        await pilot.pause()
        assert not bridge.feeds[-1].is_cancelled
        assert app.state.recording is not None

    played(play, bridge)


def test_the_recorded_race_plays_while_models_load_and_the_live_one_follows() -> None:
    bridge = FakeBridge(golden("fable"))

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        bridge.become("loading", "qwen3-14b", "qwen3-0.6b", stored_bytes=8_600_000_000)
        app._watch_opening()
        await pilot.pause()
        move(app, clock, 4)
        assert "recorded earlier" in shown(app)
        assert "loading qwen3-14b + qwen3-0.6b, 8.6 GB" in shown(app)
        assert bridge.races == []
        bridge.become("ready", "qwen3-14b", "qwen3-0.6b")
        app._watch_opening()
        await pilot.pause()
        move(app, clock, 4)
        assert len(bridge.races) == 1
        assert "recorded" not in shown(app)
        assert "M3 Pro 36 GB" in shown(app)

    played(play, bridge)


def test_a_download_is_asked_about_and_its_progress_shown() -> None:
    bridge = FakeBridge(golden("fable"))
    pair = pair_named("qwen3-14b", "qwen3-0.6b")
    lines = ("  qwen3-14b  8.3 GB", "", "  [d] download   [q] quit")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        bridge.become("asking", "qwen3-14b", "qwen3-0.6b", question=Question(lines))
        app._watch_opening()
        await pilot.pause()
        assert isinstance(app.screen, DownloadScreen)
        await pilot.press("d")
        await pilot.pause()
        assert bridge.answers == ["download"]
        progress = Progress(pair.target, "model.safetensors", 3_000_000_000, 8_300_000_000, 1.1e7)
        bridge.become("downloading", "qwen3-14b", "qwen3-0.6b", progress=progress)
        app._watch_opening()
        await pilot.pause()
        move(app, clock, 1)
        assert "3.0 GB of 8.3 GB, 36%, about 8 minutes left" in shown(app)

    played(play, bridge)


@pytest.mark.parametrize("key", ["escape", "q", "n"])
def test_a_download_can_be_declined_and_the_app_lives_on(key: str) -> None:
    bridge = FakeBridge(golden("fable"))

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        bridge.become("asking", question=Question(("a", "", "b")))
        app._watch_opening()
        await pilot.pause()
        await pilot.press(key)
        await pilot.pause()
        assert bridge.answers == ["quit"]
        assert app._exit is False
        bridge.become("cancelled", question=None)
        app._watch_opening()
        await pilot.pause()
        move(app, clock, 1)
        assert "no models loaded: m chooses some" in shown(app)

    played(play, bridge)


def test_the_smaller_model_can_be_taken_instead() -> None:
    bridge = FakeBridge(golden("fable"))
    better = pair_named("qwen3-4b").target

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        bridge.become("asking", question=Question(("a", "", "b"), better, "4"))
        app._watch_opening()
        await pilot.pause()
        assert "4 take qwen3-4b" in shown(app)
        await pilot.press("4")
        await pilot.pause()
        assert bridge.answers == ["better"]

    played(play, bridge)


def test_h4_a_failure_is_a_notice_with_its_fix_as_it_is_and_the_app_lives_on() -> None:
    bridge = FakeBridge(golden("fable"))
    failure = Failed("X", "The [b]disk[/b] is full", "No room for [/a0/tests].", "Free 3 GB.", 0.0)

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        bridge.become("failed", failure=failure)
        app._watch_opening()
        await pilot.pause()
        assert isinstance(app.screen, NoticeScreen)
        for words in ("The [b]disk[/b] is full", "No room for [/a0/tests].", "Free 3 GB."):
            assert words in shown(app)
        await pilot.press("enter")
        await pilot.pause()
        assert screen_name(app) == "RaceScreen"
        move(app, clock, 3)
        assert "m chooses other models" in shown(app)

    played(play, bridge)


def test_a_race_that_breaks_off_is_told_once_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = FakeBridge(golden("fable"))
    bridge.become("ready")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        from tests.race_screens import FakeFeed

        broken = Failed("X", "It broke", "The model returned no numbers.", "Load it again.", 0.5)
        feed = FakeFeed([*list(golden("fable").in_order())[:9], broken])
        monkeypatch.setattr(bridge, "start_race", lambda *a, **b: feed)
        await pilot.press("enter")
        move(app, clock, 3)
        await pilot.pause()
        assert "Load it again." in shown(app)
        await pilot.press("enter")
        move(app, clock, 3)
        await pilot.pause()
        assert screen_name(app) == "RaceScreen"

    played(play, bridge)


def test_a_finished_race_is_recorded_and_its_line_left(tmp_path: Path) -> None:
    bridge = FakeBridge(golden("fable"))
    bridge.become("ready", "qwen3-14b", "qwen3-0.6b")
    path = tmp_path / "race.jsonl"

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 45)
        await pilot.pause()

    app = played(play, bridge, record=path)
    assert read_recording_file(path).standard == golden("fable").standard
    assert "15.4 -> 27.7 tok/s (1.80x)" in app.share_line


def test_a_recording_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    bridge = FakeBridge(golden("fable"))
    bridge.become("ready")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 45)
        await pilot.pause()
        assert "cannot be written" in shown(app)

    played(play, bridge, record=tmp_path / "no" / "such" / "folder.jsonl")


def test_a_live_race_is_shown_retimed_when_it_is_over() -> None:
    bridge = FakeBridge(golden("tiny"))
    bridge.become("ready")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 3)
        assert "not measured" in shown(app)
        assert "M3 Pro, re-timed" in shown(app)

    app = played(play, bridge, chip="m3-pro")
    assert app.share_line == ""


def test_loop_races_through_the_prompts() -> None:
    bridge = FakeBridge(golden("tiny"))
    bridge.become("ready")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 60)
        prompts = [prompt for prompt, _ in bridge.races]
        assert len(prompts) >= 2
        assert len(set(prompts)) == len(prompts)

    played(play, bridge, is_looping=True)


def test_between_the_races_of_a_loop_the_scoreboard_stands_in_the_place_of_the_tape() -> None:
    bridge = FakeBridge(golden("fable"))
    bridge.become("ready", "qwen3-14b", "qwen3-0.6b")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        screen = race_screen(app)

        def are_shown() -> tuple[bool, bool]:
            return screen.query_one("#scores").display, screen.query_one("#tape").display

        move(app, clock, 10)
        assert are_shown() == (False, True)
        kind = app.state.prompt.kind
        until_over(app, clock)
        await pilot.pause()
        assert are_shown() == (True, False)
        assert "  runs  median  spread" in shown(app)
        assert f"▸ {kind}" in shown(app)
        assert "1   1.80x" in shown(app)
        move(app, clock, 5)
        assert len(bridge.races) == 2
        assert are_shown() == (False, True)

    played(play, bridge, is_looping=True)


def test_without_a_loop_a_finished_race_keeps_its_tape() -> None:
    bridge = FakeBridge(golden("fable"))
    bridge.become("ready", "qwen3-14b", "qwen3-0.6b")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        until_over(app, clock)
        await pilot.pause()
        assert not race_screen(app).query_one("#scores").display
        assert race_screen(app).query_one("#tape").display

    played(play, bridge)


@pytest.mark.parametrize(("key", "hints_at_q"), [("1", True), ("2", False)])
def test_ctrl_c_says_q_only_where_it_is_a_key(key: str, hints_at_q: bool) -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await pilot.press(key)
        await pilot.pause()
        await pilot.press("ctrl+c")
        await pilot.pause()
        (words,) = [each.message for each in app._notifications]
        assert words == ("Ctrl-C again to quit, or q." if hints_at_q else "Ctrl-C again to quit.")

    bridge = FakeBridge(golden("fable"))
    bridge.become("ready")
    played(play, bridge)


def test_step_mode_is_given_the_way_to_the_engine() -> None:
    bridge = FakeBridge(golden("fable"))
    bridge.become("ready")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 12)
        await pilot.press("s")
        await pilot.pause()
        step: Any = app.screen
        assert screen_name(app) == "StepScreen"
        assert (step._bridge, step._app_state) == (bridge, app.state)

    played(play, bridge)


def test_a_folder_of_a_model_is_named_without_its_path(tmp_path: Path) -> None:
    folder = tmp_path / "My-Model-4bit"
    spec = ModelSpec(alias=str(folder), path=folder)
    state = AppState(pair=PairSpec(spec, None), machine="M3")
    assert pair_words(state) == "My-Model-4bit · temp 0 · M3"
    opening = Opening(1, "loading", PairSpec(spec, spec))
    assert opening_words(opening, 3).startswith("loading My-Model-4bit + My-Model-4bit: ")


def test_a_speed_that_was_asked_for_is_kept() -> None:
    bridge = FakeBridge(golden("tiny"))
    bridge.become("ready")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 1)
        assert "shown at 1/10 speed" in shown(app)

    played(play, bridge, speed=0.1)


@pytest.mark.parametrize("width", [71, 60, 40, 20])
def test_a_narrow_terminal_says_what_is_needed(width: int) -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 2)
        assert "72" in shown(app)
        assert all(len(row) <= width for row in shown(app).split("\n"))

    played(play, FakeBridge(), size=(width, 24))


def test_a_terminal_that_grows_shows_the_race() -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await pilot.resize_terminal(120, 36)
        await pilot.pause()
        move(app, clock, 2)
        assert "SPECULATIVE" in shown(app)

    played(play, FakeBridge(), size=(60, 20))

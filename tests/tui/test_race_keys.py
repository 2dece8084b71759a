"""What every key of the race does, at once, on a recording or on an engine that is not there."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mlx_specdec.prompts import PROMPTS
from tests.race_screens import (
    MovedClock,
    director,
    move,
    on_bridge,
    on_recording,
    race_app,
    ready_bridge,
    shown,
)
from tui.app import SpecdecApp
from tui.screens.keys import EVERYWHERE, KEYS, KeysScreen
from tui.screens.models import ModelsScreen
from tui.screens.notice import NoticeScreen
from tui.screens.prompts import PromptsScreen

import pytest
from textual.pilot import Pilot
from textual.widgets import Input


def seconds(app: SpecdecApp) -> float:
    moment = director(app).moment
    assert moment is not None
    return moment.seconds


def test_space_pauses_and_goes_on() -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 2)
        await pilot.press("space")
        stood = seconds(app)
        move(app, clock, 3)
        assert seconds(app) == stood
        await pilot.press("space")
        move(app, clock, 1)
        assert seconds(app) == pytest.approx(stood + 1)

    on_recording(play)


def test_arrows_go_pass_by_pass() -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 30)
        end = seconds(app)
        await pilot.press("left")
        before = seconds(app)
        await pilot.press("left")
        assert seconds(app) < before < end
        await pilot.press("right")
        assert seconds(app) == before
        assert director(app).is_paused

    on_recording(play)


def test_r_watches_again_at_true_speed() -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        assert director(app).rate == 0.05
        move(app, clock, 30)
        await pilot.press("R")
        assert (seconds(app), director(app).rate) == (0.0, 1.0)
        assert "true speed" in shown(app)

    on_recording(play, "tiny")


def test_enter_plays_a_recording_from_the_start() -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 5)
        await pilot.press("enter")
        assert seconds(app) == 0.0

    on_recording(play)


def test_enter_races_again_and_keeps_the_last_result_beside_it() -> None:
    bridge = ready_bridge("fable")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        assert len(bridge.races) == 1
        move(app, clock, 45)
        await pilot.press("enter")
        assert len(bridge.races) == 2
        move(app, clock, 2)
        assert "was 1.80, lookahead auto" in shown(app)

    on_bridge(play, bridge)


@pytest.mark.parametrize(
    ("keys", "lookahead"),
    [(["plus"], 4), (["minus"], 2), (["minus"] * 5, 0), (["plus"] * 20, 16), (["equals_sign"], 4)],
)
def test_plus_and_minus_set_the_lookahead_of_the_next_race(keys: list[str], lookahead: int) -> None:
    bridge = ready_bridge("tiny")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        app.state.race_settings = app.state.race_settings.changed(lookahead=3)
        director(app).wishes.are_met()
        for key in keys:
            await pilot.press(key)
        words = "lookahead 0 (no drafting)" if lookahead == 0 else f"lookahead {lookahead}"
        assert f"{words} from the next race" in shown(app)
        await pilot.press("enter")
        assert bridge.races[-1][1].lookahead == lookahead
        assert "from the next race" not in shown(app)

    on_bridge(play, bridge)


def test_a_asks_for_the_automatic_lookahead() -> None:
    bridge = ready_bridge("tiny")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await pilot.press("plus", "a", "enter")
        assert bridge.races[-1][1].lookahead == "auto"

    on_bridge(play, bridge)


def test_t_goes_through_the_temperatures() -> None:
    bridge = ready_bridge("tiny")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        seen = []
        for _ in range(4):
            await pilot.press("t")
            seen.append(app.state.race_settings.sampling.temperature)
        assert seen == [1.0, 0.0, 0.3, 0.7]
        await pilot.press("t")
        assert "temp 1 from the next race" in shown(app)

    on_bridge(play, bridge)


def test_p_takes_a_prompt_from_the_list() -> None:
    bridge = ready_bridge("tiny")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await pilot.press("p")
        assert isinstance(app.screen, PromptsScreen)
        await pilot.press("pageup", "pageup", "down", "enter")
        await pilot.pause()
        toys = [prompt for prompt in PROMPTS if prompt.for_toy]
        assert bridge.races[-1][0] == toys[1].text

    on_bridge(play, bridge)


def test_p_takes_a_prompt_of_ones_own_and_esc_none() -> None:
    bridge = ready_bridge("tiny")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await pilot.press("p", "escape")
        await pilot.pause()
        assert len(bridge.races) == 1
        await pilot.press("p")
        app.screen.query_one(Input).value = "[/tmp] why?"
        await pilot.press("enter")
        await pilot.pause()
        assert bridge.races[-1][0] == "[/tmp] why?"

    on_bridge(play, bridge)


def test_x_saves_the_cards_and_leaves_the_line(tmp_path: Path) -> None:
    bridge = ready_bridge("fable")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await pilot.press("x")
        assert list(tmp_path.iterdir()) == []
        move(app, clock, 45)
        await pilot.press("x")
        await pilot.pause()
        assert isinstance(app.screen, NoticeScreen)
        assert len(list(tmp_path.glob("*.svg"))) == 2

    patch = pytest.MonkeyPatch()
    patch.chdir(tmp_path)
    app = on_bridge(play, bridge)
    patch.undo()
    assert "1.80x" in app.share_line
    assert "160/160 tokens equal" in app.share_line


def test_a_recordings_line_is_not_shared_at_another_speed(tmp_path: Path) -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 30)
        await pilot.press("x")
        await pilot.pause()
        assert "No line to share" in shown(app)

    patch = pytest.MonkeyPatch()
    patch.chdir(tmp_path)
    app = on_recording(play, "tiny")
    patch.undo()
    assert app.share_line == ""


def test_question_mark_explains_the_words_with_this_races_numbers() -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 30)
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, KeysScreen)
        await pilot.press("end")
        await pilot.pause()
        assert "99 kept of 136 checked; 44 guesses after a miss were never checked" in shown(app)
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, KeysScreen)

    on_recording(play)


def test_m_lists_the_models_and_opens_another_pair() -> None:
    bridge = ready_bridge("fable")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await pilot.press("m")
        assert isinstance(app.screen, ModelsScreen)
        app.screen.query_one(Input).value = "qwen3-14b+qwen3-0.6b"
        await pilot.press("enter")
        await pilot.pause()
        assert bridge.requests[-1].target == "qwen3-14b"
        assert bridge.requests[-1].draft == "qwen3-0.6b"
        bridge.become("loading", "qwen3-14b", "qwen3-0.6b", stored_bytes=8_600_000_000)
        app._watch_opening()
        move(app, clock, 1)
        assert "loading qwen3-14b + qwen3-0.6b, 8.6 GB" in shown(app)
        bridge.become("ready", "qwen3-14b", "qwen3-0.6b")
        app._watch_opening()
        await pilot.pause()
        assert len(bridge.races) == 2
        assert bridge.races[-1][1].sampling.temperature == 0

    on_bridge(play, bridge)


def test_f_forces_drafting() -> None:
    bridge = ready_bridge("parked")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        app.state.race_settings = app.state.race_settings.changed(lookahead="auto")
        await pilot.press("f")
        assert bridge.races[-1][1].lookahead == 3

    on_bridge(play, bridge)


@pytest.mark.parametrize("name", KEYS)
def test_every_key_has_one_row_on_its_page(name: str) -> None:
    app = race_app("fable")

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await app.push_screen(KeysScreen(name))
            await pilot.pause()
            text = app.screen.query_one("#text")
            for key, words in (*KEYS[name], *EVERYWHERE):
                assert 12 + len(words) <= text.size.width, key

    asyncio.run(run())


def test_on_the_narrow_parked_row_sharing_stays() -> None:
    bridge = ready_bridge("parked", "qwen3-4b", "qwen3-0.6b")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        await pilot.resize_terminal(80, 24)
        move(app, clock, 5)
        await pilot.pause()
        row = shown(app).splitlines()[-1]
        for words in ("w weights", "c copy", "f force", "x share", "?"):
            assert f"  {words}  " in row

    on_bridge(play, bridge)


def test_s_opens_step_mode_on_the_pass_that_is_shown() -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 3)
        await pilot.press("s")
        await pilot.pause()
        assert type(app.screen).__name__ == "StepScreen"
        assert director(app).is_paused
        await pilot.press("escape")
        await pilot.pause()
        assert type(app.screen).__name__ == "RaceScreen"

    on_recording(play)


def test_up_down_and_end_move_both_texts_together() -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 30)
        assert "Sunlight looks" not in shown(app)
        await pilot.press("home")
        assert shown(app).count("Sunlight looks") == 2
        await pilot.press("down")
        assert "Sunlight looks" not in shown(app)
        await pilot.press("end")
        assert "orange and red." in shown(app)

    on_recording(play, size=(80, 24))


def test_h9_scrolled_up_it_stays_until_end_follows_again() -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 6)
        await pilot.press("home")
        move(app, clock, 4)
        assert shown(app).count("Sunlight looks") == 2
        await pilot.press("end")
        move(app, clock, 0.2)
        assert "Sunlight looks" not in shown(app)

    on_recording(play, size=(80, 24))

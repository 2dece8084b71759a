"""Copying instead of drafting in a race: when it begins, and when it ends."""

from __future__ import annotations

from mlx_specdec.prompts import edit_prompt
from mlx_specdec.settings import Settings
from tests.race_screens import (
    MovedClock,
    director,
    move,
    on_bridge,
    on_recording,
    ready_bridge,
    shown,
)
from tui.app import SpecdecApp
from tui.opening import PairRequest

import pytest
from textual.pilot import Pilot


def test_c_races_copying_on_an_edit_where_drafting_is_parked() -> None:
    bridge = ready_bridge("parked", "qwen3-4b", "qwen3-0.6b")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 5)
        await pilot.pause()
        assert "c   copying instead of guessing" in shown(app)
        assert "c copying" in shown(app).splitlines()[-1]
        await pilot.press("c")
        prompt, settings = bridge.races[-1]
        assert (settings.draft, prompt) == ("copy", edit_prompt(app.state.is_toy).text)
        assert app.state.prompt.kind == "edit"
        move(app, clock, 5)
        await pilot.pause()
        assert "What would pay" not in shown(app)  # the reason is the text, not the machine
        await pilot.press("minus")
        await pilot.press("enter")
        await pilot.press("c")
        assert [each.draft for _, each in bridge.races[-3:]] == ["copy", "copy", True]
        assert bridge.races[-1][0] == prompt

    on_bridge(play, bridge)


@pytest.mark.parametrize(("target", "draft"), [("qwen3-14b", True), ("qwen3-4b", "copy")])
def test_another_pair_drafts_where_the_last_one_copied(target: str, draft: bool | str) -> None:
    bridge = ready_bridge("parked", "qwen3-4b", "qwen3-0.6b")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 5)
        await pilot.press("c")
        assert app.state.race_settings.draft == "copy"
        bridge.open(PairRequest(target=target))
        app._watch_opening()
        bridge.become("ready", target, "qwen3-0.6b")
        app._watch_opening()
        await pilot.pause()
        assert (app.state.race_settings.draft, bridge.races[-1][1].draft) == (draft, draft)

    on_bridge(play, bridge)


def test_what_was_asked_for_at_the_start_is_kept() -> None:
    bridge = ready_bridge("fable")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        assert app.state.race_settings.draft == "copy"

    on_bridge(play, bridge, race_settings=Settings(draft="copy"))


def test_c_does_nothing_where_drafting_pays() -> None:
    bridge = ready_bridge("fable")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 5)
        assert "copying" not in shown(app)
        await pilot.press("c")
        assert len(bridge.races) == 1

    on_bridge(play, bridge)


def test_c_without_models_says_what_it_takes() -> None:
    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        move(app, clock, 5)
        await pilot.press("c")
        assert director(app).race_copying() == "That takes loaded models: press m."

    on_recording(play, "parked")


def test_a_copying_pair_is_raced_on_an_edit_first() -> None:
    bridge = ready_bridge("fable", "qwen3-14b", "copy")

    async def play(app: SpecdecApp, pilot: Pilot[None], clock: MovedClock) -> None:
        assert bridge.races[-1][0] == edit_prompt(False).text
        move(app, clock, 5)
        assert "green = copied from the text" in shown(app)
        assert "qwen3-14b + copy" in shown(app)

    on_bridge(play, bridge)

"""Every key of the proof screen; the audit and the loaded pair through a bridge that is played."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from mlx_specdec.audit.report import AuditReport, CheckResult
from mlx_specdec.audit.store import remember_audit
from mlx_specdec.errors import SpecdecError
from mlx_specdec.lesson.proof import fox_law
from tests.tui.lesson_apps import BareApp, PlayedBridge, screen_text
from tui.lesson.proof_jobs import AuditRun
from tui.screens.proof import ProofScreen
from tui.screens.words import WordsScreen
from tui.state import AppState

import numpy as np
import pytest
from textual.pilot import Pilot

Steps = Callable[[Pilot[None], ProofScreen], Awaitable[None]]
GOOD = CheckResult("law", "Law of rejection", True, "z 0.4", "4.1")
BAD = CheckResult("rewind-target", "Rewinding of the target", False, "3.1", "0.01", "Stale rows.")


@pytest.fixture(autouse=True)
def no_audit_yet(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def drive(
    steps: Steps,
    bridge: PlayedBridge | None = None,
    is_ready: bool = True,
    is_moving: bool = False,
    size: tuple[int, int] = (120, 36),
) -> None:
    async def main() -> None:
        screen = ProofScreen(
            AppState(is_ready=is_ready),
            bridge,
            rng=np.random.default_rng(3),
            is_moving=is_moving,
        )
        app = BareApp(screen)
        async with app.run_test(size=size, notifications=True) as pilot:
            await pilot.pause()
            await steps(pilot, screen)

    asyncio.run(main())


def words(pilot: Pilot[None]) -> str:
    return " ".join(screen_text(pilot.app).split())


def test_it_draws_by_itself_and_again_on_enter() -> None:
    async def steps(pilot: Pilot[None], screen: ProofScreen) -> None:
        assert "✓ the same law" in words(pilot)
        first = screen.view.draw
        await pilot.press("enter")
        assert screen.view.draw is not first
        assert screen.view.way == "exact"

    drive(steps)


def test_the_breaks_are_caught_and_stay_beside_each_other() -> None:
    async def steps(pilot: Pilot[None], screen: ProofScreen) -> None:
        await pilot.press("1")
        await pilot.pause()
        assert "✗ another law" in words(pilot)
        assert words(pilot).count("✗ caught") == 1
        await pilot.press("3")
        await pilot.pause()
        assert words(pilot).count("✗ caught") == 2
        await pilot.press("enter")
        await pilot.pause()
        assert "✓ the same law" in words(pilot)
        assert words(pilot).count("✗ caught") == 2

    drive(steps)


def test_a_draw_falls_into_place_step_by_step() -> None:
    async def steps(pilot: Pilot[None], screen: ProofScreen) -> None:
        screen.action_draw("redraw")
        await pilot.pause()
        assert "draws so far" in words(pilot)
        draw = screen.view.draw
        assert draw is not None
        for _ in range(len(draw.steps) + 2):
            screen._tick()
        await pilot.pause()
        assert "draws so far" not in words(pilot)
        assert "✗ caught" in words(pilot)

    drive(steps, is_moving=True)


@pytest.mark.parametrize("key", ["2", "a", "f"])
def test_without_a_pair_it_says_where_one_is_loaded(key: str) -> None:
    async def steps(pilot: Pilot[None], screen: ProofScreen) -> None:
        assert "needs a loaded pair" in words(pilot)
        await pilot.press(key)
        await pilot.pause()
        assert "No pair is loaded yet" in words(pilot)

    drive(steps, is_ready=False)


def test_f_takes_the_law_of_the_loaded_pair_and_back() -> None:
    bridge = PlayedBridge()

    async def steps(pilot: Pilot[None], screen: ProofScreen) -> None:
        await pilot.press("f")
        await pilot.pause()
        assert "reads the prompt" in words(pilot)
        bridge.futures[0].set_result(replace(fox_law(), source="tiny + tiny-draft", prefix="a b"))
        await pilot.pause()
        await pilot.pause()
        assert screen.view.law.source == "tiny + tiny-draft"
        assert "The next word after “a b”" in words(pilot)
        await pilot.press("f")
        assert screen.view.law.source == "built-in example"

    drive(steps, bridge)


def test_an_error_of_the_engine_is_a_notice_and_the_screen_lives_on() -> None:
    bridge = PlayedBridge()

    async def steps(pilot: Pilot[None], screen: ProofScreen) -> None:
        await pilot.press("f")
        await pilot.pause()
        bridge.futures[0].set_exception(SpecdecError("It broke.", "Mend it."))
        await pilot.pause()
        await pilot.pause()
        assert screen.view.note == ""
        assert screen.view.law.source == "built-in example"

    drive(steps, bridge)


def test_2_runs_the_audit_with_a_broken_rewind_and_says_what_caught_it() -> None:
    bridge = PlayedBridge()

    async def steps(pilot: Pilot[None], screen: ProofScreen) -> None:
        await pilot.press("2")
        await pilot.pause()
        run = bridge.asked[0]
        assert isinstance(run, AuditRun)
        assert run.fault == "rewind"
        report = AuditReport((GOOD, BAD), "t", "d", 3.0, True, True)
        bridge.futures[0].set_result(report)
        await pilot.pause()
        await pilot.pause()
        assert "✗ caught: rewinding of the target" in words(pilot)

    drive(steps, bridge)


def test_a_runs_the_audit_and_tells_its_result_and_its_age() -> None:
    bridge = PlayedBridge()

    async def steps(pilot: Pilot[None], screen: ProofScreen) -> None:
        assert "never run here" in words(pilot)
        await pilot.press("a")
        await pilot.pause()
        await pilot.press("a")  # one at a time
        assert len(bridge.asked) == 1
        report = AuditReport((GOOD, GOOD), "t", "d", 41.0)
        remember_audit(report, {})
        bridge.futures[0].set_result(report)
        await pilot.pause()
        await pilot.pause()
        assert "All 2 checks passed in 41 s" in words(pilot)
        assert "2 checks, about 41 s · a runs it · last run 2 of 2, just now" in words(pilot)

    drive(steps, bridge)


def test_a_failed_check_is_told_with_figure_bound_and_reason() -> None:
    bridge = PlayedBridge()

    async def steps(pilot: Pilot[None], screen: ProofScreen) -> None:
        await pilot.press("a")
        await pilot.pause()
        bridge.futures[0].set_result(AuditReport((GOOD, BAD), "t", "d", 3.0))
        await pilot.pause()
        await pilot.pause()
        assert "✗ Rewinding of the target: 3.1, allowed 0.01. Stale rows." in words(pilot)

    drive(steps, bridge)


def test_esc_stops_an_audit_first() -> None:
    bridge = PlayedBridge()

    async def steps(pilot: Pilot[None], screen: ProofScreen) -> None:
        await pilot.press("a")
        await pilot.pause()
        await pilot.press("escape")
        run = bridge.asked[0]
        assert isinstance(run, AuditRun)
        assert run._cancelled.is_set()
        assert pilot.app.screen_stack[-1] is screen
        bridge.futures[0].set_result(AuditReport((GOOD,), "t", "d", 1.0, is_cancelled=True))
        await pilot.pause()
        await pilot.pause()
        assert "Stopped after one check." in words(pilot)

    drive(steps, bridge)


def test_question_mark_explains_words() -> None:
    async def steps(pilot: Pilot[None], screen: ProofScreen) -> None:
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(pilot.app.screen, WordsScreen)

    drive(steps)


@pytest.mark.parametrize("size", [(72, 20), (80, 24), (200, 50)])
def test_the_screen_fits(size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None], screen: ProofScreen) -> None:
        await pilot.press("1")
        await pilot.pause()
        text = screen_text(pilot.app)
        assert "Break it on purpose" in text
        assert "whole audit" in text
        assert len(text.splitlines()) == size[1]

    drive(steps, size=size)

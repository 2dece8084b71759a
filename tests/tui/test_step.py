"""Every key of step mode, in a bare app."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from mlx_specdec.errors import InvalidRequestError
from mlx_specdec.events import Round
from mlx_specdec.lesson.lesson import Phase
from tests.tui.lesson_apps import PlayedBridge, cycled, lesson_app, recorded, screen_text
from tui.lesson.lesson_app import LessonApp
from tui.lesson.step_state import StepState
from tui.screens.step import StepScreen
from tui.screens.words import WordsScreen
from tui.state import AppState

import pytest
from textual.pilot import Pilot

Steps = Callable[[Pilot[None], StepScreen], Awaitable[None]]


def drive(
    app: LessonApp, steps: Steps, size: tuple[int, int] = (120, 36), notes: bool = False
) -> None:
    async def main() -> None:
        async with app.run_test(size=size, notifications=notes) as pilot:
            await pilot.pause()
            screen = app.screen
            assert isinstance(screen, StepScreen)
            await steps(pilot, screen)

    asyncio.run(main())


def state_of(screen: StepScreen) -> StepState:
    assert screen.state is not None
    return screen.state


def test_arrows_go_through_the_phases_and_back() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        for phase in (Phase.CHECK, Phase.REPLACE, Phase.BONUS):
            await pilot.press("right")
            assert state_of(screen).phase is phase
        await pilot.press("right")
        assert state_of(screen).phase is Phase.BONUS  # one round only
        for phase in (Phase.REPLACE, Phase.CHECK, Phase.GUESS, Phase.GUESS):
            await pilot.press("left")
            assert state_of(screen).phase is phase

    drive(lesson_app(), steps)


def test_what_comes_later_is_not_shown_yet() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        seen = [screen_text(pilot.app)]
        for _ in range(3):
            await pilot.press("right")
            await pilot.pause()
            seen.append(screen_text(pilot.app))
        assert "MISS" not in seen[0]
        assert "MISS" in seen[1]
        assert "left over" not in seen[1]
        assert "sum .40 = acceptance" in seen[2]
        assert "now   The quick brown▌" in seen[0]
        assert "now   The quick brown fox jumps over▌" in seen[1]
        assert "now   The quick brown fox jumps over the▌" in seen[2]

    drive(lesson_app(), steps)


def test_n_goes_to_the_next_round_and_shift_n_back() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        assert state_of(screen).lesson.index == 1
        await pilot.press("right", "n")
        assert state_of(screen).lesson.index == 2
        assert state_of(screen).phase is Phase.GUESS
        await pilot.press("N")
        assert state_of(screen).lesson.index == 1
        for _ in range(20):
            await pilot.press("n")
        assert state_of(screen).place == len(state_of(screen).lessons) - 1

    drive(lesson_app("step_rejection"), steps)


def test_the_last_phase_leads_on_to_the_next_round() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("right", "right", "right", "right")
        assert (state_of(screen).lesson.index, state_of(screen).phase) == (2, Phase.GUESS)

    drive(lesson_app("step_rejection"), steps)


def test_c_throws_again_and_counts() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("c")
        assert state_of(screen).phase is Phase.CHECK
        assert state_of(screen).fate is not None
        await pilot.pause()
        assert "The new coin says .12: “a” lives." in screen_text(pilot.app)
        await pilot.press("c")
        assert (state_of(screen).throws, state_of(screen).lives) == (2, 1)
        await pilot.pause()
        words = " ".join(screen_text(pilot.app).split())
        assert "“a” lived in 1 of 2 throws, .14 expected." in words
        await pilot.press("right")
        assert state_of(screen).fate is None

    drive(lesson_app(coins=cycled(0.12, 0.9, 0.5, 0.6, 0.7)), steps)


def test_c_at_temperature_0_says_that_no_coin_falls() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("c")
        await pilot.pause()
        assert state_of(screen).fate is None
        assert "At temperature 0 no coin falls." in screen_text(pilot.app)

    drive(lesson_app(rule="greedy"), steps, notes=True)


def test_b_breaks_and_mends() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("b")
        await pilot.pause()
        assert "✗ should be .70" in screen_text(pilot.app)
        assert state_of(screen).phase is Phase.REPLACE
        await pilot.press("b")
        await pilot.pause()
        assert "✗ should be" not in screen_text(pilot.app)

    drive(lesson_app(), steps)


def test_u_shows_the_lesson_under_every_rule_and_comes_round() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("right", "right")
        seen = []
        for _ in range(6):
            await pilot.press("u")
            assert state_of(screen).phase is Phase.REPLACE
            lesson = state_of(screen).lesson
            seen.append("copied" if lesson.is_copied else lesson.rule)
        assert seen == ["block", "coupled", "match", "greedy", "copied", "rejection"]

    drive(lesson_app(), steps)


def test_u_in_a_recording_compares_four_rules() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("right", "u")
        await pilot.pause()
        assert "THE SAME GUESSES UNDER FOUR RULES" in screen_text(pilot.app)
        await pilot.press("u")
        await pilot.pause()
        assert "THE SAME GUESSES UNDER FOUR RULES" not in screen_text(pilot.app)

    drive(lesson_app("step_rejection", 2), steps)


def test_predict_first_covers_verdicts_and_counts() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("h")
        await pilot.pause()
        text = screen_text(pilot.app)
        assert "does “fox” live?" in text
        assert "MISS" not in text
        assert "[fox jumps over a happy]" in text
        await pilot.press("right")  # not before the student has said something
        assert state_of(screen).phase is Phase.CHECK
        await pilot.press("y", "n", "y", "n")
        await pilot.pause()
        text = screen_text(pilot.app)
        assert "Your score: 3 of 4 right." in text
        assert "MISS" in text
        await pilot.press("h")
        assert state_of(screen).prediction is None

    drive(lesson_app(), steps)


def test_the_score_goes_on_in_the_next_round() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("h", "y", "y", "y", "y")
        assert state_of(screen).asks_about is None
        await pilot.press("n")  # nothing is asked: the next round
        assert state_of(screen).lesson.index == 2
        score = state_of(screen).prediction
        assert score is not None
        assert (score.right, score.asked, score.answers) == (4, 4, ())

    drive(lesson_app("step_rejection"), steps)


def test_tab_alternates_table_and_overlap_at_80_columns() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("right", "right")
        await pilot.pause()
        assert "left over" in screen_text(pilot.app)
        await pilot.press("tab")
        await pilot.pause()
        assert "keep with" in screen_text(pilot.app)
        assert "left over" not in screen_text(pilot.app)
        await pilot.press("tab")
        await pilot.pause()
        assert "left over" in screen_text(pilot.app)

    drive(lesson_app(), steps, size=(80, 24))


def test_x_saves_the_round(tmp_path: Path) -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("x")
        await pilot.pause()
        names = sorted(path.name for path in tmp_path.iterdir())
        assert names == ["the-fox-rejection.md", "the-fox-rejection.svg"]
        assert "the-fox-rejection.svg" in screen_text(pilot.app)

    drive(lesson_app(folder=tmp_path), steps, notes=True)


def test_x_where_nothing_can_be_written_says_so(tmp_path: Path) -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("x")
        await pilot.pause()
        assert "Not saved" in screen_text(pilot.app)

    drive(lesson_app(folder=tmp_path / "missing"), steps, notes=True)


def test_question_mark_explains_the_words_with_this_rounds_numbers() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(pilot.app.screen, WordsScreen)
        text = screen_text(pilot.app)
        assert "here: .70 on “a”" in text
        await pilot.press("escape")
        assert pilot.app.screen_stack[-1] is screen

    drive(lesson_app(), steps)


def test_esc_leaves() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("escape")
        await pilot.pause()
        assert not pilot.app.is_running

    drive(lesson_app(), steps)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50), (60, 16)])
def test_no_row_is_wider_than_the_screen_and_the_foot_stays(size: tuple[int, int]) -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        for key in ("right", "right", "tab", "right", "b", "u", "h"):
            await pilot.press(key)
            await pilot.pause()
            rows = screen_text(pilot.app).splitlines()
            assert len(rows) == size[1]
            assert "phase" in rows[-2]
            assert rows[-3].startswith(" now")

    drive(lesson_app("step_rejection", 5), steps, size)


def test_a_start_beyond_the_end_is_the_last_round() -> None:
    state = StepState.of_recording(recorded("step_block"), 99)
    assert state is not None
    assert state.place == len(state.lessons) - 1


def bare_step(bridge: PlayedBridge) -> tuple[LessonApp, Round]:
    """Step mode on a recording without detail, whose race was the app's last; and round 2 whole."""
    whole = recorded("step_rejection")
    rounds = [e for e in whole.speculative if isinstance(e, Round)]
    bare = replace(whole, speculative=tuple(replace(e, detail=()) for e in rounds))
    state = AppState(is_ready=True, recording=bare)
    screen = StepScreen(bare, 2, bridge=bridge, app_state=state)
    return LessonApp(screen), next(e for e in rounds if e.index == 2)


def test_odds_that_were_not_recorded_are_read_after_the_fact() -> None:
    bridge = PlayedBridge()
    app, whole = bare_step(bridge)

    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("right", "right")
        await pilot.pause()
        assert "odds of the other words were not kept" in screen_text(pilot.app)
        assert len(bridge.futures) == 1  # asked once, not at every key
        bridge.futures[0].set_result(whole)
        await pilot.pause()
        await pilot.pause()
        assert "sum .88 = acceptance" in screen_text(pilot.app)
        assert state_of(screen).phase is Phase.REPLACE
        await pilot.press("n")
        assert len(bridge.futures) == 2

    drive(app, steps)


def test_odds_that_cannot_be_read_are_said_and_the_table_stays() -> None:
    bridge = PlayedBridge()
    app, _ = bare_step(bridge)

    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        await pilot.press("right")
        bridge.futures[0].set_exception(InvalidRequestError("Another pair made it.", "Race."))
        await pilot.pause()
        await pilot.pause()
        text = screen_text(pilot.app)
        assert "Another pair made it." in text
        assert "keep with" in text

    drive(app, steps, notes=True)


def test_keys_where_nothing_was_guessed_do_nothing() -> None:
    async def steps(pilot: Pilot[None], screen: StepScreen) -> None:
        for key in ("right", "left", "n", "c", "u", "b", "h", "y", "tab", "x"):
            await pilot.press(key)
        assert screen.state is None
        assert "Nothing was guessed" in screen_text(pilot.app)

    empty = replace(recorded("step_block"), speculative=())
    drive(LessonApp(StepScreen(empty)), steps)

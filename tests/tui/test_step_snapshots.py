"""Every phase and state of step mode as it looks, at two sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mlx_specdec.events import Prefilled
from tests.tui.lesson_apps import SIZE_IDS, SIZES, lesson_app, recorded
from tui.lesson.lesson_app import LessonApp
from tui.screens.step import StepScreen

import pytest

STATES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "guess": ({}, ()),
    "check": ({}, ("right",)),
    "replace": ({}, ("right", "right")),
    "bonus": ({}, ("right", "right", "right")),
    "broken": ({}, ("b",)),
    "thrown": ({}, ("right", "c", "c")),
    "predict": ({}, ("h", "y", "y")),
    "predicted": ({}, ("h", "y", "y", "y", "y")),
    "words": ({}, ("right", "question_mark")),
    "block": ({"rule": "block"}, ("right",)),
    "block_replace": ({"rule": "block"}, ("right", "right")),
    "coupled": ({"rule": "coupled"}, ("right", "right")),
    "match": ({"rule": "match"}, ("right", "right")),
    "greedy": ({"rule": "greedy"}, ("right", "right")),
    "copied": ({"rule": "copied"}, ("right", "right")),
    "recorded": ({"name": "step_rejection", "start_round": 5}, ("right", "right")),
    "all_kept": ({"name": "step_rejection", "start_round": 4}, ("right", "right", "right")),
    "four_rules": ({"name": "step_rejection", "start_round": 2}, ("right", "u")),
    "no_detail": ({"name": "race_tiny", "start_round": 2}, ("right", "right")),
}


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
@pytest.mark.parametrize("state", STATES)
def test_step_state(state: str, size: tuple[int, int], snap_compare: Any) -> None:
    opening, keys = STATES[state]
    assert snap_compare(lesson_app(**opening), terminal_size=size, press=keys)


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
def test_step_nothing_guessed(size: tuple[int, int], snap_compare: Any) -> None:
    only = (Prefilled(3, 0, 0.1, 0.1),)
    recording = replace(recorded("step_block"), speculative=only)
    assert snap_compare(LessonApp(StepScreen(recording)), terminal_size=size)


def test_step_other_page(snap_compare: Any) -> None:
    app = lesson_app()
    assert snap_compare(app, terminal_size=(80, 24), press=("right", "right", "tab"))

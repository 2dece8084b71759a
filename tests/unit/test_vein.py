"""Whether answers go on in the vein of the one before is learned from answers."""

from __future__ import annotations

from mlx_specdec.lookahead.belief import AcceptanceBelief
from mlx_specdec.lookahead.vein import Vein

import numpy as np
import pytest

CHANCES = np.array([0.3, 0.9])
USUAL = np.array([0.5, 0.5])


def answer(vein: Vein, carried: float, chance: float, guesses: int = 20) -> None:
    """One answer: before it the high chance was believed with ``carried``; then guesses come out
    at ``chance``."""
    vein.begin_answer(np.array([1 - carried, carried]), USUAL)
    for i in range(guesses):
        kept = int((i + 1) * chance) > int(i * chance)
        vein.observe(CHANCES if kept else 1 - CHANCES, 1)


def test_it_learns_that_answers_go_on_or_that_they_do_not() -> None:
    same, other = Vein(), Vein()
    for turn in range(40):
        answer(same, 0.98, 0.9)
        answer(other, 0.98, 0.9 if turn % 2 else 0.3)
    assert other.chance < 0.3 < Vein().chance < 0.8 < same.chance


def test_an_answer_of_too_few_guesses_tells_nothing() -> None:
    vein = Vein()
    answer(vein, 0.98, 0.3, guesses=11)
    assert vein == Vein()
    answer(vein, 0.98, 0.3, guesses=12)
    assert vein.chance < Vein().chance


def test_another_conversation_tells_nothing() -> None:
    vein = Vein()
    vein.begin_answer(np.array([0.02, 0.98]), USUAL)
    vein.forget_answer()
    for _ in range(20):
        vein.observe(1 - CHANCES, 1)
    assert vein == Vein()


def test_old_answers_fade() -> None:
    vein = Vein()
    for _ in range(200):
        answer(vein, 0.98, 0.9)
    assert vein.same + vein.other == pytest.approx(20.0)


def test_of_two_conversations_each_has_its_own() -> None:
    belief = AcceptanceBelief()
    beside = belief.beside()
    fresh = beside.weights.copy()
    for _ in range(30):
        belief.observe(0, 1)
        belief.pass_by(1)
    belief.begin_answer()
    beside.begin_answer()
    assert beside.weights == pytest.approx(
        Vein().chance * fresh + (1 - Vein().chance) * beside.usual
    )

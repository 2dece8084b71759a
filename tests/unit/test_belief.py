"""What an answer and a conversation pass on to the next."""

from __future__ import annotations

from mlx_specdec.lookahead.belief import AcceptanceBelief
from mlx_specdec.lookahead.vein import Vein

import pytest


def never_alike() -> AcceptanceBelief:
    """Of answers that never go on as the one before."""
    return AcceptanceBelief(_vein=Vein(1e-9, 1e9))


def tell(belief: AcceptanceBelief, *stretches: tuple[float, int]) -> None:
    """One tested guess after another, in stretches of a chance and so many tokens."""
    for chance, tokens in stretches:
        for i in range(tokens):
            belief.observe(int((i + 1) * chance) - int(i * chance), 1)
            belief.pass_by(1)


def kept(belief: AcceptanceBelief) -> float:
    """The share of guesses that a new stretch is expected to keep."""
    return float(belief.usual @ belief.chances)


def learned(belief: AcceptanceBelief) -> float:
    """In stretches."""
    return sum(stretches for _, stretches in belief.carried)


def test_the_next_answer_knows_how_long_stretches_are_but_not_how_far_one_is() -> None:
    belief = never_alike()
    tell(belief, *[(0.9, 220), (0.3, 220)] * 6, (0.9, 30))
    just_begun = belief.hazard
    belief.begin_answer()
    assert 1 / just_begun > 150
    over_all_phases = sum(10 / (220 * left) for left in range(1, 11)) / 10
    assert belief.hazard == pytest.approx(over_all_phases, rel=0.01)


def test_rounds_that_wait_to_be_judged_are_not_lost_between_answers() -> None:
    belief = never_alike()
    tell(belief, (0.9, 50))
    assert learned(belief) == pytest.approx(0.5)
    belief.begin_answer()
    assert learned(belief) == pytest.approx(0.5)
    assert kept(belief) > kept(AcceptanceBelief())
    tell(belief, (0.9, 40))
    belief.begin_conversation()
    assert learned(belief) == pytest.approx(0.9)
    tell(belief, (0.9, 60))
    assert learned(belief) == pytest.approx(1.5)  # each counts once


def test_another_conversation_learns_soon_that_its_texts_are_others() -> None:
    belief, same = AcceptanceBelief(), AcceptanceBelief()
    for each in (belief, same):
        tell(each, (0.1, 5000))
    belief.begin_conversation()
    assert learned(belief) < 6.0
    for each in (belief, same):
        tell(each, (0.9, 1000))
    assert kept(belief) > 0.5 > 0.3 > kept(same)

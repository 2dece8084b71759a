"""What a stretch was like, judged later."""

from __future__ import annotations

from mlx_specdec.lookahead.hindsight import Hindsight

import numpy as np
import pytest

CHANCES = np.array([0.2, 0.5, 0.9])
ANOTHER = np.array([[0.0, 0.8, 0.2], [0.3, 0.0, 0.7], [0.5, 0.5, 0.0]])
HAZARD = 0.01


def forward(outcomes: list[bool], tokens: int) -> tuple[Hindsight, list[np.ndarray]]:
    """Rounds of one tested guess, believed in as by the forward filter."""
    hindsight, weights, seen = Hindsight(), np.ones(3) / 3, []
    stays = (1 - HAZARD) ** tokens
    for kept in outcomes:
        likelihood = CHANCES if kept else 1 - CHANCES
        weights = weights * likelihood / (weights @ likelihood)
        hindsight.add(weights, likelihood)
        hindsight.pass_by(tokens)
        seen.append(weights)
        weights = stays * weights + (1 - stays) * weights @ ANOTHER
    return hindsight, seen


def by_enumeration(outcomes: list[bool], tokens: int) -> list[np.ndarray]:
    """The same law, of every round, by adding up all sequences of chances."""
    stays = (1 - HAZARD) ** tokens
    moves = stays * np.eye(3) + (1 - stays) * ANOTHER
    totals = np.zeros((len(outcomes), 3))
    for path in np.ndindex(*[3] * len(outcomes)):
        likely = 1.0
        for i, kept in enumerate(outcomes):
            likely *= float(moves[path[i - 1], path[i]]) if i else 1.0
            likely *= float(CHANCES[path[i]]) if kept else 1 - float(CHANCES[path[i]])
        for i, chance in enumerate(path):
            totals[i, chance] += likely
    return list(totals / totals.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("tokens", [1, 30])
def test_it_is_the_law_of_each_round_given_all(tokens: int) -> None:
    outcomes = [True, False, True, True, False]
    hindsight, _ = forward(outcomes, tokens)
    wanted = tokens * sum(by_enumeration(outcomes, tokens))
    assert hindsight.judged(ANOTHER, HAZARD) == pytest.approx(wanted)


def test_what_is_only_seen_later_counts_for_what_went_before() -> None:
    """The first guesses of an easy stretch are believed to be of any, and were easy."""
    hindsight, seen = forward([True] * 40, 1)
    assert seen[0][2] < 0.6
    tokens = hindsight.judged(ANOTHER, HAZARD)
    assert tokens.sum() == pytest.approx(40)
    assert tokens[2] > 0.97 * 40


def test_the_latest_rounds_wait_and_each_counts_once() -> None:
    hindsight, _ = forward([True, False] * 100, 1)
    was_due = hindsight.is_due
    first = hindsight.take(ANOTHER, HAZARD, lag=64)
    assert first.sum() == pytest.approx(200 - 64)
    assert (was_due, hindsight.is_due) == (True, False)
    rest = hindsight.take(ANOTHER, HAZARD, lag=0)
    assert rest.sum() == pytest.approx(64)
    assert hindsight.take(ANOTHER, HAZARD, lag=0).sum() == 0


def test_untested_tokens_count_as_the_last_tested_guess() -> None:
    hindsight = Hindsight()
    hindsight.pass_by(50)  # nothing was tested yet
    assert hindsight.judged(ANOTHER, HAZARD).sum() == 0
    hindsight.add(np.array([0.9, 0.1, 0.0]), 1 - CHANCES)
    hindsight.pass_by(500)
    assert hindsight.judged(ANOTHER, HAZARD) == pytest.approx([450, 50, 0])

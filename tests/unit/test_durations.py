"""How long stretches are taken to last."""

from __future__ import annotations

from mlx_specdec.lookahead.durations import Durations

import numpy as np
import pytest

LENGTHS, WEIGHTS, PHASES = np.array([200.0, 50.0]), np.array([0.75, 0.25]), 4


@pytest.fixture
def durations() -> Durations:
    return Durations(LENGTHS, WEIGHTS, PHASES)


def ended(durations: Durations, place: int, num_tokens: int) -> float:
    """How likely a stretch at ``place`` has ended by then."""
    same = durations.gone_by(num_tokens).reshape(3, len(durations.places), -1)[0]
    return 1 - float(same[:, place].sum())


def test_of_an_unknown_stretch_every_phase_is_as_likely(durations: Durations) -> None:
    assert durations.places.reshape(2, PHASES) == pytest.approx(
        np.outer(WEIGHTS, np.ones(PHASES)) / PHASES
    )
    assert durations.remaining.reshape(2, PHASES)[1] == pytest.approx([50, 37.5, 25, 12.5])
    reached = np.array([0.5, 0, 0, 0.1, 0, 0.4, 0, 0])
    assert durations.anywhere(reached) == pytest.approx([0.15] * 4 + [0.1] * 4)


@pytest.mark.parametrize("num_tokens", [0, 1, 7, 300])
def test_every_stretch_is_somewhere_afterwards(durations: Durations, num_tokens: int) -> None:
    moved = durations.gone_by(num_tokens)
    assert moved.sum(axis=0) == pytest.approx(1)
    assert moved.min() >= 0
    by_length = moved.reshape(3, 2, PHASES, 2, PHASES).sum(axis=(0, 2))
    assert by_length[0, 1] == pytest.approx(0)  # a stretch of one length does not turn into
    assert by_length[1, 0] == pytest.approx(0)  # one of the other


def test_token_by_token_is_the_same_as_at_once(durations: Durations) -> None:
    n = len(durations.places)
    once, again = (durations.gone_by(k).reshape(3, n, n) for k in (5, 8))
    both = durations.gone_by(13).reshape(3, n, n)
    assert both[0] == pytest.approx(again[0] @ once[0])
    assert both[1] == pytest.approx(again[0] @ once[1] + again[1] @ once[0])
    assert both.sum(axis=0) == pytest.approx(again.sum(axis=0) @ once.sum(axis=0))


def test_it_lasts_what_it_should_on_average(durations: Durations) -> None:
    for first, length in ((0, 200.0), (PHASES, 50.0)):
        lasts = sum(1 - ended(durations, first, n) for n in range(2000))
        assert lasts == pytest.approx(length, rel=1e-3)


def test_a_stretch_that_has_just_begun_hardly_ends_and_an_old_one_does(
    durations: Durations,
) -> None:
    """With one phase it would be 1 - 0.995^20 = 9.5 % in either."""
    assert ended(durations, 0, 20) < 0.002
    assert ended(durations, PHASES - 1, 20) > 0.3
    assert ended(Durations(LENGTHS, WEIGHTS, 1), 0, 20) == pytest.approx(1 - 0.995**20)

"""The next word drawn with drafting: the law by arithmetic, the bound, and what breaks it."""

from __future__ import annotations

from mlx_specdec.lesson.proof import (
    NextWordLaw,
    Way,
    allowed_distance,
    draw_words,
    drawn_law,
    fox_law,
)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

WAYS: tuple[Way, ...] = ("exact", "redraw", "unsure")


def law_from(seed: int, size: int = 30, sharpness: float = 0.3) -> NextWordLaw:
    rng = np.random.default_rng(seed)
    target, draft = rng.dirichlet(np.full(size, sharpness), 2)
    return NextWordLaw(target, draft, lambda token: f" w{token}", "before", "a test")


@given(st.integers(0, 10_000))
def test_drafting_draws_the_targets_law_and_the_broken_ways_are_laws_too(seed: int) -> None:
    law = law_from(seed)
    assert drawn_law(law, "exact") == pytest.approx(law.target, abs=1e-12)
    for way in WAYS:
        assert drawn_law(law, way).sum() == pytest.approx(1.0)
        assert drawn_law(law, way).min() >= 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_drawn_is_what_the_arithmetic_says(way: Way, seed: int) -> None:
    law = law_from(seed)
    draw = draw_words(law, np.random.default_rng(seed), way, 40_000)
    expected = law.grouped(drawn_law(law, way))
    distance = 0.5 * np.abs(np.array(draw.steps[-1].shares) - expected).sum()
    assert distance <= allowed_distance(expected, 40_000, 1e-6)
    assert draw.distance == pytest.approx(
        0.5 * np.abs(law.grouped(law.target) - draw.steps[-1].shares).sum()
    )


def test_the_bound_is_rarely_exceeded_by_honest_draws_and_is_not_idle() -> None:
    law = law_from(5)
    target = law.grouped(law.target)
    rng = np.random.default_rng(0)
    bound = allowed_distance(target, 500)
    counts = rng.multinomial(500, target / target.sum(), 4000)
    distances = 0.5 * np.abs(counts / 500 - target).sum(axis=1)
    assert (distances > bound).mean() <= 1e-3
    assert distances.mean() > bound / 4
    assert allowed_distance(target, 50_000) < bound / 5


@pytest.mark.parametrize(("way", "shift"), [("redraw", 0.08), ("unsure", 0.04)])
def test_breaks_are_caught_on_the_fox(way: Way, shift: float) -> None:
    law = fox_law()
    assert 0.5 * np.abs(drawn_law(law, way) - law.target).sum() == pytest.approx(shift)
    for seed in range(5):
        assert draw_words(law, np.random.default_rng(seed)).is_same_law
        assert not draw_words(law, np.random.default_rng(seed), way).is_same_law


def test_steps_are_the_draws_as_they_went_on() -> None:
    draw = draw_words(fox_law(), np.random.default_rng(1))
    assert [step.num_draws for step in draw.steps] == [20, 60, 200, 600, 2000, 6000, 20000]
    assert draw.distance == draw.steps[-1].distance < draw.steps[0].distance + 0.5
    assert all(sum(step.shares) == pytest.approx(1.0) for step in draw.steps)


def test_words_that_the_draft_cannot_draw_and_words_nobody_gives_a_chance() -> None:
    target, draft = np.array([0.5, 0.5, 0.0, 0.0]), np.array([0.0, 0.9, 0.1, 0.0])
    law = NextWordLaw(target, draft, str, "x", "a test")
    assert law.names == ("0", "1", "2", "(others)")
    draw = draw_words(law, np.random.default_rng(2), "exact", 5000)
    assert draw.steps[-1].shares[2:] == pytest.approx((0.0, 0.0))
    assert draw.is_same_law


def test_equal_laws_keep_every_guess() -> None:
    same = np.array([0.25, 0.75])
    law = NextWordLaw(same, same, str, "x", "a test")
    assert drawn_law(law, "exact") == pytest.approx(same)
    assert draw_words(law, np.random.default_rng(3), "redraw").is_same_law

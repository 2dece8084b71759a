"""Draws follow their laws, and what has no mass is never drawn.

The chi-square tests use fixed keys, so they are repeatable; a fresh key would raise a false
alarm once in a million runs of each.
"""

from __future__ import annotations

import math

from mlx_specdec.backend import mx
from mlx_specdec.draws import draw_by_cdf, draw_by_gumbel, gumbel, top_two_gap

import numpy as np
import pytest

FALSE_ALARM = 1e-6
LAW = np.array([0.0, 0.3, 0.02, 0.25, 0.0, 0.001, 0.129, 0.2, 0.1, 0.0])


def chance_of_more(statistic: float, freedom: int) -> float:
    """The chi-square distribution's upper tail, for an even number of degrees of freedom."""
    assert freedom % 2 == 0
    half = statistic / 2
    return math.exp(-half) * sum(half**j / math.factorial(j) for j in range(freedom // 2))


def check_law(tokens: mx.array, law: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    counts = np.bincount(np.array(tokens), minlength=law.size)
    assert counts[law == 0].sum() == 0
    expected = law[law > 0] * counts.sum()
    statistic = float(((counts[law > 0] - expected) ** 2 / expected).sum())
    assert chance_of_more(statistic, expected.size - 1) > FALSE_ALARM


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gumbel_draws_follow_the_law(seed: int) -> None:
    draws_count = 300_000
    noise = gumbel(mx.random.key(seed), (draws_count, LAW.size))
    check_law(draw_by_gumbel(mx.log(mx.array(LAW, dtype=mx.float32))[None], noise), LAW)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cdf_draws_follow_the_law(seed: int) -> None:
    uniforms = mx.random.uniform(shape=(300_000,), key=mx.random.key(seed))
    rows = mx.broadcast_to(mx.array(LAW, dtype=mx.float32)[None], (300_000, LAW.size))
    check_law(draw_by_cdf(rows, uniforms), LAW)


def test_the_cdf_splits_a_grid_of_uniforms_exactly() -> None:
    """Not a matter of chance: each entry gets its share of an even grid, to within rounding."""
    grid = (np.arange(100_000) + 0.5) / 100_000
    rows = mx.broadcast_to(mx.array(7 * LAW, dtype=mx.float32)[None], (grid.size, LAW.size))
    tokens = np.array(draw_by_cdf(rows, mx.array(grid.astype(np.float32))))
    counts = np.bincount(tokens, minlength=LAW.size)
    assert np.abs(counts - LAW * grid.size).max() <= 2


@pytest.mark.parametrize("uniform", [0.0, 2.0**-32, 0.5, 1 - 2.0**-23, 1 - 2.0**-24])
@pytest.mark.parametrize("vocab", [3, 4096, 151_936])
def test_the_cdf_never_draws_what_has_no_mass(uniform: float, vocab: int) -> None:
    rng = np.random.default_rng(vocab)
    probs = rng.random((4, vocab)).astype(np.float32) * (rng.random((4, vocab)) < 0.3)
    probs[:, vocab // 2] = 0.1
    probs[3] = 0
    probs[3, vocab // 2] = 1e-30
    probs[:, 0] = probs[:, -1] = 0
    tokens = np.array(draw_by_cdf(mx.array(probs), mx.full((4,), uniform)))
    assert (probs[np.arange(4), tokens] > 0).all()


def test_the_cdf_takes_the_first_entry_above_the_target() -> None:
    probs = mx.array([[0.25, 0.0, 0.25, 0.5]] * 5)
    tokens = draw_by_cdf(probs, mx.array([0.0, 0.25, 0.4999, 0.5, 0.9999]))
    assert tokens.tolist() == [0, 2, 2, 3, 3]


@pytest.mark.parametrize("uniform", [0.0, 2.0**-32, 0.5, 1 - 2.0**-24])
def test_gumbel_is_finite_at_the_ends(uniform: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        mx.random, "uniform", lambda shape, key: mx.full(shape, uniform, dtype=mx.float32)
    )
    noise = gumbel(mx.random.key(0), (4,))
    assert np.isfinite(np.array(noise)).all()
    expected = -math.log(-math.log1p(-max(uniform, 2.0**-33)))
    assert noise[0].item() == pytest.approx(expected, rel=1e-5)


def test_gumbel_has_the_moments_and_the_tail() -> None:
    """Bounds are five standard errors: one false alarm in 600,000 fresh keys for each."""
    count = 2_000_000
    noise = np.array(gumbel(mx.random.key(11), (count,))).astype(np.float64)
    assert np.isfinite(noise).all()
    deviation = math.pi / math.sqrt(6)
    assert abs(noise.mean() - 0.5772156649) < 5 * deviation / math.sqrt(count)
    assert abs(noise.std() - deviation) < 5 * deviation * math.sqrt(4.4 / 4 / count)
    beyond = count * -math.expm1(-math.exp(-9))
    assert abs((noise > 9).sum() - beyond) < 5 * math.sqrt(beyond)


def test_gumbel_depends_on_the_key_alone() -> None:
    first = mx.array([1, 2], dtype=mx.uint32)
    noise = np.array(gumbel(first, (64,)))
    mx.random.seed(5)
    assert (np.array(gumbel(first, (64,))) == noise).all()
    assert not (np.array(gumbel(mx.array([1, 3], dtype=mx.uint32), (64,))) == noise).any()


def test_one_noise_vector_serves_every_row() -> None:
    noise = gumbel(mx.random.key(3), (64,))
    law = mx.random.normal((1, 64), key=mx.random.key(4))
    tokens = np.array(draw_by_gumbel(mx.concatenate([law, law - 5.0, law]), noise))
    assert (tokens == tokens[0]).all()


@pytest.mark.parametrize("vocab", [2, 5, 4096, 151_936])
def test_the_gap_is_that_of_a_sort(vocab: int) -> None:
    scores = np.random.default_rng(vocab).normal(size=(3, vocab)).astype(np.float32)
    ranked = np.sort(scores, axis=-1)
    assert (np.array(top_two_gap(mx.array(scores))) == ranked[:, -1] - ranked[:, -2]).all()


def test_the_gap_of_a_tie_and_of_a_lone_score() -> None:
    scores = mx.array([[1.0, 3.0, 3.0, -math.inf], [-math.inf, 2.0, -math.inf, -math.inf]])
    assert top_two_gap(scores).tolist() == [0.0, math.inf]
    assert top_two_gap(mx.array([[7.0]])).tolist() == [math.inf]

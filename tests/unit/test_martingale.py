"""Sums of surprises: their z, how far luck may take them, and what they could have seen."""

from __future__ import annotations

import math

from mlx_specdec.audit.martingale import Tally, freedman_bound

import numpy as np
import pytest


def tally_of(hits: list[bool], chances: list[float]) -> Tally:
    tally = Tally()
    for hit, chance in zip(hits, chances, strict=True):
        tally.add(hit, chance)
    return tally


def test_a_sum_over_its_own_deviation() -> None:
    tally = tally_of([True, True, False, True], [0.5, 0.5, 0.5, 0.2])
    assert tally.total == pytest.approx(3 - 1.7)
    assert tally.variance == pytest.approx(3 * 0.25 + 0.16)
    assert tally.third == pytest.approx(0.16 * 0.6)
    assert tally.z == pytest.approx(1.3 / math.sqrt(0.91))


def test_what_cannot_happen_is_never_luck() -> None:
    certain = tally_of([True, False], [1.0, 0.0])
    assert (certain.z, certain.z_bound(1e-3)) == (0.0, math.inf)
    impossible = tally_of([False], [1.0])
    assert abs(impossible.z) > impossible.z_bound(1e-3)
    assert Tally().shift_seen(1e-3) == 1.0


def test_freedmans_bound_solves_its_own_equation() -> None:
    for variance in (0.1, 1.0, 30.0, 1_000.0):
        reach = freedman_bound(variance, 1e-4)
        assert 2 * math.exp(-(reach**2) / (2 * (variance + reach / 3))) == pytest.approx(1e-4)


@pytest.mark.parametrize("count", [20, 400])
def test_the_chance_of_a_false_alarm_is_below_the_one_asked_for(count: int) -> None:
    """40,000 sums of honest draws with uneven chances, few and many terms."""
    noise = np.random.default_rng(5)
    chances = noise.uniform(0.02, 0.6, count)
    bound_of = tally_of([False] * count, chances.tolist())
    bound = bound_of.z_bound(0.01) * bound_of.deviation
    sums = (noise.random((40_000, count)) < chances).sum(axis=1) - chances.sum()
    false_alarms = float((np.abs(sums) > bound).mean())
    assert false_alarms < 0.01
    if count == 400:  # and not so far below that nothing would be seen
        assert false_alarms > 0.001


def test_a_shift_of_the_size_told_is_seen_95_times_in_100() -> None:
    noise = np.random.default_rng(6)
    count, chance = 600, 0.4
    fair = tally_of([False] * count, [chance] * count)
    shift = fair.shift_seen(1e-4)
    reach = fair.z_bound(1e-4) * fair.deviation
    sums = noise.binomial(count, chance + shift, 20_000) - count * chance
    assert 0.93 < float((np.abs(sums) > reach).mean()) < 0.97

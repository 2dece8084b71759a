"""How often a guess is the target's own word: closed forms against a small simulation."""

from __future__ import annotations

import math
import random

from mlx_specdec.lesson.agreement import agreement, both_say, joint_chance
from tests.unit.test_overlap import laws, overlap_from

import pytest
from hypothesis import given

CLOSE = 1e-9


@given(laws(), laws())
def test_the_joint_law_has_both_laws_as_its_margins(
    target: list[float], draft: list[float]
) -> None:
    overlap = overlap_from(target, draft)
    joint = {
        (own.token, x): joint_chance(overlap, own, x)
        for own in overlap.entries
        for x in range(len(draft))
        if draft[x] > 0
    }
    assert min(joint.values()) >= 0
    for x, q in enumerate(draft):
        if q > 0:
            mine = sum(chance for (_, said), chance in joint.items() if said == x)
            assert mine == pytest.approx(q, abs=1e-9)
    for y, p in enumerate(target):
        mine = sum(chance for (own, _), chance in joint.items() if own == y)
        assert mine == pytest.approx(p, abs=1e-9)


@given(laws(), laws())
def test_agreement_is_between_its_bounds_and_closes_the_sums(
    target: list[float], draft: list[float]
) -> None:
    overlap = overlap_from(target, draft)
    shared, apart = agreement(overlap, True), agreement(overlap, False)
    distance = overlap.left_over
    assert (1 - distance) / (1 + distance) - CLOSE <= shared.total <= overlap.acceptance + CLOSE
    assert apart.total == pytest.approx(sum(p * q for p, q in zip(target, draft, strict=True)))
    for each in (shared, apart):
        if each.total < 1 - CLOSE:
            for line, p in zip(each.proof(), target, strict=True):
                assert line.total == pytest.approx(p, abs=1e-9)
            assert sum(line.total for line in each.broken_proof()) == pytest.approx(1.0)


def test_the_shared_luck_race_itself() -> None:
    target, draft = [0.7, 0.1, 0.2], [0.2, 0.7, 0.1]
    overlap = overlap_from(target, draft)
    rng = random.Random(7)
    runs = 40_000
    both = [0, 0, 0]
    for _ in range(runs):
        luck = [-1 / math.log(1 - rng.random()) for _ in target]
        own = max(range(3), key=lambda i: target[i] * luck[i])
        guess = max(range(3), key=lambda i: draft[i] * luck[i])
        both[own] += own == guess
    for entry, count in zip(overlap.entries, both, strict=True):
        assert both_say(overlap, entry, True) == pytest.approx(count / runs, abs=0.012)


def test_of_unlisted_words_only_the_least_is_claimed_for_independent_draws() -> None:
    overlap = overlap_from([0.5, 0.3, 0.2], [0.5, 0.2, 0.3]).limited(2)
    assert agreement(overlap, False).by_entry[-1] == 0
    rest = overlap.entries[-1]
    assert both_say(overlap, rest, True) <= rest.overlap

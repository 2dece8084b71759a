"""The block rule's numbers as they are shown, against the oracle in fractions."""

from __future__ import annotations

import random
from fractions import Fraction

from mlx_specdec.lesson.acceptance_arithmetic import block_chances, carried_products, kept_by_block
from tests.toys import block, law_of
from tests.toys import block_chances as oracle_chances
from tests.toys import carried_products as oracle_products

import pytest


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("count", [1, 2, 4])
def test_products_chances_and_the_mean_are_the_oracles(seed: int, count: int) -> None:
    rng = random.Random(f"{seed} {count}")
    target = [law_of(*(rng.randint(1, 9) for _ in range(4))) for _ in range(count + 1)]
    draft = [law_of(*(rng.randint(1, 9) for _ in range(4))) for _ in range(count)]
    tokens = tuple(rng.randrange(4) for _ in range(count))
    p = [[float(x) for x in law] for law in target[:count]]
    q = [[float(x) for x in law] for law in draft]
    products = oracle_products(target, draft, tokens)[1:]
    assert carried_products(p, q, tokens) == pytest.approx([float(x) for x in products])
    chances = oracle_chances(target, draft, tokens)
    assert block_chances(p, q, tokens) == pytest.approx([float(x) for x in chances], abs=1e-9)
    mean = sum(
        (kept * chance for kept, (chance, _) in enumerate(block(target, draft, tokens))),
        Fraction(0),
    )
    assert kept_by_block(block_chances(p, q, tokens)) == pytest.approx(float(mean), abs=1e-9)


def test_nothing_guessed_nothing_kept() -> None:
    assert block_chances([], [], []) == []
    assert kept_by_block([]) == 0

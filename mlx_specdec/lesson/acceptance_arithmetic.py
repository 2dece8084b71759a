"""The block rule's arithmetic on plain numbers, for what is shown (acceptance.py decides).

Sun et al., ICLR 2025 (Alg. 2): P_i = min(1, P_{i-1} p_i/q_i), S_i = sum max(0, P_i p_{i+1} -
q_{i+1}), h_i = S_i / (S_i + 1 - P_i), and h_last = P_last.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["block_chances", "carried_products", "kept_by_block"]

Law = Sequence[float]


def carried_products(
    targets: Sequence[Law], drafts: Sequence[Law], guesses: Sequence[int]
) -> list[float]:
    """P_1 .. P_count of the guessed entries.

    Args:
        targets, drafts: [count] laws over the same entries at each place.
        guesses: the entry that was guessed at each place.
    """
    carried: list[float] = []
    product = 1.0
    for p, q, guess in zip(targets, drafts, guesses, strict=True):
        step = p[guess] / q[guess] if q[guess] > 0 else float(p[guess] > 0)
        product = min(1.0, product * step)
        carried.append(product)
    return carried


def block_chances(
    targets: Sequence[Law], drafts: Sequence[Law], guesses: Sequence[int]
) -> list[float]:
    """h_1 .. h_count; arguments as carried_products."""
    carried = carried_products(targets, drafts, guesses)
    chances = []
    for product, p, q in zip(carried, targets[1:], drafts[1:], strict=False):
        left = sum(max(product * a - b, 0.0) for a, b in zip(p, q, strict=True))
        below = left + (1.0 - product)
        chances.append(left / below if below > 0 else 1.0)
    return [*chances, *carried[-1:]]


def kept_by_block(chances: Sequence[float]) -> float:
    """Guesses kept on average: the last place whose coin falls below its h, coins independent."""
    expected, none_later = 0.0, 1.0
    for place in range(len(chances), 0, -1):
        expected += none_later * chances[place - 1] * place
        none_later *= 1.0 - chances[place - 1]
    return expected

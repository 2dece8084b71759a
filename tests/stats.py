"""Chi-square without a statistics package, for tests of a law by sampling.

A law test draws n times, sums (seen - expected)^2 / expected over bins, and fails when the sum
exceeds ``chi_square_limit(bins - 1, rate)``. A correct program then fails with the chance
``rate`` (the false-alarm rate), so take it small, such as 1e-6, and fix the seed. The sum
follows chi-square only where no bin expects too little: ``chi_square`` pools those under 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_SERIES_TERMS = 10_000
_PRECISION = 1e-15
_LEAST_EXPECTED = 5.0


def upper_gamma_ratio(shape: float, x: float) -> float:
    """Q(shape, x), the regularised upper incomplete gamma function.

    Series below x = shape + 1, Lentz's continued fraction above (Abramowitz and Stegun, 6.5.29
    and 6.5.31), so that small upper tails keep their digits.
    """
    if x <= 0:
        return 1.0
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        for n in range(1, _SERIES_TERMS):
            term *= x / (shape + n)
            total += term
            if term < total * _PRECISION:
                break
        return 1 - front * total
    below = x + 1 - shape
    c, d = math.inf, 1 / below
    fraction = d
    for n in range(1, _SERIES_TERMS):
        factor = n * (shape - n)
        below += 2
        d = 1 / (below + factor * d)
        c = below + factor / c
        fraction *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return front * fraction


def chi_square_p_value(statistic: float, freedom: int) -> float:
    """The chance that chi-square with ``freedom`` degrees exceeds ``statistic``."""
    return upper_gamma_ratio(freedom / 2, statistic / 2)


def chi_square_limit(freedom: int, rate: float) -> float:
    """The value that chi-square with ``freedom`` degrees exceeds with chance ``rate``."""
    low, high = 0.0, 1.0
    while chi_square_p_value(high, freedom) > rate:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        if chi_square_p_value(middle, freedom) > rate:
            low = middle
        else:
            high = middle
    return high


def chi_square(seen: Sequence[int], probs: Sequence[float]) -> tuple[float, int]:
    """The statistic and its degrees of freedom for counts ``seen`` under the law ``probs``.

    Bins that expect fewer than 5 are pooled into one. Something seen where the law says 0 gives
    infinity.
    """
    draws = sum(seen)
    bins = list(zip(seen, (draws * prob for prob in probs), strict=True))
    if any(count and not expected for count, expected in bins):
        return math.inf, 1
    big = [pair for pair in bins if pair[1] >= _LEAST_EXPECTED]
    small = [pair for pair in bins if 0 < pair[1] < _LEAST_EXPECTED]
    if small:
        big.append((sum(count for count, _ in small), sum(expected for _, expected in small)))
    statistic = sum((count - expected) ** 2 / expected for count, expected in big)
    return statistic, max(len(big) - 1, 1)


def total_variation(first: Sequence[float], second: Sequence[float]) -> float:
    """Half the sum of the absolute differences, from 0 (the same law) to 1."""
    return sum(abs(a - b) for a, b in zip(first, second, strict=True)) / 2

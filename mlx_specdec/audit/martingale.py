"""Sums of a chance's surprises, and how far such a sum may stray by luck alone.

Token after token, [token in set] - (the law's probability of the set) has mean 0 whatever came
before, as long as the set was fixed by what came before. The sum of such terms is a martingale,
so it is close to normal with the sum of the terms' own variances (Brown 1971), and Freedman
(1975, theorem 1.6) bounds it at any sample size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["Tally", "freedman_bound"]

_POWER_DEVIATIONS = 1.645  # a shift this far past the bound is seen 95 times in 100
_NORMAL_FROM = 25.0  # variance from which on the sum is taken as normal
_MARGIN = 2.0  # by which the chance of a false alarm is then kept below the one asked for


def freedman_bound(variance: float, false_alarm: float) -> float:
    """The sum that a correct program reaches, on either side, with at most this chance.

    P(sum >= s while variance <= v) <= exp(-s^2 / (2 (v + s / 3))) for terms of at most 1, solved
    for s.
    """
    log = math.log(2 / false_alarm)
    return log / 3 + math.sqrt(log * log / 9 + 2 * log * variance)


@dataclass(slots=True)
class Tally:
    """One sum of surprises.

    ``hits`` counts the tokens in the set, ``expected`` adds its probabilities up. ``variance`` and
    ``third`` are the sums of the terms' variances and third central moments, each given what came
    before.
    """

    hits: int = 0
    expected: float = 0.0
    variance: float = 0.0
    third: float = 0.0
    count: int = 0

    def add(self, hit: bool, chance: float) -> None:
        """Take in one token: whether it fell into the set, and the law's probability of that."""
        chance = min(max(chance, 0.0), 1.0)
        spread = chance * (1.0 - chance)
        self.hits += hit
        self.expected += chance
        self.variance += spread
        self.third += spread * (1.0 - 2.0 * chance)
        self.count += 1

    @property
    def total(self) -> float:
        """The sum."""
        return self.hits - self.expected

    @property
    def deviation(self) -> float:
        """The sum's standard deviation."""
        return math.sqrt(self.variance)

    @property
    def z(self) -> float:
        """The sum over its own deviation; 0 where nothing was uncertain and nothing strayed."""
        if self.variance <= 0:
            return 0.0 if abs(self.total) < 0.5 else math.copysign(math.inf, self.total)
        return self.total / self.deviation

    def z_bound(self, false_alarm: float) -> float:
        """What |z| may be, but for this chance; inf where nothing was uncertain.

        The normal quantile of half that chance, with the first term of Cornish and Fisher (1938)
        for the skew; Freedman's bound where there is too little to be normal.
        """
        if self.variance <= 0:
            return math.inf if abs(self.total) < 0.5 else 0.0
        freedman = freedman_bound(self.variance, false_alarm) / self.deviation
        if self.variance < _NORMAL_FROM:
            return freedman
        normal = NormalDist().inv_cdf(1 - false_alarm / (2 * _MARGIN))
        skew = abs(self.third) / self.deviation**3
        return min(normal + skew * (normal * normal - 1) / 6, freedman)

    def shift_seen(self, false_alarm: float) -> float:
        """The shift of the set's mean probability that would have been seen 95 times in 100."""
        if self.count == 0 or self.variance <= 0:
            return 1.0
        reach = (self.z_bound(false_alarm) + _POWER_DEVIATIONS) * self.deviation
        return min(reach / self.count, 1.0)

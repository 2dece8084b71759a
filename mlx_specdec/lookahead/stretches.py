"""Stretches: what the stretches of a pair's texts have usually been like."""

from __future__ import annotations

from .durations import Numbers

import numpy as np

__all__ = ["CarriedBelief", "Stretches"]

CarriedBelief = tuple[tuple[float, float], ...]
"""(chance, stretches seen of it): what is usual, as it is kept; empty when nothing was seen."""

_STRETCH = 100  # tokens that count as one stretch seen
_PRIOR_STRETCHES = 2.0
_CARRIED_STRETCHES = 6.0  # what one conversation is worth to the next, at most
_KEPT_STRETCHES = 6.0  # what was kept is worth, at most: texts, temperatures were perhaps others


class Stretches:
    """How many there were of each chance.

    Args:
        chances: the grid [n].
    """

    def __init__(self, chances: Numbers) -> None:
        self._chances = chances
        density: Numbers = chances**2.2 * (1 - chances) ** 1.3  # a beta law, even in logits
        self._prior: Numbers = _PRIOR_STRETCHES * density / density.sum()
        self._seen, self._learned = self._prior, np.zeros(len(chances))

    @property
    def usual(self) -> Numbers:
        """How likely each chance is for a stretch that begins: [n], sums to 1."""
        return np.asarray(self._seen / self._seen.sum())

    def add(self, tokens: Numbers) -> None:
        """So many tokens were at each chance: [n]."""
        self._seen = self._seen + tokens / _STRETCH
        self._learned = self._learned + tokens / _STRETCH

    def limit_for_others(self) -> None:
        """Let them count as a few at most, so that other texts are learned soon."""
        share = min(1.0, _CARRIED_STRETCHES / float(self._seen.sum()))
        self._seen, self._learned = share * self._seen, share * self._learned

    def carried(self, tokens: Numbers) -> CarriedBelief:
        """What was learned, without the prior, and with so many ``tokens`` more; see
        ``begin_from``."""
        learned = self._learned + tokens / _STRETCH
        if not learned.any():
            return ()
        return tuple(zip(self._chances.tolist(), learned.tolist(), strict=True))

    def begin_from(self, carried: CarriedBelief) -> None:
        """Begin with what somebody else has learned, beside the prior; what does not fit this
        grid changes nothing."""
        grid = np.array([chance for chance, _ in carried])
        learned = np.array([stretches for _, stretches in carried])
        if grid.shape != self._chances.shape or not np.allclose(grid, self._chances):
            return
        if not np.isfinite(learned).all() or learned.min() < 0 or learned.sum() <= 0:
            return
        share = min(1.0, _KEPT_STRETCHES / float(learned.sum()))
        self._seen, self._learned = self._prior + share * learned, share * learned

"""Durations: how long stretches of a text are taken to last, and how far one has got.

A stretch goes through a few phases, each of which ends at every token with the same small
probability; when the last one ends, so does the stretch (an Erlang law, a usual way to give the
states of a hidden Markov model a duration). With one phase a stretch that has just begun would be
as likely to end as any other; texts are not like that, and who believes it doubts every change
that was just found.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = ["Durations", "Numbers"]

Numbers = npt.NDArray[np.float64]

_LENGTHS: Numbers = np.array([3000.0, 1000.0, 450.0, 220.0, 110.0, 50.0])
_LENGTH_WEIGHTS: Numbers = np.array([0.2, 0.2, 0.25, 0.2, 0.1, 0.05])
_PHASES = 10
_KEPT_TABLES = 64  # one for every number of tokens that may go by at a time


class Durations:
    """Several mean lengths beside each other; a *place* is one of them with one phase.

    Args:
        lengths: tokens that a stretch lasts on average, each more than ``num_phases``: [m].
        weights: how likely each is beforehand: [m].
        num_phases: that a stretch goes through.

    Attributes:
        places: how likely each place is in a stretch of which nothing is known: [m * phases].
        remaining: tokens that a stretch there still lasts on average: [m * phases].
        gone_by: from place to place in so many tokens, see ``_gone_by``.
    """

    def __init__(
        self,
        lengths: Numbers = _LENGTHS,
        weights: Numbers = _LENGTH_WEIGHTS,
        num_phases: int = _PHASES,
    ) -> None:
        self._lengths, self._num_phases = lengths, num_phases
        left = num_phases - np.arange(num_phases)
        self.remaining: Numbers = np.outer(lengths, left / num_phases).ravel()
        self.places: Numbers = np.repeat(weights / num_phases, num_phases)
        self.gone_by = lru_cache(_KEPT_TABLES)(self._gone_by)

    def anywhere(self, places: Numbers) -> Numbers:
        """The same lengths as at these places, but at any point of a stretch: [m * phases]."""
        lengths = places.reshape(-1, self._num_phases).sum(axis=1)
        return np.repeat(lengths / self._num_phases, self._num_phases)

    def _gone_by(self, num_tokens: int) -> Numbers:
        """How likely each place is reached from each: [3 * to, from], of the same stretch, then
        of the next one, then of one after that."""
        k, num_places = self._num_phases, len(self.remaining)
        moved = np.zeros((3, num_places, num_places))
        for i, length in enumerate(self._lengths):
            step = np.eye(3 * k) * (1 - k / length)
            for phase in range(3 * k):
                following = phase + 1 if phase + 1 < 3 * k else 2 * k
                step[following, phase] += k / length
            reached = np.linalg.matrix_power(step, num_tokens)[:, :k]
            own = slice(i * k, (i + 1) * k)
            moved[:, own, own] = reached.reshape(3, k, k)
        return moved.reshape(3 * num_places, num_places)

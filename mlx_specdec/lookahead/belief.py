"""What is believed of the next guesses' acceptance, from the rounds so far; it can change.

A text is taken for a sequence of stretches, each with one chance to keep a tested guess; when one
ends, the next has another chance. Neither the chance, nor how long stretches last, nor how far
this one has got is known: the belief is a weight for every combination of them on a grid, updated
by Bayes' rule round by round (the forward filter of a hidden Markov model). So it forgets as fast
as the text has been seen to change, and no faster.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .durations import Durations, Numbers
from .hindsight import LAG, Hindsight
from .stretches import CarriedBelief, Stretches
from .vein import Vein

import numpy as np

__all__ = ["AcceptanceBelief", "CarriedBelief", "Numbers"]

_CHANCES: Numbers = 1 / (1 + np.exp(-np.linspace(-3.0, 4.4, 24)))
_DURATIONS = Durations()
_APART = 0.7  # in logits: two stretches in a row differ by about as much, or more


@dataclass(slots=True)
class AcceptanceBelief:
    """Weights over (place in a stretch, chance), and what stretches have usually been like.

    Args:
        chances: the grid [n].
        durations: how long stretches may last; its places are the other axis.
    """

    chances: Numbers = field(default_factory=lambda: _CHANCES)
    durations: Durations = _DURATIONS
    _stretches: Stretches = field(default_factory=lambda: Stretches(_CHANCES))
    _vein: Vein = field(default_factory=Vein)
    _is_beside: bool = False  # what is usual is another's, and only added to
    _hindsight: Hindsight = field(default_factory=Hindsight, init=False)
    _weights: Numbers = field(init=False)  # [places, n]
    _apart: Numbers = field(init=False)  # 0 to 1, by how much two chances differ: [n, n]

    def __post_init__(self) -> None:
        logits = np.log(self.chances / (1 - self.chances))
        differences = (logits[:, None] - logits) / _APART
        self._apart = 1 - np.exp(-(differences**2) / 2) + 1e-9  # some way out of a grid of one
        self._weights = self._fresh(self.durations.places)

    def _fresh(self, places: Numbers) -> Numbers:
        """A stretch of which only the likely ``places`` are known: [places, n]."""
        return np.outer(places, self.usual)

    @property
    def usual(self) -> Numbers:
        """How likely each chance is for a stretch that begins: [n], sums to 1."""
        return self._stretches.usual

    @property
    def weights(self) -> Numbers:
        """How likely each chance is now: [n], sums to 1."""
        total: Numbers = self._weights.sum(axis=0)
        return total

    @property
    def hazard(self) -> float:
        """The expected probability that a stretch ends at a token."""
        return float((self._weights.sum(axis=1) / self.durations.remaining).sum())

    def begin_answer(self) -> None:
        """Another answer begins: perhaps in the same vein."""
        self._learn()
        fresh = self._fresh(self.durations.anywhere(self._weights.sum(axis=1)))
        same = self._vein.chance
        self._vein.begin_answer(self.weights, self.usual)
        self._weights = same * self._weights + (1 - same) * fresh

    def begin_conversation(self) -> None:
        """Another conversation begins: what stretches were usually like is all that is known.

        It counts as a few stretches at most, so that other texts are learned soon; ``beside``
        another conversation, which may still be under way, it stays as it is.
        """
        self._learn()
        if not self._is_beside:
            self._stretches.limit_for_others()
        self._vein.forget_answer()
        self._weights = self._fresh(self.durations.places)

    def beside(self) -> AcceptanceBelief:
        """The belief of another conversation with the same pair: both learn what is usual."""
        return replace(self, _vein=Vein(), _is_beside=True)

    @property
    def carried(self) -> CarriedBelief:
        """What has been learned of what is usual; see ``begin_from``."""
        return self._stretches.carried(self._hindsight.judged(self._following(), self.hazard))

    def begin_from(self, carried: CarriedBelief) -> None:
        """Begin with what was usual for somebody else of the same pair, beside what is taken for
        usual of any; what does not fit this grid changes nothing."""
        self._stretches.begin_from(carried)
        self._weights = self._fresh(self.durations.places)

    def after(self, num_tokens: int) -> Numbers:
        """``weights`` when ``num_tokens`` have gone by without a guess."""
        total: Numbers = self._drifted(num_tokens).sum(axis=0)
        return total

    def pass_by(self, num_tokens: int) -> None:
        """Tokens went by; stretches may have ended."""
        self._hindsight.pass_by(num_tokens)
        if self._hindsight.is_due:
            self._learn(LAG)
        self._weights = self._drifted(num_tokens)

    def _learn(self, lag: int = 0) -> None:
        """Count what was seen ``lag`` tokens ago and earlier as usual."""
        self._stretches.add(self._hindsight.take(self._following(), self.hazard, lag))

    def observe(self, num_accepted: int, num_tested: int) -> None:
        """A round kept ``num_accepted`` guesses; one more was tested and missed, or none."""
        likelihood = self.chances**num_accepted * (1 - self.chances) ** (num_tested - num_accepted)
        self._vein.observe(likelihood, num_tested)
        weights = self._weights * likelihood
        self._weights = weights / weights.sum()
        self._hindsight.add(self.weights, likelihood)

    def _following(self) -> Numbers:
        """The chance of the stretch after one of each chance: [from, to], rows sum to 1. One that
        differs: with the same it would have gone on."""
        towards = self.usual * self._apart
        return np.asarray(towards / towards.sum(axis=1, keepdims=True))

    def _drifted(self, num_tokens: int) -> Numbers:
        moved = self.durations.gone_by(num_tokens) @ self._weights
        same, following, later = moved.reshape(3, -1, len(self.chances))
        drifted: Numbers = following @ self._following()
        drifted += same + np.outer(later.sum(axis=1), self.usual)
        return drifted

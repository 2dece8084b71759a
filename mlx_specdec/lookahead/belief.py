"""What is believed of the next guesses' acceptance, from the rounds so far; it can change.

A text is taken for a sequence of stretches, each with one chance to keep a tested guess. The
stretch under way may end at every token with a small probability (its hazard), and the next one
has another chance. Neither the chance nor the hazard is known: the belief is a weight for every
pair of them on a grid, updated by Bayes' rule round by round (the forward filter of a hidden
Markov model). So it forgets as fast as the text has been seen to change, and no faster.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .vein import Vein

import numpy as np
import numpy.typing as npt

__all__ = ["AcceptanceBelief", "CarriedBelief", "Numbers"]

Numbers = npt.NDArray[np.float64]
CarriedBelief = tuple[tuple[float, float], ...]
"""(chance, stretches seen of it): what is usual, as it is kept; empty when nothing was seen."""

_LOGITS = np.linspace(-3.0, 4.4, 24)
_CHANCES: Numbers = 1 / (1 + np.exp(-_LOGITS))
_HAZARDS: Numbers = np.array([1 / 2000, 1 / 400, 1 / 120, 1 / 30])
_HAZARD_WEIGHTS: Numbers = np.array([0.3, 0.35, 0.25, 0.1])
_STRETCH = 100  # tokens that count as one stretch seen
_PRIOR_STRETCHES = 2.0
_CARRIED_STRETCHES = 6.0  # what one conversation is worth to the next, at most
_KEPT_STRETCHES = 6.0  # what was kept is worth, at most: texts, temperatures were perhaps others


def _prior() -> Numbers:
    """How stretches are taken to differ before any is seen: about a beta law (2.2, 1.3)."""
    density: Numbers = _CHANCES**2.2 * (1 - _CHANCES) ** 1.3  # the grid is even in logits
    return np.asarray(density / density.sum())


@dataclass(slots=True)
class _Stretches:
    """How many stretches there were of each chance: [n]. ``learned`` is without the prior."""

    seen: Numbers
    learned: Numbers

    def add(self, stretches: Numbers) -> None:
        self.seen, self.learned = self.seen + stretches, self.learned + stretches

    def limit(self, most: float) -> None:
        """Let them count as ``most`` stretches at most."""
        share = min(1.0, most / float(self.seen.sum()))
        self.seen, self.learned = share * self.seen, share * self.learned


def _unseen() -> _Stretches:
    return _Stretches(_PRIOR_STRETCHES * _prior(), np.zeros(len(_CHANCES)))


@dataclass(slots=True)
class AcceptanceBelief:
    """Weights over (hazard, chance), and what stretches have usually been like.

    Args:
        chances: the grid [n].
        hazards, hazard_weights: probabilities that a stretch ends at a token, and how likely each
            is beforehand: [m] each.
    """

    chances: Numbers = field(default_factory=lambda: _CHANCES)
    hazards: Numbers = field(default_factory=lambda: _HAZARDS)
    hazard_weights: Numbers = field(default_factory=lambda: _HAZARD_WEIGHTS)
    _stretches: _Stretches = field(default_factory=_unseen)
    _vein: Vein = field(default_factory=Vein)
    _is_beside: bool = False  # what is usual is another's, and only added to
    _weights: Numbers = field(init=False)
    _last: Numbers = field(init=False)  # the chances when a guess was last tested; 0 before any

    def __post_init__(self) -> None:
        self._weights = self.hazard_weights[:, None] * self.usual[None, :]
        self._last = np.zeros(len(self.chances))

    @property
    def usual(self) -> Numbers:
        """How likely each chance is for a stretch that begins: [n], sums to 1."""
        return np.asarray(self._stretches.seen / self._stretches.seen.sum())

    @property
    def weights(self) -> Numbers:
        """How likely each chance is now: [n], sums to 1."""
        total: Numbers = self._weights.sum(axis=0)
        return total

    @property
    def hazard(self) -> float:
        """The expected probability that a stretch ends at a token."""
        return float(self._weights.sum(axis=1) @ self.hazards)

    def begin_answer(self) -> None:
        """Another answer begins: perhaps in the same vein."""
        masses = self._weights.sum(axis=1, keepdims=True)
        fresh = masses * self.usual[None, :]
        same = self._vein.chance
        self._vein.begin_answer(self.weights, self.usual)
        self._weights = same * self._weights + (1 - same) * fresh

    def begin_conversation(self) -> None:
        """Another conversation begins: what stretches were usually like is all that is known.

        It counts as a few stretches at most, so that other texts are learned soon; ``beside``
        another conversation, which may still be under way, it stays as it is.
        """
        if not self._is_beside:
            self._stretches.limit(_CARRIED_STRETCHES)
        self._vein.forget_answer()
        self._weights = self.hazard_weights[:, None] * self.usual[None, :]
        self._last = np.zeros(len(self.chances))

    def beside(self) -> AcceptanceBelief:
        """The belief of another conversation with the same pair: both learn what is usual."""
        return replace(self, _vein=Vein(), _is_beside=True)

    @property
    def carried(self) -> CarriedBelief:
        """What has been learned of what is usual; see ``begin_from``."""
        if not self._stretches.learned.any():
            return ()
        pairs = zip(self.chances, self._stretches.learned, strict=True)
        return tuple((float(chance), float(seen)) for chance, seen in pairs)

    def begin_from(self, carried: CarriedBelief) -> None:
        """Begin with what was usual for somebody else of the same pair, beside what is taken for
        usual of any; what does not fit this grid changes nothing."""
        grid = np.array([chance for chance, _ in carried])
        seen = np.array([weight for _, weight in carried])
        if grid.shape != self.chances.shape or not np.allclose(grid, self.chances):
            return
        if not np.isfinite(seen).all() or seen.min() < 0 or seen.sum() <= 0:
            return
        share = min(float(seen.sum()), _KEPT_STRETCHES) / float(seen.sum())
        self._stretches.seen = _PRIOR_STRETCHES * _prior() + share * seen
        self._stretches.learned = share * seen
        self._weights = self.hazard_weights[:, None] * self.usual[None, :]

    def after(self, num_tokens: int) -> Numbers:
        """``weights`` when ``num_tokens`` have gone by without a guess."""
        total: Numbers = self._drifted(num_tokens).sum(axis=0)
        return total

    def pass_by(self, num_tokens: int) -> None:
        """Tokens went by; stretches may have ended.

        They count as what was last known of the stretch under way: counted as what the belief
        drifts back to, what is usual would confirm itself without evidence.
        """
        self._stretches.add(self._last * (num_tokens / _STRETCH))
        self._weights = self._drifted(num_tokens)

    def observe(self, num_accepted: int, num_tested: int) -> None:
        """A round kept ``num_accepted`` guesses; one more was tested and missed, or none."""
        likelihood = self.chances**num_accepted * (1 - self.chances) ** (num_tested - num_accepted)
        self._vein.observe(likelihood, num_tested)
        weights = self._weights * likelihood
        self._weights = weights / weights.sum()
        self._last = self.weights

    def _drifted(self, num_tokens: int) -> Numbers:
        stays = (1 - self.hazards[:, None]) ** num_tokens
        masses = self._weights.sum(axis=1, keepdims=True)
        drifted: Numbers = stays * self._weights + (1 - stays) * masses * self.usual[None, :]
        return drifted

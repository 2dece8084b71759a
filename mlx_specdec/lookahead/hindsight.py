"""Hindsight: what a stretch was like, judged some tokens later.

While a stretch is new nobody knows what it is like, and what was believed then would teach that
every chance is a little usual. Rounds are therefore kept for a while, and their tokens counted by
what the rounds after them showed as well (fixed-lag smoothing, the backward pass of a hidden
Markov model).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .durations import Numbers

import numpy as np

__all__ = ["LAG", "Hindsight"]

LAG = 64  # tokens after which a round is judged


@dataclass(slots=True)
class _Round:
    """What was believed after it, how likely its outcome was at each chance: [n] each; the tokens
    that went by until the next one."""

    weights: Numbers
    likelihood: Numbers
    num_tokens: int = 0


@dataclass(slots=True)
class Hindsight:
    """The latest rounds of an answer that tested a guess."""

    _rounds: list[_Round] = field(default_factory=list)
    _num_tokens: int = 0

    @property
    def is_due(self) -> bool:
        """Whether half of what is kept can be judged."""
        return self._num_tokens >= 2 * LAG

    def add(self, weights: Numbers, likelihood: Numbers) -> None:
        """A guess was tested.

        Args:
            weights: how likely each chance is after it: [n].
            likelihood: of the round's outcome at each chance: [n].
        """
        self._rounds.append(_Round(weights, likelihood))

    def pass_by(self, num_tokens: int) -> None:
        """Tokens went by. They count as what the last tested guess was like: without evidence
        nothing that is only usual should confirm itself."""
        if self._rounds:
            self._rounds[-1].num_tokens += num_tokens
            self._num_tokens += num_tokens

    def judged(self, following: Numbers, hazard: float, lag: int = 0) -> Numbers:
        """Tokens at each chance, of the rounds that ``lag`` tokens or more came after: [n].

        Args:
            following: the chance after a stretch of each chance: [from, to].
            hazard: the probability that a stretch ends at a token.
        """
        evidence, later = np.ones(len(following)), 0
        tokens = np.zeros(len(following))
        for each in reversed(self._rounds):
            stays = (1 - hazard) ** each.num_tokens
            evidence = stays * evidence + (1 - stays) * (following @ evidence)
            later += each.num_tokens
            if later > lag:
                weights = each.weights * evidence
                tokens += each.num_tokens * weights / weights.sum()
            evidence = evidence * each.likelihood
            evidence = evidence / evidence.max()
        return tokens

    def take(self, following: Numbers, hazard: float, lag: int) -> Numbers:
        """``judged``; these rounds are then forgotten."""
        tokens = self.judged(following, hazard, lag)
        while self._rounds and self._num_tokens > lag:
            self._num_tokens -= self._rounds.pop(0).num_tokens
        return tokens

"""RoundPrices: what a round is expected to bring and to cost, by acceptance and lookahead."""

from __future__ import annotations

from dataclasses import dataclass

from .belief import Numbers

import numpy as np

__all__ = ["RoundPrices"]

_SOON_KNOWN = 0.7  # how far later rounds will know what this one has to guess


@dataclass(frozen=True, slots=True)
class RoundPrices:
    """At one place of an answer.

    Args:
        tokens: a round's, expected, by the chance to keep a guess: [chances, lookaheads from 0].
        cycles: a round's seconds: [lookaheads].
        gains: seconds that the best lookahead saves a token on plain decoding, in the long run,
            by chance; never below 0: [chances].
    """

    tokens: Numbers
    cycles: Numbers
    gains: Numbers

    @property
    def plain(self) -> float:
        """Seconds of a plain pass."""
        return float(self.cycles[0])

    def gain(self, weights: Numbers) -> float:
        """Seconds that the best drafting round saves a token on plain decoding; below 0 where it
        costs some.

        Args:
            weights: how likely each chance is, as below.
        """
        expected = weights @ self.tokens
        return self.plain - float((self.cycles[1:] / expected[1:]).min())

    def guesses(self, weights: Numbers) -> int:
        """The lookahead, 1 or more, to go on with.

        A round is worth its tokens, and a token the seconds that it would take otherwise. Those
        depend on the chance that will have turned out to be true: the tokens of long kept runs
        are had cheaply by later rounds too, so fewer guesses are right than the best rate says.
        It is the QMDP rule for what is soon known (Littman, Cassandra and Kaelbling 1995), mixed
        with today's best rate for what is not.
        """
        known = self.plain - self.gains
        today = self.plain - self.gain(weights)
        worth = _SOON_KNOWN * known + (1 - _SOON_KNOWN) * today
        losses = self.cycles[1:] - (weights * worth) @ self.tokens[:, 1:]
        return 1 + int(np.argmin(losses))

    def cheapest_look(self, weights: Numbers) -> tuple[int, float, float]:
        """The drafting round that loses least on plain decoding: its lookahead, the seconds that
        it loses, its expected tokens."""
        expected = weights @ self.tokens
        losses = self.cycles[1:] - expected[1:] * self.plain
        lookahead = 1 + int(np.argmin(losses))
        return lookahead, float(losses[lookahead - 1]), float(expected[lookahead])

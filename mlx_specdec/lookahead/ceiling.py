"""The best that any policy can do which is told everything but the future, on the simulated clock.

It knows the two chances that take turns, how long stretches are on average, how long the reply
will be and what rounds cost. It does not know which stretch is under way: like every policy it
learns that from kept and missed guesses alone. What it should do is computed backwards from the
reply's end over the belief (the finite-horizon value recursion of a partially observed Markov
process, Smallwood and Sondik 1973): the time to the end at token t and belief p is

    V(t, p) = min over waits w, lookaheads g of  plain passes of w tokens + the draft's reading
              + cycle(g) + sum over outcomes of P(outcome) V(t + w + tokens, p after it)

An oracle that also sees every stretch begin is faster; no policy that has to find out can be.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..costs.cost_table import CostTable
from ..costs.pair_costs import PairCosts
from .belief import Numbers
from .policy import FOREVER, Choice, RoundOutcome, Situation
from .simulation import cycle_curve

import numpy as np
import numpy.typing as npt

__all__ = ["Ceiling", "TwoChances"]

_WAITS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
_GRID: Numbers = 1 / (1 + np.exp(-np.linspace(-7.0, 7.0, 101)))  # of p
_NEVER = -1

Plan = npt.NDArray[np.int64]
"""[2, grid]: plain passes first (``_NEVER``: to the end), then a round of so many guesses."""


@dataclass(frozen=True)
class TwoChances:
    """A text whose stretches go through two chances in turn and end at every token alike.

    p, below, is how likely the stretch under way is the one of the ``high`` chance.
    """

    low: float
    high: float
    stretch_tokens: float

    def drifted(self, p: Numbers | float, num_tokens: float) -> Numbers:
        """p when so many tokens went by untested."""
        return np.asarray(0.5 + (np.asarray(p) - 0.5) * (1 - 2 / self.stretch_tokens) ** num_tokens)

    def outcome(
        self, p: Numbers | float, num_kept: int, num_missed: int
    ) -> tuple[Numbers, Numbers]:
        """How likely these guesses are kept and missed, and p once they were."""
        high = np.asarray(p) * self.high**num_kept * (1 - self.high) ** num_missed
        low = (1 - np.asarray(p)) * self.low**num_kept * (1 - self.low) ** num_missed
        return high + low, high / (high + low)


class _Steps:
    """Where a wait and a round lead from every p of the grid; the same at every token.

    Outcomes: a miss after 0, 1, ... kept guesses, then 1, 2, ... guesses all kept.
    """

    def __init__(self, text: TwoChances, most: int) -> None:
        self.tokens = np.concatenate([np.arange(1, most + 1), np.arange(2, most + 2)])
        shape = (len(_WAITS), 2 * most, len(_GRID))
        self.chance = np.zeros(shape)
        self._below = np.zeros(shape, np.int64)
        self._share = np.zeros(shape)
        for i, wait in enumerate(_WAITS):
            before = text.drifted(_GRID, wait)
            for j in range(2 * most):
                kept, missed = (j, 1) if j < most else (j - most + 1, 0)
                self.chance[i, j], after = text.outcome(before, kept, missed)
                after = text.drifted(after, int(self.tokens[j]))
                below = np.clip(np.searchsorted(_GRID, after) - 1, 0, len(_GRID) - 2)
                self._below[i, j] = below
                self._share[i, j] = (after - _GRID[below]) / (_GRID[below + 1] - _GRID[below])

    def expected(self, values: Numbers, token: int) -> Numbers:
        """Chance times time to the end, by wait, outcome and p; ``values``: [tokens, grid]."""
        ends = token + np.array(_WAITS)[:, None] + self.tokens[None, :]
        at = np.minimum(ends, len(values) - 1)[:, :, None]
        low, high = values[at, self._below], values[at, self._below + 1]
        return np.asarray(self.chance * (low + self._share * (high - low)))


class Ceiling:
    """The best policy for replies of ``num_tokens``; also a session that hands it out.

    Attributes:
        expected_seconds: of a reply that begins in either stretch alike, without the target's
            reading of the prompt.
    """

    def __init__(
        self, text: TwoChances, costs: PairCosts, prompt_length: int, num_tokens: int
    ) -> None:
        self.text, self.num_tokens = text, num_tokens
        most = costs.max_lookahead
        contexts = prompt_length + np.arange(num_tokens + 1)
        self._cycles = np.stack([cycle_curve(costs, g, contexts) for g in range(most + 1)])
        self._plain_until = np.concatenate([[0.0], np.cumsum(self._cycles[0])])
        self._switch = costs.at(prompt_length).overhead_seconds
        self._table, self._prompt_length = CostTable(costs), prompt_length
        self._steps = _Steps(text, most)
        values = np.zeros((num_tokens + 1, len(_GRID)))
        self.plans: list[Plan] = [np.zeros((2, len(_GRID)), np.int64)] * num_tokens
        for token in range(num_tokens - 1, 0, -1):
            values[token], self.plans[token] = self._solve(values, token, 0, self._switch)
        start, self.first_plan = self._solve(values, 1, prompt_length, 0.0)
        self.expected_seconds = float(self._cycles[0, 0] + np.interp(0.5, _GRID, start))

    def _solve(
        self, values: Numbers, token: int, unread: int, switch: float
    ) -> tuple[Numbers, Plan]:
        """The least time to the end and how it is reached, by p.

        Args:
            unread: tokens before the latest that the draft has not read.
            switch: what going over to plain passes costs.
        """
        most, end = len(self._cycles) - 1, self.num_tokens
        outcomes = self._steps.expected(values, token)
        missed = np.cumsum(outcomes[:, :most], axis=1)
        totals = np.full((len(_WAITS), most, len(_GRID)), np.inf)
        for i, wait in enumerate(_WAITS):
            at = token + wait
            if at >= end:
                break
            plain = self._plain_until[at] - self._plain_until[token] + (switch if wait else 0.0)
            reading = self._table.catch_up_seconds(unread + 1 + wait, self._prompt_length + at)
            rounds = self._cycles[1:, at, None] + missed[i] + outcomes[i, most:]
            totals[i] = plain + reading + rounds
        flat = totals.reshape(-1, len(_GRID))
        best, chosen = flat.min(axis=0), flat.argmin(axis=0)
        never = self._plain_until[end] - self._plain_until[token] + switch
        waits = np.where(never < best, _NEVER, np.array(_WAITS)[chosen // most])
        return np.minimum(best, never), np.stack([waits, chosen % most + 1])

    def begin_answer(self) -> _Policy:
        """The policy of the next answer; it carries nothing over."""
        return _Policy(self)

    def end_answer(self, num_tokens: int, seconds: float) -> None:
        """Nothing is learned: all is known."""


class _Policy:
    """Follows the plans of one answer."""

    def __init__(self, ceiling: Ceiling) -> None:
        self._ceiling = ceiling
        self._p = 0.5
        self._has_drafted = False
        self._planned = 0  # guesses after the wait that is under way

    def choose(self, situation: Situation) -> Choice:
        """See LookaheadPolicy."""
        token, ceiling = situation.emitted_tokens, self._ceiling
        if token == 0 or token >= ceiling.num_tokens:
            return Choice(0)
        lookahead, self._planned = self._planned, 0
        if lookahead == 0:
            plan = ceiling.plans[token] if self._has_drafted else ceiling.first_plan
            nearest = int(np.argmin(np.abs(_GRID - self._p)))
            wait, lookahead = (int(number) for number in plan[:, nearest])
            if wait == _NEVER:
                return Choice(0, FOREVER)
            if wait:
                self._planned = lookahead
                return Choice(0, wait)
        self._has_drafted = True
        return Choice(lookahead)

    def observe(self, outcome: RoundOutcome) -> None:
        """See LookaheadPolicy."""
        text, kept = self._ceiling.text, outcome.num_accepted
        if outcome.num_tested:
            self._p = float(text.outcome(self._p, kept, outcome.num_tested - kept)[1])
        self._p = float(text.drifted(self._p, outcome.num_emitted))

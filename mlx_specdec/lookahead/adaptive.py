"""AdaptiveLookahead: as many guesses as this machine and this text pay for, none included.

Before every round it asks what each lookahead would bring: expected tokens under what is believed
of acceptance, over what a round costs (Leviathan et al. 2023 with measured costs: the rate is
(1 + S_1 + ... + S_g) / cycle(g), S_k the chance that the first k guesses are all kept). Plain
decoding is one of the lookaheads. Three things are weighed beside the next round:

- what the draft owes. Before it can guess it reads what it has not read: the prompt at first,
  after parking what was written meanwhile. That is charged against what drafting should save over
  the expected rest of the reply, so whether to draft at all is decided before the draft reads.
- where the reply may end: guesses beyond that bring nothing.
- what is not known. Parked, nothing is learned; the belief drifts back to what is usual, and when
  looking again is worth more than waiting (see probing.py), one round is tried. What such trials
  are expected to cost stays below 0.6 % of all time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..costs.cost_table import CostTable
from ..figures import percent
from .belief import AcceptanceBelief, Numbers
from .policy import Choice, RoundOutcome, Situation
from .probing import next_probe
from .reply_lengths import ReplyLengths
from .round_prices import RoundPrices

import numpy as np

__all__ = ["AdaptiveLookahead", "LookaheadMemory"]

_ASK_AGAIN = 24  # plain rounds, where no better moment is known
_TRIAL_SHARE = 0.006  # of all time, for rounds that are expected to cost more than they bring
_TRIAL_WORTH = 0.5  # of knowing for certain, to later replies
_FUTURE_REPLIES = 8  # that will be as long, over which knowing pays
_LOOK_UP_EVERY = 32  # tokens between two looks at the costs of a context length
_PLAIN_BLOCK, _PLAIN_ROUNDS = 4, 2  # plain rounds that show what one takes; that have to
_PLAIN_AFTER = 96  # tokens: earlier than that the known costs are trusted
_CLEAR_SPEEDUP = 1.5  # above it the plain pass need not be looked at
_DEAR_ROW = 1.3  # a second row that costs more than this is the reason for parking


@dataclass(slots=True)
class LookaheadMemory:
    """What a session has learned for its next answers.

    Args:
        costs: of rounds here.
        belief: of the texts' acceptance.
        lengths: of the replies that ended by themselves.
        elapsed_seconds: of all answers.
        trial_seconds: what trials were expected to cost.
        way: how guesses come, for the screen: ``drafting`` or ``copying``.
    """

    costs: CostTable
    belief: AcceptanceBelief = field(default_factory=AcceptanceBelief)
    lengths: ReplyLengths = field(default_factory=ReplyLengths)
    elapsed_seconds: float = 0.0
    trial_seconds: float = 0.0
    way: str = "drafting"

    def begin_answer(self) -> AdaptiveLookahead:
        """The policy of the next answer."""
        self.belief.begin_answer()
        return AdaptiveLookahead(self)

    def end_answer(self, num_tokens: int, seconds: float) -> None:
        """An answer ended by itself."""
        self.lengths.add(num_tokens)
        self.elapsed_seconds += seconds

    def forget_texts(self) -> None:
        """Another conversation begins; what rounds cost here, and what guesses of this pair are
        usually worth, stays known."""
        self.belief.begin_conversation()
        self.lengths.forget()


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What to do: ``lookahead`` 0 parks for ``wait`` rounds. ``trial_seconds`` is what a trial is
    expected to cost, 0.0 when guessing should pay. ``owes`` says that what the draft would have
    to read first is all that stands against it."""

    lookahead: int
    trial_seconds: float = 0.0
    owes: bool = False
    wait: int = _ASK_AGAIN


class AdaptiveLookahead:
    """The policy of one answer.

    Args:
        memory: of the session; this answer's rounds add to it.
    """

    def __init__(self, memory: LookaheadMemory) -> None:
        self._memory = memory
        self._costs = memory.costs
        self._belief = memory.belief
        self._kept: Numbers = (  # the chance that so many guesses are all kept
            self._belief.chances[:, None] ** np.arange(self._costs.max_lookahead + 1)
        )
        self._tokens: Numbers = np.cumsum(self._kept, axis=1)  # [chances, lookaheads]
        self._cycles: Numbers = np.ones(self._costs.max_lookahead + 1)
        self._gains: Numbers = np.zeros(len(self._belief.chances))
        self._looked_up = (-1, -1)

    def choose(self, situation: Situation) -> Choice:
        """See LookaheadPolicy."""
        self._look_up(situation.context_length)
        prices = self._prices(situation)
        if self._wants_plain_block(situation, prices):
            return Choice(0, _PLAIN_BLOCK, "measuring a plain pass")
        verdict = self._verdict(prices, situation)
        if verdict.lookahead and self._can_afford(verdict, situation.elapsed_seconds):
            self._memory.trial_seconds += verdict.trial_seconds
            return Choice(verdict.lookahead)
        return Choice(0, verdict.wait, self._reason(verdict, situation))

    def observe(self, outcome: RoundOutcome) -> None:
        """See LookaheadPolicy."""
        if outcome.num_tested:
            self._belief.observe(outcome.num_accepted, outcome.num_tested)
        self._belief.pass_by(outcome.num_emitted)
        self._costs.observe(outcome)

    def _look_up(self, context: int) -> None:
        """Costs at this context, unless they are known from a moment ago."""
        place = (context // _LOOK_UP_EVERY, self._costs.version)
        if place == self._looked_up:
            return
        self._looked_up = place
        lookaheads = range(self._costs.max_lookahead + 1)
        self._cycles = np.array([self._costs.cycle_seconds(g, context) for g in lookaheads])
        best_rates = (self._tokens / self._cycles).max(axis=1)
        self._gains = self._cycles[0] - 1 / best_rates  # seconds a token, by chance; never below 0

    def _prices(self, situation: Situation) -> RoundPrices:
        """Of a round at this place; guesses beyond where the reply may end bring nothing."""
        most = self._costs.max_lookahead
        ends = self._memory.lengths.goes_on(situation.emitted_tokens, situation.room, most)
        tokens = self._tokens if ends is None else np.cumsum(self._kept * ends, axis=1)
        return RoundPrices(tokens, self._cycles, self._gains)

    def _verdict(self, prices: RoundPrices, situation: Situation) -> _Verdict:
        weights, context = self._belief.weights, situation.context_length
        lengths = self._memory.lengths
        remaining = lengths.remaining_tokens(situation.emitted_tokens, situation.room)
        gain = prices.gain(weights)
        if gain <= 0:
            return self._look_again(prices, situation, remaining)
        owed_seconds = self._costs.catch_up_seconds(situation.owed_tokens, context)
        stretch = min(remaining, 1 / self._belief.hazard)
        later = float(self._belief.usual @ prices.gains) * (remaining - stretch)
        net = gain * stretch + later - owed_seconds
        if net > 0:
            return _Verdict(prices.guesses(weights))
        one_reply = np.maximum(prices.gains * lengths.expected_tokens - owed_seconds, 0.0)
        if _TRIAL_WORTH * _FUTURE_REPLIES * float(weights @ one_reply) > -net:
            return _Verdict(prices.guesses(weights), -net, owes=True)
        return _Verdict(0, owes=True)

    def _look_again(self, prices: RoundPrices, situation: Situation, remaining: float) -> _Verdict:
        """Guessing costs more than it brings, by what is believed now."""

        def reading(tokens: int) -> float:
            return self._costs.catch_up_seconds(tokens, situation.context_length)

        probe = next_probe(prices, self._belief, reading, situation.owed_tokens, remaining)
        if probe is None:
            return _Verdict(0)
        if probe.wait:
            return _Verdict(0, wait=probe.wait)
        return _Verdict(probe.lookahead, probe.seconds)

    def _can_afford(self, verdict: _Verdict, elapsed_seconds: float) -> bool:
        """Whether trials stay below their share of all time, ``elapsed_seconds`` into this
        answer."""
        elapsed = self._memory.elapsed_seconds + elapsed_seconds
        spent = self._memory.trial_seconds + verdict.trial_seconds
        return verdict.trial_seconds == 0 or spent <= _TRIAL_SHARE * elapsed

    def _wants_plain_block(self, situation: Situation, prices: RoundPrices) -> bool:
        """Whether a plain pass should be looked at, because everything is held against it."""
        if self._costs.num_plain_rounds >= _PLAIN_ROUNDS:
            return False
        if not self._costs.scale_is_known:
            return True
        speedup = prices.plain / (prices.plain - prices.gain(self._belief.weights))
        is_clear = speedup > _CLEAR_SPEEDUP
        return situation.emitted_tokens >= _PLAIN_AFTER and not is_clear

    def _reason(self, verdict: _Verdict, situation: Situation) -> str:
        """Why nothing is drafted, for the screen."""
        not_so = f"not {self._memory.way}"
        if verdict.owes:
            seconds = self._costs.catch_up_seconds(situation.owed_tokens, situation.context_length)
            return f"{not_so}: the draft would first read for {seconds:.1f} s"
        rows = self._costs.two_rows(situation.context_length)
        if self._costs.scale_is_known and rows > _DEAR_ROW:
            return f"{not_so}: a pass over 2 rows costs {rows:.1f} of one here"
        kept = float(self._belief.weights @ self._belief.chances)
        return f"{not_so}: about {percent(kept)} of guesses are kept, too few to pay here"

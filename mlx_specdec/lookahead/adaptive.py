"""AdaptiveLookahead: as many guesses as this machine and this text pay for, none included.

Before every round it asks what each lookahead would bring: expected tokens under what is believed
of acceptance, over what a round costs (Leviathan et al. 2023 with measured costs: the rate is
(1 + S_1 + ... + S_g) / cycle(g), S_k the chance that the first k guesses are all kept). Plain
decoding is one of the lookaheads. Two things are weighed beside the next round:

- what the draft owes. Before it can guess it reads what it has not read: the prompt at first,
  after parking what was written meanwhile. That is charged against what drafting should save over
  the expected rest of the reply, so whether to draft at all is decided before the draft reads.
- what is not known. Parked, nothing is learned; the belief drifts back to what is usual, and when
  guessing again could be worth more than it costs, one round is tried. What such trials are
  expected to cost stays below 0.6 % of all time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..costs.cost_table import CostTable
from ..figures import percent
from .belief import AcceptanceBelief, Numbers
from .policy import Choice, RoundOutcome, Situation

import numpy as np

__all__ = ["AdaptiveLookahead", "LookaheadMemory"]

_PARK_LENGTHS = (4, 8, 16, 32, 64, 128, 256)  # plain rounds between two questions
_TRIAL_SHARE = 0.006  # of all time, for rounds that are expected to cost more than they bring
_TRIAL_ROUNDS = 3  # rounds until a trial has told something
_TRIAL_WORTH = 0.5  # of knowing for certain
_FUTURE_REPLIES = 8  # that will be as long, over which knowing pays
_USUAL_REPLY = 512.0  # tokens, before any reply was seen
_REPLY_PATIENCE = 0.2  # least weight of the newest reply's length
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
        expected_tokens: of a reply.
        num_replies: that ended by themselves.
        elapsed_seconds: of all answers.
        trial_seconds: what trials were expected to cost.
        way: how guesses come, for the screen: ``drafting`` or ``copying``.
    """

    costs: CostTable
    belief: AcceptanceBelief = field(default_factory=AcceptanceBelief)
    expected_tokens: float = _USUAL_REPLY
    num_replies: int = 0
    elapsed_seconds: float = 0.0
    trial_seconds: float = 0.0
    way: str = "drafting"

    def begin_answer(self) -> AdaptiveLookahead:
        """The policy of the next answer."""
        self.belief.begin_answer()
        return AdaptiveLookahead(self)

    def end_answer(self, num_tokens: int, seconds: float) -> None:
        """An answer ended by itself."""
        self.num_replies += 1
        self.elapsed_seconds += seconds
        weight = max(1 / (self.num_replies + 0.5), _REPLY_PATIENCE)
        self.expected_tokens += weight * (num_tokens - self.expected_tokens)

    def forget_texts(self) -> None:
        """Another conversation begins; what rounds cost here, and what guesses of this pair are
        usually worth, stays known."""
        self.belief.begin_conversation()
        self.expected_tokens, self.num_replies = _USUAL_REPLY, 0


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What to do at some belief: ``lookahead`` 0 parks. ``trial_seconds`` is what a trial is
    expected to cost, 0.0 when guessing should pay. ``owes`` says that what the draft would have
    to read first is all that stands against it."""

    lookahead: int
    trial_seconds: float = 0.0
    owes: bool = False


class AdaptiveLookahead:
    """The policy of one answer.

    Args:
        memory: of the session; this answer's rounds add to it.
    """

    def __init__(self, memory: LookaheadMemory) -> None:
        self._memory = memory
        self._costs = memory.costs
        self._belief = memory.belief
        powers = self._belief.chances[:, None] ** np.arange(self._costs.max_lookahead + 1)
        self._tokens: Numbers = np.cumsum(powers, axis=1)  # [chances, lookaheads]
        self._cycles: Numbers = np.ones(self._costs.max_lookahead + 1)
        self._gains: Numbers = np.zeros(len(self._belief.chances))
        self._looked_up = (-1, -1)

    def choose(self, situation: Situation) -> Choice:
        """See LookaheadPolicy."""
        self._look_up(situation.context_length)
        if self._wants_plain_block(situation):
            return Choice(0, _PLAIN_BLOCK, "measuring a plain pass")
        remaining = self._remaining_tokens(situation)
        verdict = self._verdict(
            self._belief.weights, situation.owed_tokens, situation.context_length, remaining
        )
        if verdict.lookahead and self._can_afford(verdict, situation.elapsed_seconds):
            self._memory.trial_seconds += verdict.trial_seconds
            return Choice(verdict.lookahead)
        return Choice(0, self._pause(situation, remaining), self._reason(verdict, situation))

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

    def _remaining_tokens(self, situation: Situation) -> float:
        """Replies go on for what is usual, and long ones for longer."""
        written = situation.emitted_tokens
        rest = max(self._memory.expected_tokens - written, 0.5 * written)
        return min(rest, situation.room)

    def _verdict(
        self, weights: Numbers, owed_tokens: int, context: int, remaining: float
    ) -> _Verdict:
        """What to do when acceptance is believed to be ``weights``."""
        plain = float(self._cycles[0])
        expected = weights @ self._tokens
        rates = expected / self._cycles
        best = 1 + int(np.argmax(rates[1:]))
        owed_seconds = self._costs.catch_up_seconds(owed_tokens, context)
        stretch = min(remaining, 1 / self._belief.hazard)
        later = float(self._belief.usual @ self._gains) * (remaining - stretch)
        gain = plain - 1 / float(rates[best])
        if gain > 0:
            net = gain * stretch + later - owed_seconds
            if net > 0:
                return _Verdict(best)
            reply = self._memory.expected_tokens
            future = float(weights @ np.maximum(self._gains * reply - owed_seconds, 0.0))
            if _TRIAL_WORTH * _FUTURE_REPLIES * future > -net:
                return _Verdict(best, -net, owes=True)
            return _Verdict(0, owes=True)
        losses = self._cycles[1:] - expected[1:] * plain
        trial = 1 + int(np.argmin(losses))
        loss = float(losses[trial - 1])
        worth = float(weights @ self._gains) * stretch + later
        if _TRIAL_WORTH * worth > owed_seconds + _TRIAL_ROUNDS * loss:
            return _Verdict(trial, owed_seconds + loss)
        return _Verdict(0)

    def _can_afford(self, verdict: _Verdict, elapsed_seconds: float) -> bool:
        """Whether trials stay below their share of all time, ``elapsed_seconds`` into this
        answer."""
        elapsed = self._memory.elapsed_seconds + elapsed_seconds
        spent = self._memory.trial_seconds + verdict.trial_seconds
        return verdict.trial_seconds == 0 or spent <= _TRIAL_SHARE * elapsed

    def _pause(self, situation: Situation, remaining: float) -> int:
        """Plain rounds until guessing may be worth a trial, by how the belief will drift."""
        for length in _PARK_LENGTHS:
            later = self._verdict(
                self._belief.after(length),
                situation.owed_tokens + length,
                situation.context_length,
                max(remaining - length, 0.0),
            )
            elapsed = situation.elapsed_seconds + length * float(self._cycles[0])
            if later.lookahead and self._can_afford(later, elapsed):
                return length
        return _PARK_LENGTHS[-1]

    def _wants_plain_block(self, situation: Situation) -> bool:
        """Whether a plain pass should be looked at, because everything is held against it."""
        if self._costs.num_plain_rounds >= _PLAIN_ROUNDS:
            return False
        if not self._costs.scale_is_known:
            return True
        rates = (self._belief.weights @ self._tokens) / self._cycles
        is_clear = float(rates[1:].max() / rates[0]) > _CLEAR_SPEEDUP
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

"""The simulated clock: what a lookahead policy would make of a text at given costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..costs.cost_table import CostTable
from ..costs.pair_costs import PairCosts
from .policy import Choice, LookaheadPolicy, RoundOutcome, Situation
from .simulated_texts import SimulatedText

import numpy as np

__all__ = ["SimulatedReply", "fixed_seconds", "simulate"]

Slowness = Callable[[int, int], float]
"""From the lookahead and the number of the round to a factor on its seconds."""


def even(lookahead: int, index: int) -> float:
    """A machine whose rounds always take what they cost."""
    return 1.0


@dataclass(slots=True)
class SimulatedReply:
    """Seconds of one reply: in all, and without the target's reading of the prompt.

    ``tokens_at`` counts the tokens that were emitted at each lookahead.
    """

    prefill_seconds: float
    reply_seconds: float = 0.0
    num_tokens: int = 0
    tokens_at: dict[int, int] = field(default_factory=dict)

    @property
    def end_to_end_seconds(self) -> float:
        return self.prefill_seconds + self.reply_seconds

    def add(self, lookahead: int, count: int, seconds: float) -> None:
        self.reply_seconds += seconds
        self.num_tokens += count
        self.tokens_at[lookahead] = self.tokens_at.get(lookahead, 0) + count


def simulate(
    policy: LookaheadPolicy,
    text: SimulatedText,
    costs: PairCosts,
    prompt_length: int,
    max_tokens: int | None = None,
    slowness: Slowness = even,
) -> SimulatedReply:
    """One reply on the simulated clock, as the engine would run it.

    Args:
        costs: what rounds really take; the policy has its own idea of them.
        max_tokens: the limit that the policy is told; the text ends by itself well before it.
    """
    run = _Run(policy, text, costs, prompt_length, slowness)
    most = 2 * text.num_tokens if max_tokens is None else max_tokens
    while run.emitted < text.num_tokens:
        run.step(most)
    return run.reply


class _Run:
    """The state of one simulated reply."""

    def __init__(
        self,
        policy: LookaheadPolicy,
        text: SimulatedText,
        costs: PairCosts,
        prompt_length: int,
        slowness: Slowness,
    ) -> None:
        self._policy = policy
        self._text = text
        self._truth = CostTable(costs)
        self._prompt_length = prompt_length
        self._slowness = slowness
        self._draft_has_read = 0
        self._was_parked = True
        self.reply = SimulatedReply(prompt_length * costs.target_prefill_seconds)

    @property
    def emitted(self) -> int:
        return self.reply.num_tokens

    @property
    def _context(self) -> int:
        return self._prompt_length + self.emitted

    def step(self, most: int) -> None:
        """Ask the policy, and do what it says."""
        context = self._context
        choice = self._policy.choose(
            Situation(
                self.emitted,
                context,
                context - self._draft_has_read,
                most - self.emitted,
                self.reply.end_to_end_seconds,
            )
        )
        lookahead = min(choice.lookahead, most - self.emitted - 1)
        if self.emitted == 0 or lookahead <= 0:
            self._park(choice if choice.lookahead == 0 else Choice(0))
        else:
            self._draft(lookahead)

    def _park(self, choice: Choice) -> None:
        for i in range(min(choice.num_rounds, self._text.num_tokens - self.emitted)):
            context = self._context
            seconds = self._cycle(0)
            switch = i == 0 and not self._was_parked  # nothing was queued: the device waits
            bubble = self._truth.prior.at(context).overhead_seconds if switch else 0.0
            self.reply.add(0, 1, seconds + bubble)
            told = None if i == 0 else seconds
            self._policy.observe(RoundOutcome(0, 0, 0, 1, context, told))
        self._was_parked = True

    def _draft(self, lookahead: int) -> None:
        context = self._context
        owed = context - self._draft_has_read
        kept = self._text.accepted(self.emitted, lookahead)
        emitted = min(kept + 1, self._text.num_tokens - self.emitted)
        is_cut = emitted <= kept
        seconds = self._cycle(lookahead)
        catch_up = self._truth.catch_up_seconds(owed, context)
        self.reply.add(lookahead, emitted, seconds + catch_up)
        self._draft_has_read = context + min(kept, lookahead - 1)
        tested = emitted if is_cut else min(kept + 1, lookahead)
        told = None if is_cut or self._was_parked else seconds
        self._was_parked = False
        self._policy.observe(
            RoundOutcome(
                lookahead, min(kept, emitted), tested, emitted, context, told, owed, catch_up
            )
        )

    def _cycle(self, lookahead: int) -> float:
        factor = self._slowness(lookahead, self.reply.num_tokens)
        return self._truth.cycle_seconds(lookahead, self._context) * factor


def fixed_seconds(
    text: SimulatedText, costs: PairCosts, prompt_length: int, lookahead: int
) -> float:
    """Reply seconds at a fixed lookahead: what ``simulate`` says of it, many times as fast."""
    first = costs.cycle_seconds(0, prompt_length)
    if lookahead == 0:
        contexts = prompt_length + np.arange(1, text.num_tokens)
        return first + float(cycle_curve(costs, 0, contexts).sum())
    seconds, _ = stretch_seconds(text, costs, prompt_length, lookahead, 1, text.num_tokens)
    draft = CostTable(costs).catch_up_seconds(prompt_length + 1, prompt_length + 1)
    return first + seconds + draft


def stretch_seconds(
    text: SimulatedText, costs: PairCosts, prompt_length: int, lookahead: int, start: int, end: int
) -> tuple[float, int]:
    """Seconds from token ``start`` until ``end`` is reached, and the token it stops at.

    The draft is taken to be up to date. The text ends by itself: no round knows beforehand that it
    is the last.
    """
    if lookahead == 0:
        plain = prompt_length + np.arange(start, end)
        return float(cycle_curve(costs, 0, plain).sum()), end
    contexts: list[int] = []
    at, misses = start, text.next_misses
    while at < end:
        contexts.append(prompt_length + at)
        at += min(misses[at] - at, lookahead) + 1
    seconds = float(cycle_curve(costs, lookahead, np.array(contexts)).sum())
    return seconds, min(at, text.num_tokens)


def cycle_curve(costs: PairCosts, lookahead: int, contexts: np.ndarray) -> np.ndarray:
    """``costs.cycle_seconds`` at many context lengths: [n]."""
    lengths = [length for length, _ in costs.by_context]
    cycles = [model.cycle_seconds(lookahead) for _, model in costs.by_context]
    return np.asarray(np.interp(contexts, lengths, cycles))

"""The four acceptance rules. Each keeps exactly what the target would have said.

A rule works on the device and reads nothing: what the host needs of a round comes back in one
``Decision``, read once by the decoder. Row j of the target's law predicts proposed token j; row
``count`` predicts the bonus.

Sources: rejection: Leviathan et al. 2023 (Alg. 1), Chen et al. 2023. block: Sun et al., ICLR
2025 (Alg. 2). coupled: Daliri, Musco and Suresh 2024 (shared Gumbel noise). match: what mlx-lm
does, an independent sample of the target compared with the proposal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from .backend import mx
from .distributions import softmax
from .draws import best_and_gap, draw_with_margin
from .noise import Noise, uploaded
from .proposal import Proposal

__all__ = [
    "AcceptanceRule",
    "BlockRule",
    "CoupledRule",
    "Decision",
    "GreedyRule",
    "MatchRule",
    "RejectionRule",
    "TargetRows",
    "rule_named",
]


@dataclass(frozen=True)
class TargetRows:
    """The target's word on one round.

    Args:
        scores: float32 [count + 1, width], what choices are made on (scaled_scores).
        position: absolute index of the first proposed token.
    """

    scores: mx.array
    position: int

    @cached_property
    def probs(self) -> mx.array:
        """The law sampled from; at temperature 0 the softmax of the logits, to show."""
        return softmax(self.scores)


@dataclass(frozen=True)
class Decision:
    """A verdict, still on the device.

    ``num_accepted``, ``next_token`` and ``next_margin`` are scalars; the rest has one entry per
    proposed token. What ``asked``, ``drawn`` and ``carried`` mean is the rule's (events.Check).
    """

    num_accepted: mx.array
    next_token: mx.array
    next_margin: mx.array
    asked: mx.array
    drawn: mx.array
    carried: mx.array
    margins: mx.array


class AcceptanceRule(Protocol):
    """``checks_all``: every proposed token is looked at, even after a miss."""

    name: str
    checks_all: bool

    def decide(
        self, rows: TargetRows, proposal: Proposal, noise: Noise, round_index: int
    ) -> Decision: ...


def leading(kept: mx.array) -> mx.array:
    """How many entries are true before the first false one: int32 scalar."""
    return mx.sum(mx.cumprod(kept.astype(mx.int32)))


def _entries(rows: mx.array, tokens: mx.array) -> mx.array:
    """rows[i, tokens[i]] for every proposed token: [count]."""
    return mx.take_along_axis(rows[: tokens.shape[0]], tokens[:, None], axis=-1)[:, 0]


def _ratios(target: mx.array, proposal: Proposal) -> mx.array:
    """p/q of every proposed token: [count]; a proposal without a law has q = 1."""
    kept = _entries(target, proposal.tokens)
    return kept if proposal.probs is None else kept / _entries(proposal.probs, proposal.tokens)


def _left_over(
    target: mx.array, proposal: Proposal, stop: mx.array, scale: mx.array | None = None
) -> mx.array:
    """What is left of the target's row at ``stop`` after the draft's share: weights [width].

    max(0, scale * p - q) at a miss, p itself for the bonus. Where nothing is left (p == q up to
    rounding) it is p.
    """
    row = target[stop]
    if proposal.count == 0:
        return row
    last = mx.minimum(stop, proposal.count - 1)
    missed = stop < proposal.count
    if proposal.probs is None:
        share = (mx.arange(row.shape[0]) == proposal.tokens[last]) * row
        rest = row - mx.where(missed, share, 0.0)
    else:
        share = proposal.probs[last] * missed
        wanted = row if scale is None else row * mx.where(missed, scale, 1.0)
        rest = mx.maximum(wanted - share, 0.0)
    return mx.where(mx.any(rest > 0), rest, row)


class RejectionRule:
    """Keep a token while its coin is below p/q; at a miss draw from max(0, p - q)."""

    name = "rejection"
    checks_all = False

    def decide(
        self, rows: TargetRows, proposal: Proposal, noise: Noise, round_index: int
    ) -> Decision:
        uniforms = noise.round(round_index)
        coins = uploaded(uniforms.coins(proposal.count))
        asked = mx.minimum(_ratios(rows.probs, proposal), 1.0)
        num_accepted = leading(coins < asked)
        rest = _left_over(rows.probs, proposal, num_accepted)
        token, margin = draw_with_margin(rest, uploaded([uniforms.residual()]))
        return Decision(
            num_accepted, token, margin, asked, coins, mx.ones_like(asked), mx.abs(asked - coins)
        )


class BlockRule:
    """Judge the proposed tokens together: accepts at least as much, with the same law."""

    name = "block"
    checks_all = True

    def decide(
        self, rows: TargetRows, proposal: Proposal, noise: Noise, round_index: int
    ) -> Decision:
        uniforms = noise.round(round_index)
        residual = uploaded([uniforms.residual()])
        if proposal.count == 0:
            token, margin = draw_with_margin(rows.probs[0], residual)
            none = mx.zeros((0,))
            return Decision(mx.array(0), token, margin, none, none, none, none)
        coins = uploaded(uniforms.coins(proposal.count))
        carried = self._carried(rows.probs, proposal)
        asked = self._chances(rows.probs, proposal, carried)
        kept = coins < asked
        places = mx.arange(1, proposal.count + 1)
        num_accepted = mx.max(mx.where(kept, places, 0))
        scale = mx.concatenate([mx.ones((1,)), carried])[num_accepted]
        rest = _left_over(rows.probs, proposal, num_accepted, scale)
        token, margin = draw_with_margin(rest, residual)
        return Decision(num_accepted, token, margin, asked, coins, carried, mx.abs(asked - coins))

    @staticmethod
    def _carried(target: mx.array, proposal: Proposal) -> mx.array:
        """P_i = min(1, P_{i-1} p_i/q_i): [count].

        In logs that is a walk held at 0 from above: its sum less the highest sum so far.
        """
        walk = mx.cumsum(mx.log(_ratios(target, proposal)))
        return mx.exp(walk - mx.maximum(mx.cummax(walk), 0.0))

    @staticmethod
    def _chances(target: mx.array, proposal: Proposal, carried: mx.array) -> mx.array:
        """h_i = S_i / (S_i + 1 - P_i) for i < count, h_count = P_count: [count]."""
        inner = carried[:-1]
        after = target[1 : proposal.count]
        if proposal.probs is None:
            left = inner * (1.0 - _entries(after, proposal.tokens[1:]))
        else:
            left = mx.sum(mx.maximum(inner[:, None] * after - proposal.probs[1:], 0.0), axis=-1)
        below = left + 1.0 - inner
        chances = mx.where(below > 0, left / mx.where(below > 0, below, 1.0), 1.0)
        return mx.concatenate([chances, carried[-1:]])


class _OwnTokenRule:
    """Keep while the target's own token at each row is the proposed one; emit its next own."""

    name = "greedy"
    checks_all = False

    def _scores(self, rows: TargetRows, count: int, noise: Noise) -> mx.array:
        return rows.scores

    def decide(
        self, rows: TargetRows, proposal: Proposal, noise: Noise, round_index: int
    ) -> Decision:
        scores = self._scores(rows, proposal.count, noise)
        own, gaps = best_and_gap(scores)
        asked = own[: proposal.count]
        num_accepted = leading(asked == proposal.tokens)
        return Decision(
            num_accepted,
            own[num_accepted],
            gaps[num_accepted],
            asked,
            proposal.tokens,
            mx.ones((proposal.count,)),
            gaps[: proposal.count],
        )


class GreedyRule(_OwnTokenRule):
    """Temperature 0: arg-max equality, whatever rule was named."""


class CoupledRule(_OwnTokenRule):
    """The target's own token under the noise of its position, which the draft shared."""

    name = "coupled"

    def _scores(self, rows: TargetRows, count: int, noise: Noise) -> mx.array:
        return rows.scores + noise.token_rows(rows.position, count + 1, rows.scores.shape[-1])


class MatchRule(CoupledRule):
    """The same comparison, but the draft drew with noise of its own."""

    name = "match"


def rule_named(name: str, temperature: float) -> AcceptanceRule:
    """The rule for a request; at temperature 0 all four are arg-max equality."""
    if temperature == 0:
        return GreedyRule()
    rules: dict[str, AcceptanceRule] = {
        "rejection": RejectionRule(),
        "block": BlockRule(),
        "coupled": CoupledRule(),
        "match": MatchRule(),
    }
    return rules[name]

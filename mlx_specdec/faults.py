"""Faults on purpose: parts of a decoder that are broken in one way each.

An audit that never fails proves nothing. Each fault here is a fault that somebody shipped (named
beside it), put in where a session is built; neither the engine nor the audit knows of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .acceptance import (
    AcceptanceRule,
    BlockRule,
    Decision,
    RejectionRule,
    TargetRows,
    rule_named,
)
from .backend import mx, read_floats
from .cache import RewindableCache
from .distributions import softmax
from .draws import draw_by_cdf, draw_with_margin
from .forward import ModelRunner
from .noise import Noise, uploaded
from .parts import Parts
from .proposal import Proposal
from .proposers.draft_model import DraftModelProposer

__all__ = ["FAULTS", "Fault", "fault_named"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, in words, and the parts that have it.

    ``breaks`` names the rules whose text it makes wrong.
    """

    name: str
    words: str
    breaks: tuple[str, ...]
    parts: Parts


class _RedrawFromTarget:
    """At a miss it draws from the target's whole law, not from what is left over."""

    def __init__(self, inner: AcceptanceRule) -> None:
        self._inner = inner
        self.name = inner.name
        self.checks_all = inner.checks_all

    def decide(
        self, rows: TargetRows, proposal: Proposal, noise: Noise, round_index: int
    ) -> Decision:
        decision = self._inner.decide(rows, proposal, noise, round_index)
        uniform = uploaded([noise.round(round_index).residual()])
        token, margin = draw_with_margin(rows.probs[decision.num_accepted], uniform)
        return replace(decision, next_token=token, next_margin=margin)


def _residual_rule(name: str, temperature: float) -> AcceptanceRule:
    rule = rule_named(name, temperature)
    return _RedrawFromTarget(rule) if isinstance(rule, RejectionRule | BlockRule) else rule


class _StaleCache(RewindableCache):
    """Takes back one token too few: a rejected guess stays, and later tokens see it."""

    _num_stale = 0

    @property
    def length(self) -> int:
        return super().length - self._num_stale

    def drop(self) -> None:
        self._num_stale = 0
        super().drop()

    def truncate_to(self, length: int) -> None:
        held = super().length
        surplus = self.length - length
        if length == 0:
            super().truncate_to(0)
            self._num_stale = 0
        elif surplus > 0:
            super().truncate_to(held - surplus + 1)
            self._num_stale += 1


class _StaleRunner(ModelRunner):
    def __init__(self, loaded: Any, **options: Any) -> None:
        super().__init__(loaded, **options)
        self.cache = _StaleCache(
            loaded.model,
            loaded.name,
            options.get("kv_bits"),
            options.get("kv_group_size", 64),
        )


class _SharperDrawProposer(DraftModelProposer):
    """Draws at half the temperature of the law that it reports."""

    def _drawer(
        self, position: int, lookahead: int, noise: Noise, round_index: int
    ) -> Callable[[int, mx.array, mx.array], mx.array]:
        if self._params.is_greedy or self._rule == "coupled":
            return super()._drawer(position, lookahead, noise, round_index)
        uniforms = uploaded(noise.round(round_index).draft(lookahead))
        return lambda step, scores, law: draw_by_cdf(
            softmax(2.0 * scores), uniforms[step : step + 1]
        )


class _UnsureProposer(DraftModelProposer):
    """Drops a guess that was drawn already, and those after it, where its own law was unsure."""

    _LEAST = 0.1

    def propose(
        self, context: list[int], lookahead: int, noise: Noise, round_index: int
    ) -> Proposal:
        proposal = super().propose(context, lookahead, noise, round_index)
        if proposal.count == 0 or proposal.probs is None:
            return proposal
        chances = read_floats(
            mx.take_along_axis(proposal.probs, proposal.tokens[:, None], axis=-1)[:, 0]
        )
        count = next((i for i, q in enumerate(chances) if q < self._LEAST), proposal.count)
        return replace(
            proposal, tokens=proposal.tokens[:count], count=count, probs=proposal.probs[:count]
        )


_ALL = (
    Fault(
        "residual",
        "at a miss it draws from the target's whole law (vLLM-Ascend shipped a like one)",
        ("rejection", "block"),
        Parts(rule_for=_residual_rule),
    ),
    Fault(
        "rewind",
        "one rejected guess too many stays in the target's cache",
        ("rejection", "block", "coupled", "match"),
        Parts(target_runner=_StaleRunner),
    ),
    Fault(
        "temperature",
        "the draft's law is recorded at another temperature than it was drawn at",
        ("rejection", "block"),
        Parts(proposer=_SharperDrawProposer),
    ),
    Fault(
        "low-q",
        "a guess that was drawn is dropped because the draft was unsure of it",
        ("rejection", "block"),
        Parts(proposer=_UnsureProposer),
    ),
)
FAULTS = {fault.name: fault for fault in _ALL}


def fault_named(name: str) -> Fault:
    """The fault of that name; KeyError when there is none."""
    return FAULTS[name]

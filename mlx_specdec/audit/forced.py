"""Forced guesses: a draft that is always right, and one that is always wrong.

Always right, nothing is ever taken back: what differs then is the wide pass or the rule. Always
wrong, every round takes back all its guesses: what differs only then is the rewinding. So the two
tell apart what an unforced difference alone does not.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from ..backend import mx
from ..forward import ModelRunner
from ..noise import Noise
from ..proposal import Proposal
from ..proposers.draft_model import DraftModelProposer
from ..settings import Settings
from .comparison import Comparison, compare
from .context import AuditContext
from .evidence import Deviation, Evidence

__all__ = ["Cause", "diagnose", "forced"]


@dataclass(frozen=True, slots=True)
class Cause:
    """``name`` is rule, rewind or masking; ``words`` say why, ``hint`` where to look."""

    name: str
    words: str
    hint: str


class ForcedProposer(DraftModelProposer):
    """Proposes what it knows to come, or with ``shift`` something else; reads nothing.

    Args:
        text: prompt and plain answer; may be replaced between two answers.
        width: of the law.
        shift: added to every token id, so that none is right.
    """

    def __init__(
        self,
        runner: ModelRunner,
        clock: Callable[[], float],
        text: list[int],
        width: int,
        shift: int,
    ) -> None:
        super().__init__(runner, clock)
        self._text = text
        self._vocab = width
        self._shift = shift

    def propose(
        self, context: list[int], lookahead: int, noise: Noise, round_index: int
    ) -> Proposal:
        known = self._text[len(context) : len(context) + lookahead]
        guesses = [(token + self._shift) % self._vocab for token in known]
        return Proposal(mx.array(guesses, dtype=mx.int32), len(guesses))


def forced(
    context: AuditContext, prompt: Sequence[int], settings: Settings, is_right: bool
) -> Generator[float, None, Comparison]:
    """One answer of the audited parts whose guesses are all right, or all wrong."""
    text: list[int] = []

    def proposer(runner: ModelRunner, clock: Callable[[], float]) -> ForcedProposer:
        return ForcedProposer(runner, clock, text, context.width, 0 if is_right else 1)

    def learn(plain: list[int]) -> None:
        text[:] = plain

    subject = context.subject(proposer=proposer)
    return (yield from compare(context, subject, prompt, settings, learn))


def diagnose(
    context: AuditContext,
    prompt: Sequence[int],
    settings: Settings,
    found: tuple[Deviation, Evidence],
) -> Generator[float, None, Cause]:
    """What is at fault where an answer differs and it is no tie."""
    right = yield from forced(context, prompt, settings, is_right=True)
    if right.fault is not None:
        return _cause_without_rewinding(*right.fault, "even when every guess is right")
    wrong = yield from forced(context, prompt, settings, is_right=False)
    if wrong.fault is not None:
        deviation, evidence = wrong.fault
        where = "with every guess right the text is equal, with every guess wrong it is not"
        if deviation.round_index <= 1:  # nothing had been rewound yet
            return _cause_without_rewinding(deviation, evidence, where)
        return _cause(evidence, where)
    return _cause(found[1], "only with the draft's own guesses")


def _cause_without_rewinding(deviation: Deviation, evidence: Evidence, where: str) -> Cause:
    if evidence.is_wide_off or evidence.is_cache_off:
        return _masking(evidence, where)
    return _rule(evidence, where)


def _cause(evidence: Evidence, where: str) -> Cause:
    if evidence.is_wide_off:
        return _masking(evidence, where)
    if evidence.is_cache_off:
        return Cause(
            "rewind",
            f"rewind: {where}, and the logits are {evidence.own_gap:.2g} away from a fresh cache's "
            f"({evidence.allowed:.2g} allowed): rejected guesses stayed in the target's cache",
            "rewind: look at truncate_to (cache.py) and commit (forward.py)",
        )
    return _rule(evidence, where)


def _masking(evidence: Evidence, where: str) -> Cause:
    gap = max(evidence.wide_gap, evidence.own_gap)
    return Cause(
        "masking",
        f"masking: it differs {where}, and a pass over several rows is {gap:.2g} away from passes "
        f"over one row ({evidence.allowed:.2g} allowed)",
        "masking: look at the attention mask and the positions of a pass over several rows (the "
        "model's code in mlx-lm)",
    )


def _rule(evidence: Evidence, where: str) -> Cause:
    return Cause(
        "rule",
        f"rule: it differs {where}; the logits are right, and on them plain decoding says token "
        f"{evidence.own_choice}, not {evidence.speculative}",
        "rule: look at the acceptance rule and the keys of its noise (acceptance.py)",
    )

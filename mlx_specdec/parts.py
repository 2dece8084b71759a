"""Parts: what a session's decoders are put together from; another part can stand in for each.

The audit watches a session and fault injection breaks one through these seams, so the engine has
no branch for either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .acceptance import AcceptanceRule, rule_named
from .forward import ModelRunner
from .proposers.draft_model import DraftModelProposer

__all__ = ["Parts"]


@dataclass(frozen=True)
class Parts:
    """The makers of a session's parts.

    Args:
        target_runner, draft_runner: called as ModelRunner is.
        proposer: from the draft's runner and the clock.
        rule_for: from a rule's name and the temperature.
        profile: wait for the device after the guesses and after the check of every round, so that
            both are measured (Timings.draft_seconds, verify_seconds); a little slower.
    """

    target_runner: Callable[..., ModelRunner] = ModelRunner
    draft_runner: Callable[..., ModelRunner] = ModelRunner
    proposer: Callable[[ModelRunner, Callable[[], float]], DraftModelProposer] = DraftModelProposer
    rule_for: Callable[[str, float], AcceptanceRule] = rule_named
    profile: bool = False

"""What a proposer hands over: tokens, and the law each was drawn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .backend import mx
from .noise import Noise
from .request import GenerateRequest

__all__ = ["Glance", "Proposal", "Proposer"]


@dataclass(frozen=True, slots=True)
class Glance:
    """What a proposer knows of its next guess without any cost on the device.

    Args:
        token: the guess, where it is known already; None where making it takes a pass.
        note: why it would propose nothing; empty when it would.
    """

    token: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Proposal:
    """``count`` proposed tokens, still on the device.

    Args:
        tokens: int32 [count].
        probs: float32 [count, width], the law each token was drawn from, placed into the
            target's width (at temperature 0 the softmax at 1, to show); None for a proposal
            without a law (one-hot).
        top_probs, entropies: float32 [count], of those laws, for lookahead policies.
        tokens_read: tokens the draft was fed for it, what it owed included.
        note: why nothing was proposed, when nothing was.
        prefill_seconds: host seconds spent on what the draft owed of the prompt.
    """

    tokens: mx.array
    count: int
    probs: mx.array | None = None
    top_probs: mx.array | None = None
    entropies: mx.array | None = None
    tokens_read: int = 0
    note: str = ""
    prefill_seconds: float = 0.0

    @staticmethod
    def nothing(note: str) -> Proposal:
        return Proposal(mx.zeros((0,), dtype=mx.int32), 0, note=note)


class Proposer(Protocol):
    """A drafting method. Acceptance feedback goes to the lookahead policy, not here."""

    name: str

    def begin(self, request: GenerateRequest, width: int, is_cancelled: Callable[[], bool]) -> None:
        """A new answer begins; ``width`` is the target law's. Nothing is fed yet.

        ``is_cancelled`` is asked between the chunks of a long prompt.
        """
        ...

    def owed(self, context: list[int]) -> int:
        """Tokens of ``context`` that it would have to read before it could propose; may be asked
        before ``begin``. Costs nothing on the device."""
        ...

    def glance(self, context: list[int]) -> Glance:
        """What it would guess to follow ``context``, as far as that costs nothing; may be asked
        before ``begin``."""
        ...

    def propose(
        self, context: list[int], lookahead: int, noise: Noise, round_index: int
    ) -> Proposal:
        """At most ``lookahead`` tokens to follow ``context``, the growing list of all tokens.

        A proposer compares the context with what it has read and reads what it owes.

        Raises:
            Cancelled: while it read a long prompt.
        """
        ...

    def commit(self, context: list[int], valid: int) -> None:
        """The round is over: the first ``valid`` tokens of ``context`` are what was checked.

        What was read beyond them was a guess that missed, and is taken back.
        """
        ...

    def rollback(self) -> None:
        """Forget what was read and never committed (the reader walked away)."""
        ...

    def close(self) -> None:
        """Drop whatever was read."""
        ...

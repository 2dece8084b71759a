"""NgramProposer: copies what followed the last time the text read like this; no model.

Prompt lookup (Saxena 2023; "n-gram" in vLLM and llama.cpp): where the last few tokens stood before,
what came after them then is proposed now. It costs the device nothing, and wins where an answer
repeats its prompt: edits, rewrites, quotes, code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..backend import mx
from ..forward import common_prefix, never
from ..noise import Noise
from ..proposal import Glance, Proposal
from ..request import COPY, GenerateRequest

__all__ = ["NgramIndex", "NgramProposer"]

SIZES = (4, 3, 2)
"""Tokens that must agree, the longest first: one alone says little of what follows it."""

NOTHING_LIKE_IT = "not copying: nothing like this was written before"


class NgramIndex:
    """Of every short run of tokens in a text: where it stood last with something after it.

    A token is added or taken back in constant time. The run at the very end has nothing after it,
    so it never finds itself; an earlier place may overlap it.

    Args:
        sizes: lengths of the runs, falling.
    """

    def __init__(self, sizes: Sequence[int] = SIZES) -> None:
        self.sizes = tuple(sizes)
        self.tokens: list[int] = []
        self._after: dict[tuple[int, ...], int] = {}  # a run: the place after it
        self._before: list[tuple[int | None, ...]] = []  # by place: what its runs had before

    def append(self, token: int) -> None:
        """One token more: what it follows is known from now on."""
        place = len(self.tokens)
        runs = self._runs_before(place)
        self._before.append(tuple(self._after.get(run) for run in runs))
        for run in runs:
            self._after[run] = place
        self.tokens.append(token)

    def truncate_to(self, length: int) -> None:
        """Keep at most the first ``length`` tokens, as if the rest had never been there."""
        while len(self.tokens) > length:
            self.tokens.pop()
            runs = self._runs_before(len(self.tokens))
            for run, before in zip(runs, self._before.pop(), strict=True):
                if before is None:
                    del self._after[run]
                else:
                    self._after[run] = before

    def copied(self, count: int) -> list[int]:
        """``count`` tokens that followed the longest run that ends the text, the latest time
        before; past the end of the text they go on with themselves. Empty where no run was
        there before."""
        for run in self._runs_before(len(self.tokens)):
            place = self._after.get(run)
            if place is not None:
                period = len(self.tokens) - place
                return [self.tokens[place + i % period] for i in range(count)]
        return []

    def _runs_before(self, place: int) -> list[tuple[int, ...]]:
        """The runs that end where the token at ``place`` begins, the longest first."""
        return [tuple(self.tokens[place - n : place]) for n in self.sizes if n <= place]


class NgramProposer:
    """Proposes what followed; one-hot, so a guess is kept with the target's own probability."""

    name: str = COPY

    def __init__(self) -> None:
        self._index = NgramIndex()
        self._width = 0
        self._context: list[int] | None = None

    def begin(
        self, request: GenerateRequest, width: int, is_cancelled: Callable[[], bool] = never
    ) -> None:
        self._width = width

    def owed(self, context: list[int]) -> int:
        return len(context) - self._shared(context)

    def glance(self, context: list[int]) -> Glance:
        self._read(context)
        guess = self._index.copied(1)
        return Glance(guess[0]) if guess else Glance(note=NOTHING_LIKE_IT)

    def propose(
        self, context: list[int], lookahead: int, noise: Noise, round_index: int
    ) -> Proposal:
        if lookahead <= 0:
            return Proposal.nothing("")
        self._read(context)
        guesses = self._index.copied(lookahead)
        # A prompt may hold ids beyond the target's law; no row of it could judge them.
        beyond = (place for place, token in enumerate(guesses) if token >= self._width)
        guesses = guesses[: next(beyond, lookahead)]
        if not guesses:
            return Proposal.nothing(NOTHING_LIKE_IT)
        return Proposal(mx.array(guesses, dtype=mx.int32), len(guesses))

    def commit(self, context: list[int], valid: int) -> None:
        """Nothing to take back: guesses are never read, only what the text came to be."""

    def rollback(self) -> None:
        self._context = None

    def close(self) -> None:
        self._index, self._context = NgramIndex(), None

    def _read(self, context: list[int]) -> None:
        """Bring the index to exactly ``context``."""
        shared = self._shared(context)
        self._index.truncate_to(shared)
        for token in context[shared:]:
            self._index.append(token)
        self._context = context

    def _shared(self, context: list[int]) -> int:
        """Tokens of ``context`` that were read. Its list only grows, so what was read of the same
        list is a prefix of it ever since."""
        if context is self._context:
            return len(self._index.tokens)
        return common_prefix(self._index.tokens, context)

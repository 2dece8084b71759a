"""Generation: one answer under way, shared by whichever loop is working on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from .answer import Answer
from .backend import peak_memory_bytes, release_unused_memory
from .events import Finished, Prefilled
from .forward import Cancelled, ModelRunner, never
from .noise import KeyedNoise, Noise
from .request import GenerateRequest

__all__ = ["Generation", "never"]


_CLEAR_EVERY = 256  # tokens between two times that unused buffers are given back


class Generation:
    """The state of one answer: its tokens, its noise, its clock, its rounds so far.

    Args:
        request: what was asked.
        answer: where the tokens go.
        width: of the target's law (the tokenizer's ids).
        noise: keyed by the request's seed unless given.
        clock: seconds, any origin; ``at`` counts from here on.
        is_cancelled: asked once a round and between prefill chunks.
    """

    def __init__(
        self,
        request: GenerateRequest,
        answer: Answer,
        width: int,
        *,
        noise: Noise | None = None,
        clock: Callable[[], float] = time.perf_counter,
        is_cancelled: Callable[[], bool] = never,
    ) -> None:
        self.request = request
        self.answer = answer
        self.width = width
        self.noise: Noise = noise if noise is not None else KeyedNoise(request.seed)
        self.clock = clock
        self.is_cancelled = is_cancelled
        self.round_index = 0
        self._cleared_at = len(answer.tokens)
        self._started = clock()

    @property
    def tokens(self) -> list[int]:
        return self.answer.tokens

    @property
    def is_over(self) -> bool:
        return self.answer.is_finished

    def at(self) -> float:
        """Seconds on this answer's clock."""
        return self.clock() - self._started

    def prefill(self, target: ModelRunner) -> Iterator[Prefilled]:
        """Read the prompt but for its last token; what the cache shares with it is kept.

        A cancel on the way ends the answer.
        """
        began = self.at()
        prompt = self.tokens
        reused = min(target.align(prompt), len(prompt) - 1)
        try:
            target.prefill(prompt, len(prompt) - 1, self.is_cancelled)
        except Cancelled:
            self.answer.finish_reason = "cancelled"
            return
        target.align(prompt[:-1])
        target.cache.evaluate()
        release_unused_memory()
        yield Prefilled(len(prompt), reused, self.at() - began, self.at())

    def cancel_if_asked(self) -> bool:
        """Once a round: whether the answer is over, by a cancel too."""
        if len(self.tokens) - self._cleared_at >= _CLEAR_EVERY:
            self._cleared_at = len(self.tokens)
            release_unused_memory()
        if not self.is_over and self.is_cancelled():
            self.answer.finish_reason = "cancelled"
        return self.is_over

    def finished(self) -> Finished:
        return Finished(
            self.answer.finish_reason or "cancelled",
            self.at(),
            self.answer.trailing_text(),
            peak_memory_bytes(),
        )

"""PassBench: passes of both models of a pair, timed as the loops run them, at any context."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..backend import mx
from ..forward import Cancelled, ModelRunner, never
from ..loaded import LoadedModel
from ..session import Session

__all__ = ["BULK", "PassBench"]

BULK, _SMALL_BULK = 256, 32  # tokens that are read at once; where a step must not take long
_CHAIN = 4  # passes in a row that are timed together


class PassBench:
    """Both models with caches of their own, filled to one context length.

    Args:
        clock: seconds.
        is_cancelled: asked before every pass.
        longest_step: seconds that reading in bulk may take at once.

    Raises:
        Cancelled: by any of its methods.
    """

    def __init__(
        self,
        session: Session,
        clock: Callable[[], float],
        is_cancelled: Callable[[], bool] = never,
        longest_step: float = math.inf,
    ) -> None:
        def runner(model: LoadedModel) -> ModelRunner:
            return ModelRunner(
                model, kv_bits=session.kv_bits, kv_group_size=session.kv_group_size, clock=clock
            )

        draft = session.pair.draft
        self._clock = clock
        self._is_cancelled = is_cancelled
        self._longest_step = longest_step
        self._bulks: dict[ModelRunner, int] = {}
        self.target = runner(session.pair.target)
        self.draft = None if draft is None else runner(draft)
        self.context = 0

    def fill(self, context: int) -> None:
        """Go to a context length."""
        self._go_on()
        for model in (self.target, self.draft):
            if model is not None:
                model.drop()
                mx.eval(model.extend([0]))
                model.cache.fill_to(context)
        self.context = context

    def passes(self, model: ModelRunner, rows: int) -> float:
        """Seconds of a pass over ``rows`` rows, in a chain of passes each made of the one before.

        As in the plain loop, a pass is queued before the one ahead of it is waited for.
        """
        tokens = mx.zeros((rows,), dtype=mx.int32)
        mx.eval(tokens)
        began, ahead = self._clock(), None
        for _ in range(_CHAIN):
            self._go_on()
            logits = model.extend([], tokens)
            tokens = mx.broadcast_to(mx.argmax(logits[-1:], axis=-1), (rows,)).astype(mx.int32)
            mx.async_eval(tokens)
            if ahead is not None:
                mx.eval(ahead)
            ahead = tokens
        mx.eval(tokens)
        seconds = (self._clock() - began) / _CHAIN
        model.cache.truncate_to(self.context)
        return seconds

    def reading(self, model: ModelRunner) -> float:
        """Seconds a token of reading many at once, without the head."""
        if model not in self._bulks:
            self._bulks[model] = self._bulk(model)
        count = self._bulks[model]
        return self._read(model, count) / count

    def _bulk(self, model: ModelRunner) -> int:
        """As many tokens as a step may take, at most BULK."""
        if self._longest_step == math.inf:
            return BULK
        count = _SMALL_BULK
        while count < BULK:
            seconds = min(self._read(model, count) for _ in range(2))  # the first one compiles
            if 2 * seconds > self._longest_step:
                break
            count *= 2
        return count

    def _read(self, model: ModelRunner, count: int) -> float:
        self._go_on()
        began = self._clock()
        model.extend([], mx.zeros((count,), dtype=mx.int32))
        model.cache.evaluate()
        seconds = self._clock() - began
        model.cache.truncate_to(self.context)
        return seconds

    def _go_on(self) -> None:
        if self._is_cancelled():
            raise Cancelled

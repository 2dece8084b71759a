"""DraftModelProposer: a small model guesses one token after another, all on the device."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..backend import mx
from ..distributions import History, scaled_scores, softmax
from ..draws import draw_by_cdf
from ..forward import ModelRunner, common_prefix, never
from ..noise import Noise, uploaded
from ..proposal import Glance, Proposal
from ..request import GenerateRequest, SamplingParams

__all__ = ["DraftModelProposer"]

_LAZY_PREFILL = 8  # owed rows that ride in the first draft pass; more are read without the head


_Draw = Callable[[int, mx.array, mx.array], mx.array]
"""From the step, its scores and its law [1, width] each to the guess [1]."""


class DraftModelProposer:
    """Draws each guess from the draft's own law; no device read between its passes.

    Args:
        runner: the draft with its cache; ids beyond its vocabulary are never proposed.
        clock: seconds, for the line "the draft read the prompt".
        reports_shape: also report how sure each law was, for a lookahead policy that asks.
    """

    def __init__(
        self,
        runner: ModelRunner,
        clock: Callable[[], float] = time.perf_counter,
        reports_shape: bool = False,
    ) -> None:
        self.runner = runner
        self.reports_shape = reports_shape
        self.name = runner.loaded.name
        self._clock = clock
        self._params = SamplingParams()
        self._rule = "rejection"
        self._width = runner.loaded.vocab_width
        self._is_cancelled: Callable[[], bool] = never
        self._context: list[int] | None = None

    def begin(
        self, request: GenerateRequest, width: int, is_cancelled: Callable[[], bool] = never
    ) -> None:
        self._is_cancelled = is_cancelled
        self._params = request.drafting_params
        self._rule = request.rule
        self._width = width
        self.runner.align(request.prompt_tokens)

    def owed(self, context: list[int]) -> int:
        if context is self._context:  # what was read of it is a prefix of it ever since
            return len(context) - self.runner.length
        return len(context) - common_prefix(self.runner.read, context)

    def glance(self, context: list[int]) -> Glance:
        limit = self.runner.loaded.context_length
        if limit is not None and len(context) >= limit:
            return Glance(note=f"not drafting: the draft's context of {limit} is full")
        return Glance()

    def propose(
        self, context: list[int], lookahead: int, noise: Noise, round_index: int
    ) -> Proposal:
        limit = self.runner.loaded.context_length
        if limit is not None and len(context) + lookahead > limit:
            lookahead = limit - len(context)
        if lookahead <= 0:
            return Proposal.nothing(self.glance(context).note)
        self._context = context
        started = self._clock()
        owed = len(context) - self.runner.length
        read = self._read_owed(context)
        prefill_seconds = self._clock() - started if owed > _LAZY_PREFILL else 0.0
        known = context[self.runner.length :]
        read += len(known) + lookahead - 1
        draw = self._drawer(len(context), lookahead, noise, round_index)
        tokens, scores, probs = self._guess(context, known, lookahead, draw)
        top, entropies = _shape(scores, probs) if self.reports_shape else (None, None)
        return Proposal(
            tokens,
            lookahead,
            probs,
            top,
            entropies,
            tokens_read=read,
            prefill_seconds=prefill_seconds,
        )

    def commit(self, context: list[int], valid: int) -> None:
        self.runner.commit(context, valid)

    def rollback(self) -> None:
        self._context = None
        self.runner.rollback()

    def close(self) -> None:
        self._context = None
        self.runner.drop()

    def _read_owed(self, context: list[int]) -> int:
        owed = len(context) - self.runner.length
        if owed <= _LAZY_PREFILL:
            return 0
        fed = self.runner.prefill(context, len(context) - 1, self._is_cancelled)
        self.runner.cache.evaluate()  # so that what it costs is measured, on a line of its own
        return fed

    def _drawer(self, position: int, lookahead: int, noise: Noise, round_index: int) -> _Draw:
        """How a guess is made of its scores, by the temperature and the rule."""
        if self._params.is_greedy:
            return lambda step, scores, law: mx.argmax(scores, axis=-1)
        if self._rule == "coupled":
            shared = noise.token_rows(position, lookahead, self._width)
            return lambda step, scores, law: mx.argmax(scores + shared[step], axis=-1)
        uniforms = uploaded(noise.round(round_index).draft(lookahead))
        return lambda step, scores, law: draw_by_cdf(law, uniforms[step : step + 1])

    def _guess(
        self, context: list[int], known: list[int], lookahead: int, draw: _Draw
    ) -> tuple[mx.array, mx.array, mx.array]:
        """Guesses [lookahead], the scores they were made of and their laws [lookahead, width].

        At temperature 0 a law is the softmax at 1, shown beside the guess.
        """
        tokens: list[mx.array] = []
        rows: list[mx.array] = []
        laws: list[mx.array] = []
        for step in range(lookahead):
            scores = self._scores(context, known, tokens)
            law = softmax(scores)
            tokens.append(draw(step, scores, law).astype(mx.int32))
            rows.append(scores)
            laws.append(law)
            mx.async_eval(tokens[-1])  # the device guesses while the host builds on
        return mx.concatenate(tokens), mx.concatenate(rows), mx.concatenate(laws)

    def _scores(self, context: list[int], known: list[int], tokens: list[mx.array]) -> mx.array:
        """What the next guess is made on: [1, width]."""
        row = self._row(known, tokens)
        return scaled_scores(row, self._params, self._history(context, tokens), self._width)

    def _row(self, known: list[int], tokens: list[mx.array]) -> mx.array:
        """The draft's logits after what is owed, or after its own last guess: [1, vocab_width]."""
        logits = self.runner.extend([], tokens[-1]) if tokens else self.runner.extend(known)
        return logits[-1:]

    def _history(self, context: list[int], tokens: list[mx.array]) -> History:
        if not self._params.has_penalties or not tokens:
            return History(context)
        return History(context, mx.concatenate(tokens), first=len(tokens))


def _shape(scores: mx.array, probs: mx.array) -> tuple[mx.array, mx.array]:
    """The largest probability and the entropy (in nats) of each law [rows, width]: [rows] each.

    log-probability = score + (that of the largest - the largest score), without another pass.
    """
    top = mx.max(probs, axis=-1)
    shift = mx.log(top) - mx.max(scores, axis=-1)
    mean_score = mx.sum(mx.where(probs > 0, probs * scores, 0.0), axis=-1)
    return top, -(mean_score + shift)

"""DraftModelProposer: a small model guesses one token after another, all on the device."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..backend import mx
from ..distributions import History, log_softmax, scaled_scores
from ..draws import draw_by_cdf
from ..forward import ModelRunner, never
from ..noise import Noise, uploaded
from ..proposal import Proposal
from ..request import GenerateRequest, SamplingParams

__all__ = ["DraftModelProposer"]

_LAZY_PREFILL = 8  # owed rows that ride in the first draft pass; more are read without the head


class DraftModelProposer:
    """Draws each guess from the draft's own law; no device read between its passes.

    Args:
        runner: the draft with its cache; ids beyond its vocabulary are never proposed.
        clock: seconds, for the line "the draft read the prompt".
    """

    def __init__(self, runner: ModelRunner, clock: Callable[[], float] = time.perf_counter) -> None:
        self.runner = runner
        self.name = runner.loaded.name
        self._clock = clock
        self._params = SamplingParams()
        self._rule = "rejection"
        self._width = runner.loaded.vocab_width
        self._is_cancelled: Callable[[], bool] = never

    def begin(
        self, request: GenerateRequest, width: int, is_cancelled: Callable[[], bool] = never
    ) -> None:
        self._is_cancelled = is_cancelled
        self._params = request.drafting_params
        self._rule = request.rule
        self._width = width
        self.runner.align(request.prompt_tokens)

    def propose(
        self, context: list[int], lookahead: int, noise: Noise, round_index: int
    ) -> Proposal:
        limit = self.runner.loaded.context_length
        if limit is not None and len(context) + lookahead > limit:
            lookahead = limit - len(context)
        if lookahead <= 0:
            if limit is not None and len(context) >= limit:
                return Proposal.nothing(f"not drafting: the draft's context of {limit} is full")
            return Proposal.nothing("")
        started = self._clock()
        owed = len(context) - self.runner.length
        read = self._read_owed(context)
        prefill_seconds = self._clock() - started if owed > _LAZY_PREFILL else 0.0
        known = context[self.runner.length :]
        read += len(known) + lookahead - 1
        if self._params.is_greedy:
            proposal = self._guess_greedily(context, known, lookahead)
        else:
            proposal = self._guess(context, known, lookahead, noise, round_index)
        tokens, laws = proposal
        return Proposal(
            tokens,
            lookahead,
            laws,
            mx.exp(mx.max(laws, axis=-1)),
            -mx.sum(mx.where(laws > -mx.inf, mx.exp(laws) * laws, 0.0), axis=-1),
            tokens_read=read,
            prefill_seconds=prefill_seconds,
        )

    def commit(self, context: list[int], valid: int) -> None:
        self.runner.commit(context, valid)

    def rollback(self) -> None:
        self.runner.rollback()

    def close(self) -> None:
        self.runner.drop()

    def _read_owed(self, context: list[int]) -> int:
        owed = len(context) - self.runner.length
        if owed <= _LAZY_PREFILL:
            return 0
        fed = self.runner.prefill(context, len(context) - 1, self._is_cancelled)
        self.runner.cache.evaluate()  # so that what it costs is measured, on a line of its own
        return fed

    def _guess_greedily(
        self, context: list[int], known: list[int], lookahead: int
    ) -> tuple[mx.array, mx.array]:
        """Arg-max guesses [lookahead] and the laws at temperature 1 shown beside them."""
        tokens: list[mx.array] = []
        rows: list[mx.array] = []
        for _ in range(lookahead):
            row = self._row(known, tokens)
            history = self._history(context, tokens)
            scores = scaled_scores(row, self._params, history, self._width)
            tokens.append(mx.argmax(scores, axis=-1).astype(mx.int32))
            rows.append(scores)
            mx.async_eval(tokens[-1])  # the device guesses while the host builds on
        return mx.concatenate(tokens), log_softmax(mx.concatenate(rows))

    def _guess(
        self,
        context: list[int],
        known: list[int],
        lookahead: int,
        noise: Noise,
        round_index: int,
    ) -> tuple[mx.array, mx.array]:
        """Drawn guesses [lookahead] and the log of the laws they were drawn from."""
        coupled = self._rule == "coupled"
        uniforms = uploaded([] if coupled else noise.round(round_index).draft(lookahead))
        tokens: list[mx.array] = []
        laws: list[mx.array] = []
        for step in range(lookahead):
            row = self._row(known, tokens)
            history = self._history(context, tokens)
            scores = scaled_scores(row, self._params, history, self._width)
            law = log_softmax(scores)
            if coupled:
                shared = noise.token_rows(len(context) + step, 1, self._width)
                token = mx.argmax(scores + shared, axis=-1)
            else:
                token = draw_by_cdf(mx.exp(law), uniforms[step : step + 1])
            tokens.append(token.astype(mx.int32))
            laws.append(law)
            mx.async_eval(tokens[-1])  # the device guesses while the host builds on
        return mx.concatenate(tokens), mx.concatenate(laws)

    def _row(self, known: list[int], tokens: list[mx.array]) -> mx.array:
        """The draft's logits after what is owed, or after its own last guess: [1, vocab_width]."""
        logits = self.runner.extend([], tokens[-1]) if tokens else self.runner.extend(known)
        return logits[-1:]

    def _history(self, context: list[int], tokens: list[mx.array]) -> History:
        if not self._params.has_penalties or not tokens:
            return History(context)
        return History(context, mx.concatenate(tokens), first=len(tokens))

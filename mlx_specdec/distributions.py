"""Logits + SamplingParams + history -> explicit laws, in mlx-lm's order.

Order: logit bias, repetition, presence, frequency (each over its own window of the tokens before
the row), log-softmax in float32, top-p, min-p, top-k, then temperature. A law's width is the
target tokenizer's, whatever the models' heads are padded to, and never depends on the draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .backend import backend_name, mx
from .filters import filtered
from .request import SamplingParams

__all__ = [
    "History",
    "adjusted_logits",
    "fitted",
    "log_probs",
    "log_softmax",
    "probs",
    "scaled_scores",
    "softmax",
]

_WIDE = 16_384
_SUM_BLOCK = 64
_TINY_TEMPERATURE = 1e-2  # below it scores / temperature could overflow


@dataclass(frozen=True)
class History:
    """The tokens before each row: the known ones, then row i sees ``drafted[: first + i]`` too."""

    known: Sequence[int]
    drafted: mx.array | None = None
    first: int = 0

    def window(self, size: int, rows: int) -> tuple[mx.array, mx.array]:
        """The last ``size`` tokens before each row.

        Returns:
            (tokens int32 [rows, size], valid float32 [rows, size]): slots before the first token
            are marked 0 in ``valid``.
        """
        have = 0 if self.drafted is None else self.drafted.shape[0]
        if have < self.first + rows - 1:  # MLX would gather past the end without a word
            raise ValueError(f"{rows} rows from {self.first} need more than {have} drafted tokens")
        tail = list(self.known[-size:])
        padding = size - len(tail)
        line = mx.array([0] * padding + tail, dtype=mx.int32)
        if self.drafted is not None:
            line = mx.concatenate([line, self.drafted.astype(mx.int32)])
        slots = (mx.arange(rows) + self.first)[:, None] + mx.arange(size)[None, :]
        return line[slots], (slots >= padding).astype(mx.float32)

    def counts(self, size: int, rows: int, width: int) -> mx.array:
        """How often each token stands in each row's window: float32 [rows, width]."""
        tokens, valid = self.window(size, rows)
        places = mx.broadcast_to(mx.arange(rows)[:, None], tokens.shape)
        return mx.zeros((rows, width)).at[places, tokens].add(valid)


def fitted(logits: mx.array, width: int) -> mx.array:
    """Logits [rows, any] in float32 at the law's width: padding cut off, lacking ids at -inf."""
    have = logits.shape[-1]
    if have > width:
        logits = logits[:, :width]
    logits = logits.astype(mx.float32)
    if have < width:
        lacking = mx.full((logits.shape[0], width - have), -mx.inf, dtype=mx.float32)
        logits = mx.concatenate([logits, lacking], axis=-1)
    return logits


def adjusted_logits(
    logits: mx.array, params: SamplingParams, history: History, width: int
) -> mx.array:
    """Logits after bias and penalties: float32 [rows, width]."""
    scores = fitted(logits, width)
    rows = scores.shape[0]
    bias = [(token, value) for token, value in params.logit_bias if token < width]
    if bias:
        ids = mx.array([token for token, _ in bias], dtype=mx.int32)
        scores = scores.at[:, ids].add(mx.array([value for _, value in bias]))
    penalty = params.repetition_penalty
    if penalty not in (0.0, 1.0):
        seen = history.counts(params.repetition_context_size, rows, width) > 0
        punished = mx.where(scores < 0, scores * penalty, scores / penalty)
        scores = mx.where(seen, punished, scores)
    if params.presence_penalty != 0:
        seen = history.counts(params.presence_context_size, rows, width) > 0
        scores = mx.where(seen, scores - params.presence_penalty, scores)
    if params.frequency_penalty != 0:
        counts = history.counts(params.frequency_context_size, rows, width)
        scores = mx.where(counts > 0, scores - params.frequency_penalty * counts, scores)
    return scores


def log_softmax(scores: mx.array) -> mx.array:
    """Log-probabilities [rows, width] of scores [rows, width], in float32."""
    return scores - _log_total(scores)


def softmax(scores: mx.array) -> mx.array:
    """Probabilities [rows, width] of scores [rows, width], in float32; one pass where it can."""
    if scores.shape[-1] < _WIDE or backend_name() != "cpu":
        return mx.softmax(scores, axis=-1, precise=True)
    return mx.exp(log_softmax(scores))


def _log_total(scores: mx.array) -> mx.array:
    """logsumexp of each row: [rows, 1].

    MLX's CPU backend adds a row one number after the other; over 150,000 entries the sum is then
    off by up to 2e-4. There wide rows are added in blocks.
    """
    rows, width = scores.shape
    if width < _WIDE or backend_name() != "cpu":
        return mx.logsumexp(scores, axis=-1, keepdims=True)
    short = -width % _SUM_BLOCK
    if short:
        scores = mx.concatenate([scores, mx.full((rows, short), -mx.inf)], axis=-1)
    blocks = mx.logsumexp(scores.reshape(rows, -1, _SUM_BLOCK), axis=-1)
    return mx.logsumexp(blocks, axis=-1, keepdims=True)


def scaled_scores(
    logits: mx.array, params: SamplingParams, history: History, width: int
) -> mx.array:
    """Scores [rows, width] that a choice is made on, not normalised.

    At a temperature their softmax is the law sampled from; at temperature 0 they are the logits
    after bias and penalties, to take the arg-max of. Plain decoding and the coupled rule add
    noise to these very numbers, so that rounding cannot tell them apart.
    """
    scores = adjusted_logits(logits, params, history, width)
    if params.is_greedy:
        return scores
    if params.has_filters:
        scores = filtered(log_softmax(scores), params.top_p, params.min_p, params.top_k)
    if params.temperature == 1:
        return scores
    if params.temperature < _TINY_TEMPERATURE:
        # From the top down: it overflows to -inf below the best score, never at it.
        scores = scores - mx.max(scores, axis=-1, keepdims=True)
    return scores * (1.0 / params.temperature)


def log_probs(logits: mx.array, params: SamplingParams, history: History, width: int) -> mx.array:
    """The log of the law sampled from: float32 [rows, width], normalised.

    At temperature 0 it is the law at temperature 1 without filters: what is shown beside an
    arg-max choice.
    """
    return log_softmax(scaled_scores(logits, params, history, width))


def probs(logits: mx.array, params: SamplingParams, history: History, width: int) -> mx.array:
    """The law sampled from: float32 [rows, width], rows sum to 1; one-hot at temperature 0."""
    if params.is_greedy:
        best = mx.argmax(adjusted_logits(logits, params, history, width), axis=-1, keepdims=True)
        return (mx.arange(width)[None, :] == best).astype(mx.float32)
    return softmax(scaled_scores(logits, params, history, width))

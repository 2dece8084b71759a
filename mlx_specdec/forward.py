"""ModelRunner: a model with its cache; the only place that calls a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from .backend import mx
from .cache import RewindableCache
from .loaded import LoadedModel

__all__ = ["Cancelled", "ModelRunner", "common_prefix", "never"]

FIRST_CHUNK = 256
LARGEST_CHUNK = 2048
_LONG_CHUNK_SECONDS = 0.5  # above it the next chunk is smaller: a cancel waits for one chunk


class Cancelled(Exception):
    """The reader wants no more; raised between prefill chunks and handled by the decoder."""


def never() -> bool:
    """The cancel question of somebody who does not cancel."""
    return False


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """How many leading tokens two sequences share."""
    limit = min(len(first), len(second))
    if first[:limit] == second[:limit]:  # the usual case, at the speed of C
        return limit
    for i in range(limit):
        if first[i] != second[i]:
            return i
    return limit


class ModelRunner:
    """One model, its cache and what was read into it.

    ``read`` mirrors the cache: the tokens it holds, in order. Feed what is owed: the next pass
    feeds ``tokens[length:]``, whatever that is.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        *,
        kv_bits: int | None = None,
        kv_group_size: int = 64,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.loaded = loaded
        self.cache = RewindableCache(loaded.model, loaded.name, kv_bits, kv_group_size)
        self.passes = 0
        self._clock = clock
        self._chunk = FIRST_CHUNK
        self._read: list[int] = []

    @property
    def length(self) -> int:
        return self.cache.length

    @property
    def read(self) -> list[int]:
        """The tokens held, in order; rows whose ids are still on the device are not among them."""
        return self._read

    def align(self, tokens: Sequence[int]) -> int:
        """Keep only what is a prefix of ``tokens``; rows that were never committed go.

        Returns:
            tokens held.
        """
        held = common_prefix(self._read, tokens)
        self.cache.truncate_to(held)
        del self._read[self.cache.length :]
        return len(self._read)

    def commit(self, tokens: Sequence[int], valid: int) -> None:
        """Say what the rows fed from the device were: the first ``valid`` rows are ``tokens``'.

        Everything beyond ``valid`` or beyond ``tokens`` is taken back.
        """
        self.cache.truncate_to(min(valid, len(tokens)))
        length = self.cache.length
        del self._read[length:]
        self._read.extend(tokens[len(self._read) : length])

    def rollback(self) -> None:
        """Forget rows that were fed and never committed."""
        self.cache.truncate_to(len(self._read))

    def drop(self) -> None:
        self.cache.drop()
        self._read = []

    def prefill(
        self, tokens: Sequence[int], up_to: int, is_cancelled: Callable[[], bool] = never
    ) -> int:
        """Read ``tokens[length:up_to]`` in chunks; the head is never computed.

        Returns:
            tokens fed.

        Raises:
            Cancelled: asked for between two chunks; what was read stays and is accounted for.
        """
        fed = 0
        while self.cache.length < up_to:
            if is_cancelled():
                raise Cancelled
            begin = self.cache.length
            chunk = list(tokens[begin : min(begin + self._chunk, up_to)])
            started = self._clock()
            self._call(self._uploaded(chunk))
            self._read.extend(chunk)
            fed += len(chunk)
            if self.cache.length < up_to or len(chunk) > 64:
                self.cache.evaluate()
                self._adapt(len(chunk), self._clock() - started)
        return fed

    def _adapt(self, fed: int, seconds: float) -> None:
        if seconds > _LONG_CHUNK_SECONDS:
            self._chunk = max(32, self._chunk // 2)
        elif fed == self._chunk and seconds < _LONG_CHUNK_SECONDS / 2:
            self._chunk = min(LARGEST_CHUNK, self._chunk * 2)

    def extend(self, known: Sequence[int], device: mx.array | None = None) -> mx.array:
        """Feed known tokens, then ids still on the device; one pass.

        Args:
            known: host ids, may be empty when ``device`` is not.
            device: int32 [n] or None.

        Returns:
            logits of every row fed: [rows, vocab_width], lazy.
        """
        if device is None:
            ids = self._uploaded(known)
        elif known:
            ids = mx.concatenate([self._uploaded(known), device])
        else:
            ids = device
        if len(self._read) == self.cache.length:
            self._read.extend(known)  # else unread rows lie between; commit will name them
        return self._call(ids)[0]

    def _uploaded(self, tokens: Sequence[int]) -> mx.array:
        """Host ids as int32 [n]. An id that this model lacks becomes its last one: MLX reads
        beyond an embedding without a word."""
        last = self.loaded.vocab_width - 1
        return mx.array([min(token, last) for token in tokens], dtype=mx.int32)

    def _call(self, ids: mx.array) -> mx.array:
        self.passes += 1
        return self.loaded.model(ids[None], cache=self.cache.layers)

"""Keyed noise: what is random in a generation, as a pure function of the seed and a place.

``coupled`` and plain decoding key by (seed, index of the token being sampled), so the text does
not depend on how it was drafted. ``rejection`` and ``block`` key by (seed, round, stream): keyed
by position they would be biased, since a rejected position is drawn again.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Protocol

from .backend import mx
from .draws import gumbel

__all__ = ["KeyedNoise", "Noise", "RoundNoise", "uploaded"]

_BLOCK = 8  # positions whose noise is made together
_COIN_BITS = 23  # one less than float32 holds: total * uniform stays below total


class RoundNoise(Protocol):
    """The independent uniforms of one round, each in [0, 1)."""

    def draft(self, count: int) -> list[float]: ...
    def coins(self, count: int) -> list[float]: ...
    def residual(self) -> float: ...


class Noise(Protocol):
    """Everything random in one generation."""

    def token_rows(self, first: int, count: int, width: int) -> mx.array: ...
    def round(self, index: int) -> RoundNoise: ...


def _digest(seed: int, stream: str, index: int, block: int) -> bytes:
    packed = struct.pack("<QQQ", seed, index, block)
    return hashlib.blake2b(packed, digest_size=64, person=stream.encode()[:16]).digest()


def _uniforms(seed: int, stream: str, index: int, count: int) -> list[float]:
    values: list[float] = []
    block = 0
    while len(values) < count:
        words = struct.unpack("<8Q", _digest(seed, stream, index, block))
        values.extend((word >> (64 - _COIN_BITS)) / 2**_COIN_BITS for word in words)
        block += 1
    return values[:count]


class _KeyedRound:
    def __init__(self, seed: int, index: int) -> None:
        self._seed = seed
        self._index = index

    def draft(self, count: int) -> list[float]:
        return _uniforms(self._seed, "draft", self._index, count)

    def coins(self, count: int) -> list[float]:
        return _uniforms(self._seed, "coin", self._index, count)

    def residual(self) -> float:
        return _uniforms(self._seed, "residual", self._index, 1)[0]


class KeyedNoise:
    """The product's noise: one Gumbel vector a position, computed once and shared.

    Vectors are made a block of positions at a time, since on a small model the cost of starting
    the operations is more than their work.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._blocks: dict[int, mx.array] = {}

    def token_rows(self, first: int, count: int, width: int) -> mx.array:
        """Standard Gumbel noise float32 [count, width] of the tokens from ``first`` on."""
        block, row = divmod(first, _BLOCK)
        last = (first + count - 1) // _BLOCK
        if block == last:
            return self._block(block, width)[row : row + count]
        parts = mx.concatenate([self._block(b, width) for b in range(block, last + 1)])
        return parts[row : row + count]

    def _block(self, index: int, width: int) -> mx.array:
        vectors = self._blocks.get(index)
        if vectors is None or vectors.shape[1] != width:
            first, second = struct.unpack("<II", _digest(self.seed, "token", index, 0)[:8])
            vectors = gumbel(mx.array([first, second], dtype=mx.uint32), (_BLOCK, width))
            self._blocks[index] = vectors
            for old in [key for key in self._blocks if key < index - 1]:
                del self._blocks[old]  # decoding moves on; a round reaches into two blocks
        return vectors

    def round(self, index: int) -> RoundNoise:
        return _KeyedRound(self.seed, index)


def uploaded(values: Sequence[float]) -> mx.array:
    """Host numbers as a float32 array (one small upload)."""
    return mx.array(list(values), dtype=mx.float32)

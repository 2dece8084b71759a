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

__all__ = ["KeyedNoise", "Noise", "RoundNoise", "stack_rows", "uploaded"]

_COIN_BITS = 23  # one less than float32 holds: total * uniform stays below total


class RoundNoise(Protocol):
    """The independent uniforms of one round, each in [0, 1)."""

    def draft(self, count: int) -> list[float]: ...
    def coins(self, count: int) -> list[float]: ...
    def residual(self) -> float: ...


class Noise(Protocol):
    """Everything random in one generation."""

    def token_gumbel(self, position: int, width: int) -> mx.array: ...
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
    """The product's noise. One Gumbel vector a position, computed once and then shared."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._vectors: dict[int, mx.array] = {}

    def token_gumbel(self, position: int, width: int) -> mx.array:
        """Standard Gumbel noise [width] of the token at ``position`` (float32)."""
        vector = self._vectors.get(position)
        if vector is None or vector.shape[0] != width:
            first, second = struct.unpack("<II", _digest(self.seed, "token", position, 0)[:8])
            vector = gumbel(mx.array([first, second], dtype=mx.uint32), (width,))
            self._vectors[position] = vector
        return vector

    def forget_before(self, position: int) -> None:
        for old in [key for key in self._vectors if key < position]:
            del self._vectors[old]

    def round(self, index: int) -> RoundNoise:
        return _KeyedRound(self.seed, index)


def stack_rows(noise: Noise, first: int, count: int, width: int) -> mx.array:
    """Gumbel rows [count, width] of any Noise, from position ``first`` on."""
    return mx.stack([noise.token_gumbel(first + i, width) for i in range(count)])


def uploaded(values: Sequence[float]) -> mx.array:
    """Host numbers as a float32 array (one small upload)."""
    return mx.array(list(values), dtype=mx.float32)

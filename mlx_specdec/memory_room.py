"""MemoryRoom: how long a conversation may grow before the machine suffers, and what to wire.

A cache that grows without a bound in wired memory can bring a whole Mac down, and a wired limit
that has nothing to do with the models freezes a small one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .backend import gpu_memory_limit_bytes, memory_bytes, set_wired_limit
from .errors import DoesNotFitError
from .loaded import Pair

__all__ = ["MemoryRoom", "wired"]

_WORKING_BYTES = 256 * 2**20  # what a pass itself needs beside weights and caches
_RESERVE_BYTES = 2 * 2**30  # what everybody else on the machine keeps
_STEP = 256  # caches grow by so many tokens at a time


@dataclass(frozen=True, slots=True)
class MemoryRoom:
    """Bytes of a loaded pair.

    Args:
        weight_bytes: both models, once if they are the same.
        kv_bytes_per_token: both caches.
        limit_bytes: what models and caches may take together on this machine.
        physical_bytes: the machine's memory.
    """

    weight_bytes: int
    kv_bytes_per_token: int
    limit_bytes: int
    physical_bytes: int

    @classmethod
    def of(cls, pair: Pair) -> MemoryRoom:
        models = [pair.target] + ([] if pair.draft is None else [pair.draft])
        distinct = {id(model): model for model in models}.values()
        return cls(
            sum(model.weight_bytes for model in distinct),
            sum(model.kv_bytes_per_token for model in models),
            gpu_memory_limit_bytes(),
            memory_bytes(),
        )

    def tokens(self) -> int | None:
        """Tokens that both caches can hold; None when a token's bytes are not known.

        Raises:
            DoesNotFitError: the weights alone take all there is.
        """
        if self.kv_bytes_per_token == 0:
            return None
        left = self.limit_bytes - self.weight_bytes - _WORKING_BYTES
        room = left // self.kv_bytes_per_token // _STEP * _STEP
        if room <= 0:
            raise DoesNotFitError(
                f"The models take {self.weight_bytes / 1e9:.1f} GB, and this machine gives them "
                f"{self.limit_bytes / 1e9:.1f} GB with what a pass needs.",
                "Take a smaller target (`mlx-specdec models --fits`), or --draft none.",
            )
        return room

    def bytes_at(self, context: int) -> int:
        """Bytes of weights and caches with ``context`` tokens."""
        return self.weight_bytes + _WORKING_BYTES + context * self.kv_bytes_per_token

    def wired_bytes(self, context: int) -> int:
        """The wired limit to ask for: models and caches of this context, never the reserve."""
        most = min(self.limit_bytes, max(self.physical_bytes - _RESERVE_BYTES, 0))
        return min(self.bytes_at(context), most)


@contextmanager
def wired(room: MemoryRoom, context: int) -> Iterator[int]:
    """Keep the models in memory for as long as the block runs; the old limit comes back after."""
    asked = room.wired_bytes(context)
    before = set_wired_limit(asked)
    try:
        yield asked
    finally:
        set_wired_limit(before)

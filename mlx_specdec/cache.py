"""RewindableCache: what a model has read, and taking tokens back. The only user of mlx-lm's caches.

What a cache holds is always a prefix of prompt + emitted, or of what is being checked right now.
"""

from __future__ import annotations

from typing import Any

from .backend import mx, tree_flatten
from .errors import CacheNotRewindableError, GenerationError

__all__ = ["RewindableCache"]

_REWINDABLE = ("KVCache", "QuantizedKVCache")
"""Classes of mlx-lm whose ``trim`` takes entries back exactly. Others say yes and do not (a full
rotating cache, a concatenating one), or cannot (a recurrent state)."""


class RewindableCache:
    """The layers' caches of one model, as one thing with a length.

    Args:
        model: an mlx-lm model.
        name: how to call it in an error.
        kv_bits: 2, 3, 4, 6 or 8 for a quantised cache from the first token on; None for plain.
        kv_group_size: entries per scale of a quantised cache.

    Raises:
        CacheNotRewindableError: a layer's cache cannot take tokens back; names its class.
    """

    def __init__(
        self, model: Any, name: str, kv_bits: int | None = None, kv_group_size: int = 64
    ) -> None:
        self._model = model
        self._name = name
        self._kv_bits = kv_bits
        self._kv_group_size = kv_group_size
        self._layers: list[Any] = []
        self.drop()

    def drop(self) -> None:
        """Forget everything."""
        # Imported here: mlx_lm takes over a second, and must come after the backend.
        from mlx_lm.models.cache import QuantizedKVCache, make_prompt_cache

        layers = make_prompt_cache(self._model)
        for layer in layers:
            if type(layer).__name__ not in _REWINDABLE:
                raise CacheNotRewindableError(
                    f"{self._name} keeps a {type(layer).__name__}, and what was read into it "
                    "cannot be taken back, so guesses cannot be undone.",
                    "Take a model with full attention in every layer, such as qwen3-8b.",
                )
        if self._kv_bits is not None:
            layers = [QuantizedKVCache(self._kv_group_size, self._kv_bits) for _ in layers]
        self._layers = layers

    @property
    def layers(self) -> list[Any]:
        """What the model is called with."""
        return self._layers

    @property
    def length(self) -> int:
        """Tokens held (the shortest layer's, should a failed pass have left them uneven)."""
        return min((int(layer.offset) for layer in self._layers), default=0)

    @property
    def nbytes(self) -> int:
        """Bytes allocated, unused room included."""
        return sum(int(layer.nbytes) for layer in self._layers if not layer.empty())

    def truncate_to(self, length: int) -> None:
        """Hold at most ``length`` tokens.

        Raises:
            GenerationError: the layers do not agree afterwards (the cache is dropped first).
        """
        for layer in self._layers:
            surplus = int(layer.offset) - length
            if surplus > 0:
                layer.trim(surplus)
        if len({int(layer.offset) for layer in self._layers}) > 1:
            self.drop()
            raise GenerationError(
                f"The layers of {self._name}'s cache do not agree on what was read.",
                "Ask again: the conversation will be read anew.",
            )

    def fill_to(self, length: int) -> None:
        """Hold ``length`` tokens of zeros behind what is there: a context to time passes at.

        Raises:
            ValueError: nothing was read yet, so that the shape of an entry is not known.
        """
        for layer in self._layers:
            missing = length - int(layer.offset)
            if missing <= 0:
                continue
            if layer.empty():
                raise ValueError("read a token first")
            keys, values = (self._zeros(each, missing) for each in (layer.keys, layer.values))
            layer.update_and_fetch(keys, values)
        self.evaluate()

    def _zeros(self, held: Any, count: int) -> mx.array:
        """Keys or values [1, heads, count, width] of nothing, in the dtype of ``held``."""
        if isinstance(held, mx.array):
            return mx.zeros((*held.shape[:2], count, held.shape[3]), dtype=held.dtype)
        packed, scales, *_ = held  # quantised: 32-bit words of kv_bits each, scales
        width = packed.shape[3] * 32 // (self._kv_bits or 8)
        return mx.zeros((*packed.shape[:2], count, width), dtype=scales.dtype)

    def evaluate(self) -> None:
        """Wait until everything read so far is in memory."""
        mx.eval([array for layer in self._layers for _, array in tree_flatten(self._arrays(layer))])

    @staticmethod
    def _arrays(layer: Any) -> list[Any]:
        return [] if layer.empty() else [layer.keys, layer.values]

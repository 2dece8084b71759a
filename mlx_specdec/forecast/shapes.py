"""Layers of a model's own shapes with random weights: what its passes cost before any download.

A few layers and the head are enough: a pass is the head and the depth times one layer. Products
do not care what the weights are, only how they are stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..backend import mx
from ..model_spec import ModelSpec
from .weight_formats import AFFINE_4, WeightFormat

__all__ = ["ShapeTimer", "is_supported", "seconds_per_weight"]

Matrix = Callable[[mx.array], mx.array]

_EPS = 1e-6
_SCALE = 0.02
# A scale of about 2 ** -6 in the formats whose scales are bytes: e8m0 (bias 127), e4m3.
_BYTE_SCALES = {"mxfp4": 121, "mxfp8": 121, "nvfp4": 0x08}
_LEAST_OUTPUTS = 8
_PROBE = (256, 2048)
_EMPTY_REPEATS = 5


class _Product:
    """A matrix [outputs, inputs] in a format; with ``share`` only that part of the outputs is
    computed, and the rest is filled with zeros, which costs nothing beside it."""

    def __init__(
        self, outputs: int, inputs: int, weights: WeightFormat, dtype: mx.Dtype, share: float = 1.0
    ) -> None:
        self.outputs = outputs
        self.inputs = inputs
        self.computed = outputs if share >= 1 else max(_LEAST_OUTPUTS, round(outputs * share))
        self.weights = weights
        self.arrays = _random_weights((self.computed, inputs), weights, dtype)

    def __call__(self, x: mx.array) -> mx.array:
        result = _multiply(x, self.arrays, self.weights)
        missing = self.outputs - self.computed
        return mx.pad(result, [(0, 0), (0, missing)]) if missing else result


def _random_weights(
    shape: tuple[int, ...], weights: WeightFormat, dtype: mx.Dtype
) -> tuple[mx.array, ...]:
    *outer, outputs, inputs = shape
    if weights.mode == "dense":
        # Laid out as the loader does it on a CPU: a product over several rows reads it row by row.
        arrays = [
            mx.contiguous((mx.random.uniform(shape=(*outer, inputs, outputs)) - 0.5) * _SCALE)
        ]
        arrays = [arrays[0].astype(dtype)]
    else:
        packed = (*outer, outputs, inputs * weights.bits // 32)
        arrays = [mx.random.randint(0, 2**31 - 1, packed, dtype=mx.uint32)]
        groups = (*outer, outputs, inputs // weights.group_size)
        if weights.mode == "affine":
            span = _SCALE / 2**weights.bits
            arrays += [mx.full(groups, span, dtype), mx.full(groups, -_SCALE / 2, dtype)]
        else:
            arrays.append(mx.full(groups, _BYTE_SCALES[weights.mode], mx.uint8))
    mx.eval(arrays)
    return tuple(arrays)


def _multiply(
    x: mx.array, arrays: tuple[mx.array, ...], weights: WeightFormat, experts: Any = None
) -> mx.array:
    if weights.mode == "dense":
        if experts is not None:
            return mx.gather_mm(x, arrays[0], rhs_indices=experts)
        return x @ arrays[0]
    packed, scales = arrays[0], arrays[1]
    biases = arrays[2] if len(arrays) > 2 else None
    how: dict[str, Any] = {"group_size": weights.group_size, "bits": weights.bits}
    if experts is not None:
        return mx.gather_qmm(
            x, packed, scales, biases, rhs_indices=experts, mode=weights.mode, **how
        )
    return mx.quantized_matmul(x, packed, scales, biases, mode=weights.mode, **how)


class _Experts:
    """A mixture of experts: each row goes through ``experts_per_token`` of them, drawn anew."""

    def __init__(self, spec: ModelSpec, weights: WeightFormat, dtype: mx.Dtype) -> None:
        stored = AFFINE_4 if weights.mode == "dense" and dtype == mx.float32 else weights
        self.spec, self.weights = spec, stored
        self.router = _Product(spec.experts, spec.hidden_width, stored, dtype)
        wide = (spec.experts, spec.expert_width, spec.hidden_width)
        narrow = (spec.experts, spec.hidden_width, spec.expert_width)
        self.gate, self.up, self.down = (
            _random_weights(shape, stored, dtype) for shape in (wide, wide, narrow)
        )

    def __call__(self, x: mx.array) -> mx.array:
        rows, width = x.shape
        scores = self.router(x)
        # Random weights would route alike rows alike; independent draws are the dearer case.
        noise = mx.random.uniform(shape=scores.shape)
        count = self.spec.experts_per_token
        chosen = mx.argpartition(-(noise + 0 * scores), count - 1, axis=-1)[:, :count]
        spread = x.reshape(rows, 1, 1, width)
        gate = _multiply(spread, self.gate, self.weights, chosen)
        up = _multiply(spread, self.up, self.weights, chosen)
        down = _multiply(gate * mx.sigmoid(gate) * up, self.down, self.weights, chosen)
        return down.reshape(rows, count, width).sum(axis=1)


class _Layer:
    """Attention over a cache of ``context`` tokens and the feed-forward part, pre-normed."""

    def __init__(
        self, spec: ModelSpec, weights: WeightFormat, dtype: mx.Dtype, share: float, context: int
    ) -> None:
        self.spec = spec
        if spec.kind == "moe":  # experts are never cut, so neither is anything beside them
            share = 1.0
        width, query = spec.hidden_width, spec.heads * spec.head_dim
        key = spec.kv_heads * spec.head_dim
        self.query, self.key, self.value, self.out = (
            _Product(outputs, inputs, weights, dtype, share)
            for outputs, inputs in ((query, width), (key, width), (key, width), (width, query))
        )
        self.experts = _Experts(spec, weights, dtype) if spec.kind == "moe" else None
        if self.experts is None:
            self.gate, self.up, self.down = (
                _Product(outputs, inputs, weights, dtype, share)
                for outputs, inputs in (
                    (spec.mlp_width, width),
                    (spec.mlp_width, width),
                    (width, spec.mlp_width),
                )
            )
        products = [part for part in vars(self).values() if isinstance(part, _Product)]
        self.whole = _whole(products)
        self.norm = mx.ones((width,), dtype)
        self.cached = mx.random.uniform(shape=(1, spec.kv_heads, context, spec.head_dim))
        self.cached = self.cached.astype(dtype)
        mx.eval(self.norm, self.cached)

    def __call__(self, x: mx.array) -> mx.array:
        x = x + self._attend(mx.fast.rms_norm(x, self.norm, _EPS))
        h = mx.fast.rms_norm(x, self.norm, _EPS)
        if self.experts is not None:
            return x + self.experts(h)
        gate = self.gate(h)
        return x + self.down(gate * mx.sigmoid(gate) * self.up(h))

    def _attend(self, h: mx.array) -> mx.array:
        context, dim = self.cached.shape[2], self.spec.head_dim
        queries, keys, values = (
            product(h).reshape(1, h.shape[0], -1, dim).transpose(0, 2, 1, 3)
            for product in (self.query, self.key, self.value)
        )
        queries, keys = (
            mx.fast.rope(part, dim, traditional=False, base=1e6, scale=1.0, offset=context)
            for part in (queries, keys)
        )
        keys, values = (mx.concatenate([self.cached, new], axis=2) for new in (keys, values))
        mixed = mx.fast.scaled_dot_product_attention(
            queries, keys, values, scale=dim**-0.5, mask="causal"
        )
        return self.out(mixed.transpose(0, 2, 1, 3).reshape(h.shape[0], -1))


def _whole(products: list[_Product]) -> float:
    """What the whole products hold, in what is computed of them."""
    whole = sum(product.outputs * product.inputs for product in products)
    return whole / sum(product.computed * product.inputs for product in products)


def seconds_per_weight(weights: WeightFormat, half: mx.Dtype | None = None) -> float:
    """Seconds of a core that one weight costs in a product over one row of a CPU, roughly."""
    dtype = mx.float32 if half is None else half
    product = _Product(_PROBE[0], _PROBE[1], weights, dtype)
    x = mx.random.uniform(shape=(1, _PROBE[1])).astype(dtype)
    times = []
    for _ in range(2):
        began = time.process_time()
        mx.eval(product(x))
        times.append(time.process_time() - began)
    return min(times) / (_PROBE[0] * _PROBE[1])


class ShapeTimer:
    """Times a pass of a model that is not here.

    Args:
        spec: must have its shape (``has_shape``).
        weights: how they are stored, or held in memory.
        num_layers: layers that are made; the rest of the depth is multiplied.
        share: of each product's outputs that is computed, the rest multiplied: for backends that
            take seconds a layer and whose time is linear in them.
        context: tokens in the cache.
        half: the 16-bit type of activations and scales; None is float32.
        clock: seconds that pass.
        core_clock: seconds of a core that this program had, on a CPU: where other programs kept
            it waiting these count, which are less.

    Raises:
        ValueError, RuntimeError: MLX cannot compute with this format here.
    """

    def __init__(
        self,
        spec: ModelSpec,
        weights: WeightFormat,
        num_layers: int,
        share: float = 1.0,
        context: int = 512,
        half: mx.Dtype | None = None,
        clock: Callable[[], float] = time.perf_counter,
        core_clock: Callable[[], float] | None = None,
    ) -> None:
        self._clock, self._core_clock = clock, core_clock
        self._dtype = mx.float32 if half is None else half
        self._spec = spec
        self._layers = [
            _Layer(spec, weights, self._dtype, share, context) for _ in range(num_layers)
        ]
        self._head = _Product(spec.vocab_size, spec.hidden_width, weights, self._dtype, share)
        row = self._input(1)
        empty = [self._timed(lambda: row + 1) for _ in range(_EMPTY_REPEATS)]
        self._empty = min(empty)

    def seconds(self, rows: int) -> float:
        """One pass over ``rows`` rows, timed once: layers and head, scaled to the whole model."""
        x = self._input(rows)
        layers = self._timed(lambda: self._through_layers(x)) - self._empty
        head = self._timed(lambda: mx.argmax(self._head(x), axis=-1)) - self._empty
        depth = self._spec.layers / len(self._layers) * self._layers[0].whole
        return max(layers, 0.0) * depth + max(head, 0.0) * _whole([self._head]) + self._empty

    def _through_layers(self, x: mx.array) -> mx.array:
        for layer in self._layers:
            x = layer(x)
        return x

    def _input(self, rows: int) -> mx.array:
        x = mx.random.uniform(shape=(rows, self._spec.hidden_width)).astype(self._dtype)
        mx.eval(x)
        return x

    def _timed(self, build: Callable[[], mx.array]) -> float:
        core_clock = self._core_clock
        core_began = core_clock() if core_clock is not None else 0.0
        began = self._clock()
        mx.eval(build())
        seconds = self._clock() - began
        return seconds if core_clock is None else min(seconds, core_clock() - core_began)


def is_supported(weights: WeightFormat, half: mx.Dtype | None = None) -> str:
    """Why MLX cannot multiply by this format here; empty when it can."""
    try:
        product = _Product(64, 512, weights, mx.float32 if half is None else half)
        x = mx.ones((2, 512), mx.float32 if half is None else half)
        result = product(x)
        mx.eval(result)
    except (ValueError, RuntimeError, TypeError) as error:
        return str(error).splitlines()[0]
    return "" if bool(mx.all(mx.isfinite(result))) else "the products are not numbers"

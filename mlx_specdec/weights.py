"""How weights lie in memory: expanded to float32 on a CPU, cast where the chip wants it, read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from .backend import backend_name, memory_bytes, mx, tree_flatten, tree_unflatten
from .backend import nn as untyped_nn

__all__ = [
    "Expand",
    "arrange_weights",
    "describe_quantisation",
    "expand_weights",
    "expanded_bytes",
    "read_weights",
    "weight_bytes",
]

# mlx.nn declares none of its names to type checkers.
nn: Any = untyped_nn
Module = Any

Expand = Literal["auto", "never", "always"]

_HALVES = (mx.float16, mx.bfloat16)
_MEMORY_SHARE = 0.5
_FLOAT16_MAX = 65504.0


def arrange_weights(model: Module, config: Mapping[str, Any], expand: Expand) -> str:
    """Bring the weights into the form this machine computes fastest in, and read them all.

    ``auto``: on MLX's CPU backend quantised and half-precision weights become float32 when that
    takes at most about half of the memory (a 4-bit product there is scalar and linear in the
    rows), else at least the scales of quantised ones do (that product accumulates in their type,
    and is several times slower in 16 bits); on Apple GPUs of the M1 and M2 generations, which
    lack bfloat16, bfloat16 becomes float16; anything else stays as stored. ``never`` keeps what
    is stored, ``always`` expands.

    Returns:
        What was done in words, such as ``expanded to float32``; empty when nothing was.
    """
    done = ""
    if expand == "always" or (expand == "auto" and _should_expand(model)):
        if _has_narrow_weights(model):
            expand_weights(model)
            done = "expanded to float32"
    elif expand == "auto" and backend_name() == "cpu" and _is_quantised_throughout(model):
        model.set_dtype(mx.float32)
        done = "scales held as float32"
    elif expand == "auto" and _wants_float16(config) and _fits_float16(model):
        model.apply(lambda x: x.astype(mx.float16) if x.dtype == mx.bfloat16 else x)
        done = "bfloat16 held as float16"
    read_weights(model)
    return done


def _should_expand(model: Module) -> bool:
    if backend_name() != "cpu":
        return False
    return mx.get_active_memory() + expanded_bytes(model) <= _MEMORY_SHARE * memory_bytes()


def _leaves(model: Module) -> list[tuple[str, Module]]:
    return list(dict(tree_flatten(model.leaf_modules(), is_leaf=nn.Module.is_module)).items())


def _arrays(module: Module) -> Iterable[mx.array]:
    return dict(tree_flatten(module.parameters())).values()


def _is_expandable(module: Module) -> bool:
    return type(module) in (nn.QuantizedLinear, nn.QuantizedEmbedding)


def _has_narrow_weights(model: Module) -> bool:
    return any(
        _is_expandable(leaf) or any(array.dtype in _HALVES for array in _arrays(leaf))
        for _, leaf in _leaves(model)
    )


def _is_quantised_throughout(model: Module) -> bool:
    """True when nothing large is in 16 bits but scales: only these may double without harm."""
    large = [
        array
        for _, leaf in _leaves(model)
        if "scales" not in leaf
        for array in _arrays(leaf)
        if array.dtype in _HALVES and array.ndim > 1
    ]
    scales = [leaf for _, leaf in _leaves(model) if "scales" in leaf]
    return not large and any(leaf.scales.dtype in _HALVES for leaf in scales)


def expanded_bytes(model: Module) -> int:
    """Bytes of all weights once they are float32 (kinds we cannot expand keep their size)."""
    total = 0
    for _, leaf in _leaves(model):
        if _is_expandable(leaf):
            total += int(leaf.weight.size) * 32 // int(leaf.bits) * 4
            total += 4 * int(leaf.bias.size) if "bias" in leaf else 0
        else:
            total += sum(4 * a.size if a.dtype in _HALVES else a.nbytes for a in _arrays(leaf))
    return total


def expand_weights(model: Module) -> None:
    """Turn quantised linear layers and embeddings into float32 ones, and halves into float32.

    Scales and biases are cast first, so that no rounding to half precision is added. Layers are
    replaced one by one: at no time does more than one exist in both forms.
    """
    for path, leaf in _leaves(model):
        if _is_expandable(leaf):
            model.update_modules(tree_unflatten([(path, _expanded(leaf))]))
    model.set_dtype(mx.float32)
    for _, leaf in _leaves(model):
        if type(leaf) is nn.Linear:
            leaf.weight = columns_first(leaf.weight)


def columns_first(weight: mx.array) -> mx.array:
    """The same matrix [outputs, inputs], laid out in memory column by column, and evaluated.

    A layer multiplies by its transpose, which then lies row by row: a product over several rows
    reads it as it is, where a fast BLAS would pack it anew at every pass.
    """
    flipped = mx.contiguous(weight.T)
    mx.eval(flipped)
    view = flipped.T
    mx.eval(view)
    return view


def _expanded(leaf: Module) -> Module:
    biases = leaf.get("biases")
    scales = leaf.scales
    if mx.issubdtype(scales.dtype, mx.floating):
        scales = scales.astype(mx.float32)
        biases = None if biases is None else biases.astype(mx.float32)
    weight = mx.dequantize(
        leaf.weight,
        scales,
        biases,
        group_size=leaf.group_size,
        bits=leaf.bits,
        mode=leaf.mode,
    )
    weight = weight.astype(mx.float32)
    mx.eval(weight)
    if type(leaf) is nn.QuantizedEmbedding:
        plain = nn.Embedding(1, 1)
    else:
        plain = nn.Linear(1, 1, bias=False)
        if "bias" in leaf:
            plain.bias = leaf.bias
    plain.weight = weight
    return plain


def _wants_float16(config: Mapping[str, Any]) -> bool:
    """M1 and M2 (architecture names g13 and g14) emulate bfloat16.

    Gemma's activations leave float16's range, so that family stays as it is.
    """
    if backend_name() != "metal" or "gemma" in str(config.get("model_type", "")):
        return False
    found = re.search(r"g(\d+)", str(mx.device_info().get("architecture", "")))
    return found is not None and int(found[1]) in (13, 14)


def _fits_float16(model: Module) -> bool:
    """True when no bfloat16 weight is beyond what float16 can hold."""
    peaks = [
        mx.abs(array).max().astype(mx.float32)
        for _, leaf in _leaves(model)
        for array in _arrays(leaf)
        if array.dtype == mx.bfloat16
    ]
    return bool(peaks) and max(float(peak) for peak in peaks) < _FLOAT16_MAX


def read_weights(model: Module) -> None:
    """Evaluate every array the model holds: one left lazy could not be read on another thread.

    That includes tables that are not weights, such as a scaled rotary embedding's frequencies.
    """
    held = [
        value
        for module in model.modules()
        for value in (*module.values(), *vars(module).values())
        if isinstance(value, mx.array)
    ]
    mx.eval(model.parameters(), held)


def weight_bytes(model: Module) -> int:
    """Bytes of all weights as they lie in memory."""
    return sum(array.nbytes for array in _arrays(model))


def describe_quantisation(model: Module, config: Mapping[str, Any]) -> str:
    """How the weights are stored, in words: ``4-bit, groups of 64`` or ``bfloat16``."""
    stored = config.get("quantization")
    if not isinstance(stored, Mapping) or "bits" not in stored:
        dtypes = {
            str(array.dtype).removeprefix("mlx.core.")
            for array in _arrays(model)
            if array.ndim > 1 and mx.issubdtype(array.dtype, mx.floating)
        }
        return " and ".join(sorted(dtypes)) or "unknown"
    mode = stored.get("mode", "affine")
    words = f"{stored['bits']}-bit" if mode == "affine" else str(mode)
    words += f", groups of {stored.get('group_size')}"
    others = sorted(
        {
            layer["bits"]
            for layer in stored.values()
            if isinstance(layer, Mapping) and layer.get("bits") not in (None, stored["bits"])
        }
    )
    if others:
        words += f" (some layers {', '.join(f'{bits}-bit' for bits in others)})"
    return words

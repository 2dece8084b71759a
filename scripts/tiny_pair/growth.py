"""A trained target made wider: the same function at first, with room to learn more.

The idea is Net2Net's (Chen, Goodfellow and Shlens, 2016). New residual directions start at zero,
because nothing writes to them; new heads and new MLP units start mute, because their way out is
zero; their ways in are random, so that gradients tell them apart. A norm over more directions
divides by less, and its gain makes up for it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .layers import DRAFT, MIDDLE_TARGET, NARROW_DRAFT, NARROW_TARGET, TARGET, Shape
from .network import Qwen3

import torch
from torch import Tensor

Weights = dict[str, Tensor]
DROPPED_LAYERS = frozenset({5, 6})


def placed(old: Tensor, rows: Tensor, columns: Tensor, size: tuple[int, int]) -> Tensor:
    """`old` at (rows, columns) of a matrix of `size`; the rest is random, of the same spread."""
    wide = torch.randn(size) * old.std()
    wide[rows[:, None], columns[None, :]] = old
    return wide


def muted(wide: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """`wide` with zero outside the old rows and columns."""
    kept = torch.zeros_like(wide)
    kept[rows[:, None], columns[None, :]] = wide[rows[:, None], columns[None, :]]
    return kept


def head_rows(old: Shape, new: Shape) -> Tensor:
    """Where the rows of the old query heads go, so that each keeps its key-value head."""
    share_old = old.num_attention_heads // old.num_key_value_heads
    share_new = new.num_attention_heads // new.num_key_value_heads
    heads = torch.arange(old.num_attention_heads)
    places = heads // share_old * share_new + heads % share_old
    return (places[:, None] * old.head_dim + torch.arange(old.head_dim)).flatten()


def grown_layer(weights: Weights, old: Shape, new: Shape, gain: float) -> Weights:
    """The tensors of one layer, without its prefix."""
    width, heads = torch.arange(old.hidden_size), head_rows(old, new)
    units = torch.arange(old.intermediate_size)
    groups = torch.arange(old.num_key_value_heads * old.head_dim)
    size_heads = new.num_attention_heads * new.head_dim
    ways_in = {
        "self_attn.q_proj": (heads, size_heads),
        "self_attn.k_proj": (groups, len(groups)),
        "self_attn.v_proj": (groups, len(groups)),
        "mlp.gate_proj": (units, new.intermediate_size),
        "mlp.up_proj": (units, new.intermediate_size),
    }
    ways_out = {
        "self_attn.o_proj": (heads, size_heads),
        "mlp.down_proj": (units, new.intermediate_size),
    }
    grown: Weights = {}
    for name, (rows, size) in ways_in.items():
        key = f"{name}.weight"
        grown[key] = placed(weights[key], rows, width, (size, new.hidden_size))
    for name, (columns, size) in ways_out.items():
        key = f"{name}.weight"
        wide = placed(weights[key], width, columns, (new.hidden_size, size))
        grown[key] = muted(wide, width, columns)
    for name in ("input_layernorm", "post_attention_layernorm"):
        key = f"{name}.weight"
        grown[key] = grown_gain(weights[key], new, gain)
    for name in ("self_attn.q_norm", "self_attn.k_norm"):
        grown[f"{name}.weight"] = weights[f"{name}.weight"]
    return grown


def grown_gain(weight: Tensor, new: Shape, gain: float) -> Tensor:
    """A norm's gain for the wider residual stream."""
    wide = torch.full((new.hidden_size,), float(weight.mean()))
    wide[: len(weight)] = weight
    return wide * gain


def grow(old: Qwen3, new: Shape) -> Qwen3:
    """`old` as a model of the wider shape `new`, of the same depth, head size and groups."""
    gain = (old.shape.hidden_size / new.hidden_size) ** 0.5
    weights = old.state_dict()
    embedding = weights["model.embed_tokens.weight"]
    wide = torch.zeros(new.vocab_size, new.hidden_size)
    wide[:, : old.shape.hidden_size] = embedding
    grown = {
        "model.embed_tokens.weight": wide,
        "model.norm.weight": grown_gain(weights["model.norm.weight"], new, gain),
    }
    for index in range(old.shape.num_hidden_layers):
        prefix = f"model.layers.{index}."
        layer = {
            name.removeprefix(prefix): item
            for name, item in weights.items()
            if name.startswith(prefix)
        }
        for name, item in grown_layer(layer, old.shape, new, gain).items():
            grown[prefix + name] = item
    model = Qwen3(new)
    model.load_state_dict(grown)
    return model


def without_layers(model: Qwen3, dropped: frozenset[int]) -> Qwen3:
    """The model without some of its layers; what is left learns to do without them."""
    kept = [index for index in range(model.shape.num_hidden_layers) if index not in dropped]
    smaller = Qwen3(replace(model.shape, num_hidden_layers=len(kept)))
    weights = model.state_dict()
    state = {name: item for name, item in weights.items() if ".layers." not in name}
    for place, index in enumerate(kept):
        old, new = f"model.layers.{index}.", f"model.layers.{place}."
        state |= {
            new + name.removeprefix(old): item
            for name, item in weights.items()
            if name.startswith(old)
        }
    smaller.load_state_dict(state)
    return smaller


def grown_draft(checkpoint: Path, shape: Shape = DRAFT) -> Qwen3:
    """The draft of a checkpoint, narrow or of its full width, as a model of `shape`."""
    weights = torch.load(checkpoint, weights_only=False)["model"]
    width = weights["model.embed_tokens.weight"].shape[1]
    before = Qwen3(NARROW_DRAFT if width == NARROW_DRAFT.hidden_size else shape)
    before.load_state_dict(weights)
    return before if before.shape == shape else grow(before, shape)


def grown_target(checkpoint: Path, shape: Shape = TARGET) -> Qwen3:
    """The target of a checkpoint as a model of the larger `shape`.

    A pass over a few rows costs little more than one row when the matrices are large, so the
    shape that speculation needs is wider and less deep than the one that learns fastest. The two
    layers that the narrow target loses are those whose loss hurts least.
    """
    weights = torch.load(checkpoint, weights_only=False)["model"]
    width = weights["model.embed_tokens.weight"].shape[1]
    shape_before = NARROW_TARGET if width == NARROW_TARGET.hidden_size else MIDDLE_TARGET
    before = Qwen3(shape_before)
    before.load_state_dict(weights)
    depth = shape_before.num_hidden_layers
    grown = grow(before, replace(shape, num_hidden_layers=depth))
    return grown if depth == shape.num_hidden_layers else without_layers(grown, DROPPED_LAYERS)

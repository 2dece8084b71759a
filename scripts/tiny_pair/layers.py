"""The layers of a Qwen3: attention with normed queries and keys, SwiGLU, and their cache."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from .quantization import fake_quantize

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

Angles = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Shape:
    """The sizes of a model; the names are those of a Qwen3 config.json."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    intermediate_size: int
    head_dim: int = 64
    vocab_size: int = 4096
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-6
    max_position_embeddings: int = 1024

    def config(self) -> dict[str, object]:
        """The fields of config.json."""
        return {
            "model_type": "qwen3",
            "architectures": ["Qwen3ForCausalLM"],
            **asdict(self),
            "tie_word_embeddings": True,
        }


NARROW_TARGET = Shape(384, 8, 6, 2, 768)
MIDDLE_TARGET = Shape(512, 6, 8, 2, 1408)
TARGET = Shape(512, 6, 8, 2, 2048)
NARROW_DRAFT = Shape(128, 2, 2, 1, 512)
DRAFT = Shape(192, 2, 2, 1, 768)


class Linear(nn.Linear):
    """A linear map without bias that can see its weight as 4 bits will leave it."""

    is_quantized = False

    def __init__(self, size_in: int, size_out: int) -> None:
        super().__init__(size_in, size_out, bias=False)

    def seen_weight(self) -> Tensor:
        """The weight, or its straight-through quantised twin."""
        return fake_quantize(self.weight) if self.is_quantized else self.weight

    def forward(self, hidden: Tensor) -> Tensor:
        return functional.linear(hidden, self.seen_weight())


class Norm(nn.Module):
    """RMS norm with a gain."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, hidden: Tensor) -> Tensor:
        wide = hidden.float()
        return (
            wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps) * self.weight
        ).to(hidden.dtype)


def rotate(heads: Tensor, angles: Angles) -> Tensor:
    """Rotary positions, halves convention. heads [B, H, T, D]; angles fit [B, 1, T, D / 2]."""
    cos, sin = angles
    first, second = heads.float().chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(
        heads.dtype
    )


class LayerCache:
    """Keys and values of one layer, in arrays [B, groups, capacity, head_dim]."""

    def __init__(self, num_rows: int, shape: Shape, capacity: int, dtype: torch.dtype) -> None:
        sizes = (num_rows, shape.num_key_value_heads, capacity, shape.head_dim)
        self.keys, self.values, self.length = (
            torch.zeros(sizes, dtype=dtype),
            torch.zeros(sizes, dtype=dtype),
            0,
        )

    def add(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append; returns all keys and values so far."""
        end = self.length + key.shape[2]
        self.keys[:, :, self.length : end] = key
        self.values[:, :, self.length : end] = value
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def keep(self, rows: Tensor) -> None:
        """Go on with some rows only."""
        self.keys, self.values = self.keys[rows], self.values[rows]


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Attention written out: on a CPU it trains faster than the fused kernel.

    query is [B, H, T, D], key and value [B, groups, S, D]; mask is additive, [T, S] or
    [B, 1, 1, T, S].
    """
    batch, num_heads, length, width = query.shape
    stacked = (query * width**-0.5).reshape(batch, key.shape[1], -1, width)
    scores = stacked @ key.transpose(-1, -2)
    scores = scores.view(batch, key.shape[1], -1, length, key.shape[2]) + mask
    probs = scores.softmax(-1).to(value.dtype).view(batch, key.shape[1], -1, key.shape[2])
    return (probs @ value).view(batch, num_heads, length, width)


class Attention(nn.Module):
    """Grouped-query attention with normed queries and keys."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.num_heads, self.num_groups, self.head_dim = (
            shape.num_attention_heads,
            shape.num_key_value_heads,
            shape.head_dim,
        )
        self.q_proj = Linear(shape.hidden_size, self.num_heads * self.head_dim)
        self.k_proj = Linear(shape.hidden_size, self.num_groups * self.head_dim)
        self.v_proj = Linear(shape.hidden_size, self.num_groups * self.head_dim)
        self.o_proj = Linear(self.num_heads * self.head_dim, shape.hidden_size)
        self.q_norm = Norm(self.head_dim, shape.rms_norm_eps)
        self.k_norm = Norm(self.head_dim, shape.rms_norm_eps)

    def forward(
        self, hidden: Tensor, angles: Angles, mask: Tensor, cache: LayerCache | None
    ) -> Tensor:
        batch, length, _ = hidden.shape
        query = self.q_norm(
            self.q_proj(hidden).view(batch, length, self.num_heads, self.head_dim)
        ).transpose(1, 2)
        key = self.k_norm(
            self.k_proj(hidden).view(batch, length, self.num_groups, self.head_dim)
        ).transpose(1, 2)
        value = (
            self.v_proj(hidden).view(batch, length, self.num_groups, self.head_dim).transpose(1, 2)
        )
        query, key = rotate(query, angles), rotate(key, angles)
        if cache is not None:
            key, value = cache.add(key, value)
        mixed = attend(query, key, value, mask).transpose(1, 2)
        return self.o_proj(mixed.reshape(batch, length, -1))


class Mlp(nn.Module):
    """SwiGLU."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = Linear(shape.hidden_size, shape.intermediate_size)
        self.up_proj = Linear(shape.hidden_size, shape.intermediate_size)
        self.down_proj = Linear(shape.intermediate_size, shape.hidden_size)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(hidden)) * self.up_proj(hidden))


class Block(nn.Module):
    """One pre-norm layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attn = Attention(shape)
        self.mlp = Mlp(shape)
        self.input_layernorm = Norm(shape.hidden_size, shape.rms_norm_eps)
        self.post_attention_layernorm = Norm(shape.hidden_size, shape.rms_norm_eps)

    def forward(
        self, hidden: Tensor, angles: Angles, mask: Tensor, cache: LayerCache | None
    ) -> Tensor:
        hidden = hidden + self.self_attn(self.input_layernorm(hidden), angles, mask, cache)
        return hidden + self.mlp(self.post_attention_layernorm(hidden))

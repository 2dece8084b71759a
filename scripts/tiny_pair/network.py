"""The Qwen3 architecture in PyTorch, with the parameter names that mlx-lm's qwen3 reads."""

from __future__ import annotations

from .layers import DRAFT, TARGET, Angles, Block, LayerCache, Linear, Norm, Shape
from .quantization import fake_quantize

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

__all__ = ["DRAFT", "TARGET", "LayerCache", "Qwen3", "Shape"]


def causal_mask(length: int) -> Tensor:
    """Additive mask [length, length]: 0 where a row may look, minus infinity elsewhere."""
    return torch.full((length, length), float("-inf")).triu(1).bfloat16()


class Qwen3(nn.Module):
    """The whole model; embeddings are tied."""

    is_quantized = False

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.model.layers = nn.ModuleList(Block(shape) for _ in range(shape.num_hidden_layers))
        self.model.norm = Norm(shape.hidden_size, shape.rms_norm_eps)
        frequencies = shape.rope_theta ** (
            -torch.arange(0, shape.head_dim, 2).float() / shape.head_dim
        )
        angles = torch.arange(shape.max_position_embeddings).float()[:, None] * frequencies
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        self.register_buffer("causal", causal_mask(shape.max_position_embeddings), persistent=False)
        self._initialize()

    def _initialize(self) -> None:
        """Small normal weights; maps back into the residual stream start smaller."""
        depth = (2 * self.shape.num_hidden_layers) ** 0.5
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                std = 0.02 if "embed" in name else parameter.shape[1] ** -0.5 * 0.7
                nn.init.normal_(
                    parameter, std=std / depth if "o_proj" in name or "down_proj" in name else std
                )

    def quantize_aware(self, is_on: bool = True) -> None:
        """Turn the straight-through 4-bit view of every weight matrix on or off."""
        self.is_quantized = is_on
        for module in self.modules():
            if isinstance(module, Linear):
                module.is_quantized = is_on

    def embedding(self) -> Tensor:
        """The embedding, or its quantised twin."""
        weight = self.model.embed_tokens.weight
        return fake_quantize(weight) if self.is_quantized else weight

    def trunk(self, ids: Tensor, embedding: Tensor) -> Tensor:
        """ids [B, T] -> the normed last hidden states, [B, T, width]."""
        length = ids.shape[1]
        angles = (self.cos[:length], self.sin[:length])
        return self._layers(
            functional.embedding(ids, embedding), angles, self.causal[:length, :length], None
        )

    def _layers(
        self, hidden: Tensor, angles: Angles, mask: Tensor, caches: list[LayerCache] | None
    ) -> Tensor:
        for index, layer in enumerate(self.model.layers):
            hidden = layer(hidden, angles, mask, caches[index] if caches else None)
        return self.model.norm(hidden)

    def forward(self, ids: Tensor) -> Tensor:
        """ids [B, T] -> logits [B, T, vocab]."""
        embedding = self.embedding()
        return functional.linear(self.trunk(ids, embedding), embedding)

    def extend(
        self, ids: Tensor, positions: Tensor, mask: Tensor, caches: list[LayerCache]
    ) -> Tensor:
        """Read more ids on top of caches; the last column's hidden states, [B, width].

        mask is additive, [B, 1, 1, T, length].
        """
        angles = (self.cos[positions][:, None], self.sin[positions][:, None])
        return self._layers(functional.embedding(ids, self.embedding()), angles, mask, caches)[
            :, -1
        ]

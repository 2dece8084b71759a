"""MLX's affine 4-bit grid in PyTorch, so that training can see it."""

from __future__ import annotations

import torch
from torch import Tensor

GROUP_SIZE = 64
BITS = 4


@torch.no_grad()
def quantized(weight: Tensor) -> Tensor:
    """`mx.dequantize(*mx.quantize(weight))`, affine, with scales and biases in float16."""
    groups = weight.detach().float().reshape(-1, GROUP_SIZE)
    low, high = groups.amin(1, keepdim=True), groups.amax(1, keepdim=True)
    low_is_edge = low.abs() > high.abs()
    scale = ((high - low) / (2**BITS - 1)).clamp_min(1e-7)
    scale = torch.where(low_is_edge, scale, -scale)
    edge = torch.where(low_is_edge, low, high)
    steps = (edge / scale).round()
    scale = torch.where(steps != 0, edge / steps.where(steps != 0, torch.ones_like(steps)), scale)
    bias = torch.where(steps != 0, edge, torch.zeros_like(edge))
    codes = ((groups - bias) / scale).round().clamp(0, 2**BITS - 1)
    return (codes * scale.half().float() + bias.half().float()).reshape(weight.shape)


def fake_quantize(weight: Tensor) -> Tensor:
    """The quantised weight, with the gradient of the weight itself (straight through)."""
    return weight + (quantized(weight) - weight.detach())

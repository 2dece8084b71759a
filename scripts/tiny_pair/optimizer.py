"""Muon for the matrices, AdamW for the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
NUM_ITERATIONS = 5


def orthogonalize(stack: Tensor) -> Tensor:
    """Roughly the nearest orthogonal matrices (quintic Newton-Schulz). stack [N, rows, columns]."""
    a, b, c = COEFFICIENTS
    is_tall = stack.shape[1] > stack.shape[2]
    matrices = stack.transpose(1, 2) if is_tall else stack
    matrices = (matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)).bfloat16()
    for _ in range(NUM_ITERATIONS):
        gram = matrices @ matrices.transpose(1, 2)
        matrices = a * matrices + (b * gram + c * gram @ gram) @ matrices
    return (matrices.transpose(1, 2) if is_tall else matrices).float()


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised; a step is about as long as one of AdamW (0.2 of the rate)."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.1,
    ) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[nn.Parameter]] = defaultdict(list)
            for parameter in group["params"]:
                by_shape[parameter.shape].append(parameter)
            for shape, parameters in by_shape.items():
                updates = orthogonalize(
                    torch.stack([self._direction(item, group["momentum"]) for item in parameters])
                )
                size = 0.2 * max(shape) ** 0.5 * group["lr"]
                for parameter, update in zip(parameters, updates, strict=True):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"]).add_(
                        update, alpha=-size
                    )

    def _direction(self, parameter: nn.Parameter, momentum: float) -> Tensor:
        """Nesterov momentum of the gradient."""
        buffer = self.state[parameter].setdefault("momentum", torch.zeros_like(parameter))
        buffer.lerp_(parameter.grad, 1 - momentum)
        return parameter.grad.lerp(buffer, momentum)


class PairOptimizer:
    """Both optimizers behind one rate."""

    def __init__(self, model: nn.Module, rate: float) -> None:
        matrices, rest = [], []
        for name, parameter in model.named_parameters():
            (matrices if parameter.dim() == 2 and "embed" not in name else rest).append(parameter)
        self.rate = rate
        self.parts = [
            Muon(matrices, rate),
            torch.optim.AdamW(rest, rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
        ]

    def step(self, share: float) -> None:
        """One step at `share` of the full rate; clears the gradients."""
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = self.rate * share
            part.step()
            part.zero_grad(set_to_none=True)

    def state_dict(self) -> list[dict[str, object]]:
        """The state of both."""
        return [part.state_dict() for part in self.parts]

    def load_state_dict(self, states: list[dict[str, object]]) -> None:
        """Put a state back."""
        for part, state in zip(self.parts, states, strict=True):
            part.load_state_dict(state)

"""What the shipped pair is worth: both models in MLX, expanded to float32."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_map
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import dequantize_model, load_model

TEMPERATURES = (0.7, 1.0)


def load_float32(folder: Path) -> nn.Module:
    """A 4-bit folder as a float32 model; scales and biases are widened before they are used."""
    model = load_model(folder)[0]
    model.update(
        tree_map(
            lambda item: item.astype(mx.float32) if item.dtype == mx.float16 else item,
            model.parameters(),
        )
    )
    model = dequantize_model(model)
    mx.eval(model.parameters())
    return model


@dataclass
class Agreement:
    """Sums over positions of what two laws have in common, by temperature."""

    num_positions: int = 0
    num_equal: float = 0.0
    overlap: dict[float, float] = field(default_factory=lambda: dict.fromkeys(TEMPERATURES, 0.0))
    product: dict[float, float] = field(default_factory=lambda: dict.fromkeys(TEMPERATURES, 0.0))

    def add(self, target_logits: mx.array, draft_logits: mx.array) -> None:
        """Count rows of logits, [rows, vocab] each."""
        self.num_positions += target_logits.shape[0]
        self.num_equal += float((target_logits.argmax(-1) == draft_logits.argmax(-1)).sum())
        for temperature in TEMPERATURES:
            target_probs = mx.softmax(target_logits / temperature, axis=-1, precise=True)
            draft_probs = mx.softmax(draft_logits / temperature, axis=-1, precise=True)
            self.overlap[temperature] += float(mx.minimum(target_probs, draft_probs).sum())
            self.product[temperature] += float((target_probs * draft_probs).sum())

    def means(self) -> dict[str, float]:
        """Means over positions."""
        means = {
            "positions": self.num_positions,
            "argmax_equal": self.num_equal / self.num_positions,
        }
        for temperature in TEMPERATURES:
            means[f"overlap@{temperature}"] = self.overlap[temperature] / self.num_positions
            means[f"product@{temperature}"] = self.product[temperature] / self.num_positions
        return means


def merge(parts: Sequence[Agreement]) -> Agreement:
    """Agreements over all positions together."""
    total = Agreement()
    for part in parts:
        total.num_positions += part.num_positions
        total.num_equal += part.num_equal
        for temperature in TEMPERATURES:
            total.overlap[temperature] += part.overlap[temperature]
            total.product[temperature] += part.product[temperature]
    return total


def agreement(target: Any, draft: Any, texts: Sequence[tuple[np.ndarray, list[int]]]) -> Agreement:
    """Agreement at every answer position of (prompt, answer) pairs."""
    total = Agreement()
    for prompt, answer in texts:
        ids = mx.array(
            np.concatenate([prompt.astype(np.int32), np.array(answer[:-1], dtype=np.int32)])
        )[None]
        first = len(prompt) - 1
        total.add(target(ids)[0, first:], draft(ids)[0, first:])
    return total


def held_out_loss(model: Any, rows: np.ndarray) -> float:
    """Mean next-token loss over rows of ids, [rows, length + 1]."""
    total = 0.0
    for row in rows:
        ids = mx.array(row.astype(np.int32))
        total += float(nn.losses.cross_entropy(model(ids[None, :-1])[0], ids[1:], reduction="mean"))
    return total / len(rows)


def pass_seconds(
    models: dict[str, Any], context_length: int = 128, num_blocks: int = 40, block: int = 5
) -> dict[str, float]:
    """Median seconds of a one-row pass, the models taking turns in short blocks."""
    caches = {name: make_prompt_cache(model) for name, model in models.items()}
    for name, model in models.items():
        mx.eval(model(mx.array([[20] * context_length]), cache=caches[name]))
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(num_blocks):
        for name, model in models.items():
            for _ in range(block):
                start = time.perf_counter()
                mx.eval(model(mx.array([[20]]), cache=caches[name]))
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def table(
    means: dict[str, dict[str, float]],
    target_losses: dict[str, float],
    draft_losses: dict[str, float],
) -> str:
    """The measured figures as a Markdown table."""
    names = ("text", "positions", "sum min(p, q), T 0.7", "sum pq, T 0.7", "sum min(p, q), T 1")
    names += ("sum pq, T 1", "arg-max equal", "target loss", "draft loss")
    head = "| " + " | ".join(names) + " |"
    lines = [head, "|---" * 9 + "|"]
    for kind, row in means.items():
        figures = [
            row[name]
            for name in ("overlap@0.7", "product@0.7", "overlap@1.0", "product@1.0", "argmax_equal")
        ]
        figures += [target_losses.get(kind, math.nan), draft_losses.get(kind, math.nan)]
        cells = ["" if math.isnan(figure) else f"{figure:.3f}" for figure in figures]
        lines.append(" | ".join([f"| {kind}", str(int(row["positions"])), *cells]) + " |")
    return "\n".join(lines)


def end_ids(folder: Path) -> list[int]:
    """The ids that end an answer."""
    return list(json.loads((folder / "generation_config.json").read_text())["eos_token_id"])

"""Text that the target writes itself, with the hidden states that its laws come from."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .layers import LayerCache, Linear
from .network import Qwen3

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor

TEMPERATURE = 0.7
MAX_TOKENS = 160
LONGEST_PROMPT = 240
HIDDEN = -30000.0
FULL_ENOUGH = 0.8


@dataclass
class Answer:
    """A prompt, the ids written after it, and the hidden state that each was sampled from."""

    prompt: np.ndarray
    ids: list[int]
    states: list[Tensor]


class Writer:
    """Samples answers for many prompts at once."""

    def __init__(
        self, model: Qwen3, end_ids: Sequence[int], dtype: torch.dtype = torch.bfloat16
    ) -> None:
        self.model, self.end_ids, self.dtype = copy.deepcopy(model), set(end_ids), dtype
        for module in self.model.modules():
            if isinstance(module, Linear):
                module.weight.data = module.weight.data.to(dtype)
        self.embedding = model.embedding().to(dtype)

    @torch.no_grad()
    def write(
        self, prompts: Sequence[np.ndarray], temperature: float = TEMPERATURE
    ) -> list[Answer]:
        """One answer a prompt, sampled at `temperature`; a prompt is padded on the left."""
        answers = [Answer(prompt, [], []) for prompt in prompts]
        longest = max(map(len, prompts))
        padding = torch.tensor([longest - len(prompt) for prompt in prompts])
        ids = torch.from_numpy(
            np.stack(
                [np.pad(prompt.astype(np.int64), (longest - len(prompt), 0)) for prompt in prompts]
            )
        )
        caches = [
            LayerCache(len(prompts), self.model.shape, longest + MAX_TOKENS, self.dtype)
            for _ in self.model.model.layers
        ]
        active, is_going, start = (
            torch.arange(len(prompts)),
            torch.ones(len(prompts), dtype=torch.bool),
            0,
        )
        with torch.autocast("cpu", torch.bfloat16, enabled=self.dtype == torch.bfloat16):
            for _ in range(MAX_TOKENS):
                mask, positions = _mask(padding[active], start, ids.shape[1])
                states = self.model.extend(ids, positions, mask, caches)
                start += ids.shape[1]
                sampled = self._sample(states, temperature)
                is_going = self._record(answers, active, is_going, sampled, states)
                if not is_going.any():
                    break
                ids = sampled[:, None]
                if is_going.float().mean() < FULL_ENOUGH:
                    active, ids = active[is_going], ids[is_going]
                    for cache in caches:
                        cache.keep(is_going)
                    is_going = is_going[is_going]
        return answers

    def _sample(self, states: Tensor, temperature: float) -> Tensor:
        """One id a row."""
        logits = functional.linear(states.to(self.dtype), self.embedding).float()
        return torch.multinomial((logits / temperature).softmax(-1), 1)[:, 0]

    def _record(
        self,
        answers: list[Answer],
        active: Tensor,
        is_going: Tensor,
        sampled: Tensor,
        states: Tensor,
    ) -> Tensor:
        """Store what was sampled in rows that are going; which rows go on."""
        kept, tokens = states.bfloat16(), sampled.tolist()
        for row in is_going.nonzero()[:, 0].tolist():
            answer = answers[int(active[row])]
            answer.ids.append(tokens[row])
            answer.states.append(kept[row])
        return is_going & torch.tensor([token not in self.end_ids for token in tokens])


def _mask(padding: Tensor, start: int, length: int) -> tuple[Tensor, Tensor]:
    """The additive mask [B, 1, 1, T, start + T] and the positions [B, T] of left-padded rows."""
    columns = torch.arange(start + length)
    rows = columns[start:]
    is_seen = (columns[None, None, :] >= padding[:, None, None]) & (
        columns[None, None, :] <= rows[None, :, None]
    )
    mask = torch.zeros(is_seen.shape).masked_fill(~is_seen, HIDDEN)
    positions = (rows[None, :] - padding[:, None]).clamp_min(0)
    return mask[:, None, None], positions


def rounds(
    lists: dict[str, list[np.ndarray]], kinds: Sequence[str], num_rows: int, seed: int
) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Batches of prompts of one kind each, of similar lengths, the kinds in turn, without end."""
    generator = np.random.default_rng(seed)
    fitting = {
        kind: [prompt for prompt in lists[kind] if len(prompt) <= LONGEST_PROMPT]
        for kind in set(kinds)
    }
    while True:
        for kind in kinds:
            prompts = fitting[kind]
            chosen = generator.choice(len(prompts), min(len(prompts), num_rows * 8), replace=False)
            pool = sorted(chosen, key=lambda index: len(prompts[index]))
            first = int(generator.integers(0, max(1, len(pool) - num_rows + 1)))
            yield kind, [prompts[index] for index in pool[first : first + num_rows]]

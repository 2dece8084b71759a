"""The draft: distilled from the target as it ships, on corpora and on the target's own text."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

from . import dataset, export, writing
from .growth import grown_draft
from .network import DRAFT, Qwen3, Shape
from .optimizer import PairOptimizer

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor

RATE = 4e-3
ROWS, LENGTH, NUM_POSITIONS = 12, 384, 2048
GENERATION_SHARE, CORPORA_SHARE, QUANTIZE_FROM = 0.30, 0.18, 0.75
GENERATION_ROWS = 128
GENERATION_ORDER = ("code", "prose", "words", "questions", "code", "words")
GENERATION_ORDER += ("code", "prose", "words", "questions", "code")
# Their number and that of the order have no factor in common, so every kind meets each. The low
# one shows the draft how the target repeats itself at temperature 0.
GENERATION_TEMPERATURES = (0.7, 1.0, 0.7, 0.3, 0.7)
SHARES = {"words": 0.28, "code": 0.42, "prose": 0.30}
OWN_SHARES = {"words": 0.24, "code": 0.36, "prose": 0.25, "questions": 0.15}
TEMPERATURES = ((0.7, 0.7), (1.0, 0.3))
ID_BITS = 13
SECONDS_PER_CHECKPOINT = 60.0


def pack(ids: np.ndarray, first_state: int, first_answer: int) -> np.ndarray:
    """Ids with, in the higher bits, 1 + the index of the state that predicts the next id, or 0."""
    states = np.zeros(len(ids), dtype=np.int64)
    num_answers = len(ids) - first_answer
    states[first_answer - 1 : len(ids) - 1] = first_state + 1 + np.arange(num_answers)
    return ids.astype(np.int64) + (states << ID_BITS)


def losses(
    hidden: Tensor, embedding: Tensor, target_logits: Tensor, kl_weight: Tensor
) -> tuple[Tensor, Tensor]:
    """Total variation plus weighted KL at both temperatures, and sum min(p, q) at the first.

    hidden is [N, width], target_logits [N, vocab].
    """
    draft_logits = (hidden @ embedding.to(hidden.dtype).T).float()
    total, overlap = torch.zeros(()), torch.zeros(())
    for temperature, weight in TEMPERATURES:
        target_logs = (target_logits / temperature).log_softmax(-1)
        draft_logs = (draft_logits / temperature).log_softmax(-1)
        target_probs, draft_probs = target_logs.exp(), draft_logs.exp()
        variation = 0.5 * (target_probs - draft_probs).abs().sum(-1).mean()
        divergence = (target_probs * (target_logs - draft_logs)).sum(-1).mean()
        total = total + weight * (variation + kl_weight * divergence)
        if temperature == TEMPERATURES[0][0]:
            overlap = 1 - variation.detach()
    return total, overlap


def kl_weight(share: float) -> float:
    """Mostly KL at first, mostly total variation at the end."""
    return 1.0 - 0.85 * min(1.0, share / 0.8)


def rate_share(share: float) -> float:
    """Warm-up, a plateau, then a straight line to zero."""
    return max(0.02, share / 0.03) if share < 0.03 else min(1.0, max(0.0, (1 - share) / 0.65))


class DraftRun:
    """Writing, then distillation; the text written is kept and a restart goes on with it.

    `seed` is the checkpoint of a draft to begin with, that of an earlier target say.
    """

    def __init__(
        self,
        work: Path,
        folder: Path,
        target: Path,
        shape: Shape = DRAFT,
        is_compiled: bool = True,
        seed: Path | None = None,
    ) -> None:
        self.work, self.folder, self.is_compiled = work, folder, is_compiled
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(1)
        self.target = export.read(target)
        self.ends = json.loads((target / "generation_config.json").read_text())["eos_token_id"]
        if seed is None:
            self.draft = Qwen3(shape)
            self._project_embedding()
        else:
            self.draft = grown_draft(seed, shape)
        self.optimizer = PairOptimizer(self.draft, RATE)
        self.step, self.num_tokens = 0, 0
        self.loss = self._compile(losses)
        self.trunk = self.draft.trunk

    def _compile(self, function: Callable[..., object]) -> Callable[..., object]:
        return torch.compile(function) if self.is_compiled else function

    @torch.no_grad()
    def _project_embedding(self) -> None:
        """Start from the main directions of the target's embedding."""
        wide = self.target.model.embed_tokens.weight
        _, _, directions = torch.linalg.svd(wide, full_matrices=False)
        narrow = wide @ directions[: self.draft.shape.hidden_size].T
        self.draft.model.embed_tokens.weight.copy_(narrow * (0.02 / narrow.std()))

    def run(self, minutes: float) -> None:
        """Write, read the corpora, read what was written, all within `minutes`."""
        begin = time.monotonic()
        items, states = self._written(minutes * 60 * GENERATION_SHARE)
        lists = {
            kind: [pack(ids, 0, len(ids)) for ids in dataset.read(self.work, f"train_{kind}")]
            for kind in SHARES
        }
        corpora = dataset.RowStream(lists, SHARES, seed=1)
        own = dataset.RowStream(items, OWN_SHARES, seed=2)
        start, saved = time.monotonic(), time.monotonic()
        seconds = max(60.0, minutes * 60 - (start - begin))
        while (share := (time.monotonic() - start) / seconds) < 1:
            if share >= QUANTIZE_FROM and not self.draft.is_quantized:
                self.draft.quantize_aware()
            is_own = share >= CORPORA_SHARE
            hidden, logits = self._own(own, states) if is_own else self._corpora(corpora)
            overlap = self._learn(hidden, logits, share)
            if self.step % 20 == 0:
                self._write({"step": self.step, "share": share, "overlap": overlap, "own": is_own})
            if time.monotonic() - saved > SECONDS_PER_CHECKPOINT:
                self.save()
                saved = time.monotonic()
        self.save()
        self._write(
            {
                "step": self.step,
                "tokens": self.num_tokens,
                "written": len(states),
                "seconds": time.monotonic() - begin,
            }
        )

    def _learn(self, hidden: Tensor, target_logits: Tensor, share: float) -> float:
        """One step; returns sum min(p, q) at the first temperature."""
        weight = torch.tensor(kl_weight(share))
        loss, overlap = self.loss(hidden, self.draft.embedding(), target_logits, weight)
        loss.backward()
        self.optimizer.step(rate_share(share))
        self.step += 1
        return float(overlap)

    def _read(self, ids: Tensor) -> Tensor:
        """The draft's hidden states, flat, [B * T, width]."""
        self.num_tokens += ids.numel()
        with torch.autocast("cpu", torch.bfloat16):
            return self.trunk(ids, self.draft.embedding()).flatten(0, 1)

    def _corpora(self, stream: dataset.RowStream) -> tuple[Tensor, Tensor]:
        """Positions of a batch of the corpora: the draft's hidden states, the target's logits."""
        ids = torch.from_numpy(stream.batch(ROWS, LENGTH - 1)) & ((1 << ID_BITS) - 1)
        chosen = torch.randperm(ids.numel())[:NUM_POSITIONS]
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            embedding = self.target.embedding()
            states = self.target.trunk(ids, embedding).flatten(0, 1)[chosen]
            logits = functional.linear(states, embedding).float()
        return self._read(ids)[chosen], logits

    def _own(self, stream: dataset.RowStream, states: Tensor) -> tuple[Tensor, Tensor]:
        """Answer positions of a batch of the target's own text, with the logits of their laws."""
        packed = torch.from_numpy(stream.batch(ROWS, LENGTH - 1))
        ids, indices = packed & ((1 << ID_BITS) - 1), (packed >> ID_BITS).flatten() - 1
        places = (indices >= 0).nonzero()[:, 0]
        chosen = (
            places[torch.randint(len(places), (NUM_POSITIONS,))]
            if len(places) < NUM_POSITIONS
            else places[torch.randperm(len(places))[:NUM_POSITIONS]]
        )
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            logits = functional.linear(states[indices[chosen]], self.target.embedding()).float()
        return self._read(ids)[chosen], logits

    def _written(self, seconds: float) -> tuple[dict[str, list[np.ndarray]], Tensor]:
        """The target's own text, packed, and all its states; written now unless it is on disk."""
        path = self.folder / "written.pt"
        if path.exists():
            stored = torch.load(path, weights_only=False)
            return stored["items"], stored["states"]
        prompts = {kind: dataset.read(self.work, f"train_{kind}_prompts") for kind in OWN_SHARES}
        writer = writing.Writer(self.target, self.ends)
        items: dict[str, list[np.ndarray]] = {kind: [] for kind in OWN_SHARES}
        parts, num_states, start = [], 0, time.monotonic()
        batches = writing.rounds(prompts, GENERATION_ORDER, GENERATION_ROWS, seed=3)
        for (kind, batch), temperature in zip(batches, cycle(GENERATION_TEMPERATURES)):
            for answer in writer.write(batch, temperature):
                ids = np.concatenate([answer.prompt.astype(np.int64), np.array(answer.ids)])
                items[kind].append(pack(ids, num_states, len(answer.prompt)))
                parts.append(torch.stack(answer.states))
                num_states += len(answer.ids)
            seconds_gone = time.monotonic() - start
            self._write({"written": num_states, "kind": kind, "seconds": seconds_gone})
            if seconds_gone > seconds:
                break
        states = torch.cat(parts)
        torch.save({"items": items, "states": states}, path)
        return items, states

    def _write(self, record: dict[str, object]) -> None:
        with (self.folder / "draft.jsonl").open("a") as log:
            log.write(json.dumps(record) + "\n")

    def save(self) -> None:
        """Write the checkpoint."""
        waiting = self.folder / "draft.part"
        torch.save(
            {"model": self.draft.state_dict(), "step": self.step, "tokens": self.num_tokens},
            waiting,
        )
        waiting.replace(self.folder / "draft.pt")

"""Training the target: next-token loss on all tokens, by wall clock, resumable."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from . import dataset
from .network import TARGET, Qwen3, Shape
from .optimizer import PairOptimizer

import torch
import torch.nn.functional as functional
from torch import Tensor

SHARES = {"words": 0.28, "code": 0.40, "prose": 0.32}
WARMUP_SHARE, DECAY_FROM, QUANTIZE_FROM = 0.02, 0.30, 0.85
RATE = 3e-3
SEED_OF_GROWN = 100_000
SECONDS_PER_CHECKPOINT = 180.0
SECONDS_PER_MEASURE = 600.0


@dataclass
class Progress:
    """How far a run is; survives a restart."""

    step: int = 0
    num_tokens: int = 0
    seconds: float = 0.0

    def share(self, minutes: float, steps: int | None) -> float:
        """The share of the run that is done, by steps if given, else by the clock."""
        return self.step / steps if steps else self.seconds / (minutes * 60)


def rate_share(share: float) -> float:
    """Warm-up, a plateau, then a straight line to zero."""
    if share < WARMUP_SHARE:
        return max(share / WARMUP_SHARE, 0.02)
    return min(1.0, max(0.0, (1 - share) / (1 - DECAY_FROM)))


def batch_sizes(share: float) -> tuple[int, int]:
    """Rows and length of a batch: the last part of the run reads the whole context length."""
    return (8, 512) if share < QUANTIZE_FROM else (4, 1024)


class TargetRun:
    """A training run with its checkpoint in `folder`; `seed` is a grown model to begin with."""

    def __init__(
        self,
        work: Path,
        folder: Path,
        shape: Shape = TARGET,
        is_compiled: bool = True,
        seed: Qwen3 | None = None,
        rate: float = RATE,
    ) -> None:
        self.path, self.log = folder / "target.pt", folder / "target.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(0)
        self.model = seed or Qwen3(shape)
        self.optimizer = PairOptimizer(self.model, rate)
        self.progress = Progress()
        if self.path.exists():
            stored = torch.load(self.path, weights_only=False)
            self.model.load_state_dict(stored["model"])
            self.optimizer.load_state_dict(stored["optimizer"])
            self.progress = Progress(**stored["progress"])
        lists = {kind: dataset.read(work, f"train_{kind}") for kind in SHARES}
        self.stream = dataset.RowStream(
            lists,
            SHARES,
            seed=self.progress.step + (SEED_OF_GROWN + shape.intermediate_size if seed else 0),
        )
        held_out = {kind: dataset.read(work, f"held_out_{kind}") for kind in SHARES}
        self.held_out = {
            kind: dataset.RowStream({kind: rows}, {kind: 1.0}, 0).batch(8, 512)
            for kind, rows in held_out.items()
        }
        self.compiled = torch.compile(self._loss) if is_compiled else self._loss

    def _loss(self, ids: Tensor) -> Tensor:
        """Mean next-token loss over a batch of ids [B, T + 1]."""
        with torch.autocast("cpu", torch.bfloat16):
            logits = self.model(ids[:, :-1])
        return functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())

    def train(self, minutes: float, steps: int | None) -> None:
        """Run to the end of the clock or of the steps."""
        start, before = time.monotonic(), self.progress.seconds
        saved = measured = time.monotonic()
        while (share := self.progress.share(minutes, steps)) < 1:
            if share >= QUANTIZE_FROM and not self.model.is_quantized:
                self.model.quantize_aware()
            loss = self._step(share)
            self.progress.seconds = before + time.monotonic() - start
            if self.progress.step % 10 == 0:
                self._write({**asdict(self.progress), "share": share, "loss": loss})
            if time.monotonic() - saved > SECONDS_PER_CHECKPOINT:
                self.save()
                saved = time.monotonic()
            if time.monotonic() - measured > SECONDS_PER_MEASURE:
                self._write({**asdict(self.progress), "held_out": self.held_out_losses()})
                measured = time.monotonic()
        self.model.quantize_aware()
        self._write(
            {
                **asdict(self.progress),
                "held_out": self.held_out_losses(),
                "tokens": self.stream.num_tokens,
            }
        )
        self.save()

    def _step(self, share: float) -> float:
        """One batch; returns its loss."""
        ids = torch.from_numpy(self.stream.batch(*batch_sizes(share)))
        # The last part changes too much to be worth another compilation.
        loss = (self._loss if self.model.is_quantized else self.compiled)(ids)
        loss.backward()
        self.optimizer.step(rate_share(share))
        self.progress.step += 1
        self.progress.num_tokens += ids.numel() - len(ids)
        return float(loss.detach())

    @torch.no_grad()
    def held_out_losses(self) -> dict[str, float]:
        """Mean loss on held-out rows of each kind."""
        return {
            kind: float(self._loss(torch.from_numpy(rows))) for kind, rows in self.held_out.items()
        }

    def _write(self, record: dict[str, object]) -> None:
        with self.log.open("a") as log:
            log.write(json.dumps(record) + "\n")

    def save(self) -> None:
        """Write the checkpoint; never leaves half a file under its name."""
        waiting = self.path.with_suffix(".part")
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "progress": asdict(self.progress),
        }
        torch.save(state, waiting)
        waiting.replace(self.path)

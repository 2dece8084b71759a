"""Make the built-in pair: `data`, `target`, `draft` and `export`, one by one or `all` of them.

Training is by the clock: the learning rate follows the share of `--minutes` that has gone by, so
that a run ends on time on any machine. A stage that was stopped goes on from its checkpoint.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiny_pair.layers import Shape

# On a busy machine a thread that spins at a barrier takes the time of the one it waits for.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch

PAIR = Path(__file__).resolve().parent.parent / "mlx_specdec" / "tiny"
STAGES = ("data", "target", "draft", "export")
SIZES = ("narrow", "middle", "full")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", choices=(*STAGES, "all"))
    work = Path("build/tiny-pair")
    parser.add_argument("--work", type=Path, default=work, help="downloads, data and checkpoints")
    parser.add_argument("--out", type=Path, default=PAIR, help="where target/ and draft/ go")
    parser.add_argument("--minutes", type=float, default=72.0, help="for training the target")
    parser.add_argument(
        "--size", choices=SIZES, default="full", help="of the target: what ships is grown twice"
    )
    parser.add_argument("--grow-from", type=Path, help="checkpoint of a smaller target to widen")
    parser.add_argument("--rate", type=float, default=3e-3, help="the target's peak learning rate")
    parser.add_argument("--steps", type=int, help="the target's length in steps, not minutes")
    parser.add_argument("--draft-minutes", type=float, default=30.0, help="for the draft")
    parser.add_argument("--draft-from", type=Path, help="checkpoint of a draft to begin with")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--eager", action="store_true", help="do not compile the training step")
    return parser.parse_args()


def target_shape(options: argparse.Namespace) -> Shape:
    """The target's shape by its size."""
    from tiny_pair import layers

    shapes = (layers.NARROW_TARGET, layers.MIDDLE_TARGET, layers.TARGET)
    return dict(zip(SIZES, shapes, strict=True))[options.size]


def make_target(options: argparse.Namespace) -> None:
    """Train the target and write it as it ships."""
    from tiny_pair.growth import grown_target
    from tiny_pair.target import TargetRun

    shape = target_shape(options)
    seed = grown_target(options.grow_from, shape) if options.grow_from else None
    folder = options.work / "checkpoints"
    run = TargetRun(options.work, folder, shape, not options.eager, seed, options.rate)
    run.train(options.minutes, options.steps)
    export(options, "target")


def make_draft(options: argparse.Namespace) -> None:
    """Distil the draft from the target as it ships."""
    from tiny_pair.distillation import DraftRun

    folder = options.work / "checkpoints"
    target = options.work / "pair" / "target"
    run = DraftRun(
        options.work, folder, target, is_compiled=not options.eager, seed=options.draft_from
    )
    run.run(options.draft_minutes)
    export(options, "draft")


def export(options: argparse.Namespace, name: str) -> None:
    """Write a checkpoint as a 4-bit folder under `--work`."""
    from tiny_pair import export as exporting
    from tiny_pair import network

    shape = target_shape(options) if name == "target" else network.DRAFT
    model = network.Qwen3(shape)
    stored = torch.load(options.work / "checkpoints" / f"{name}.pt", weights_only=False)
    model.load_state_dict(stored["model"])
    exporting.write(model, options.work / "tokenizer", options.work / "pair" / name)


def publish(options: argparse.Namespace) -> None:
    """Copy both folders to where the package looks for them."""
    import shutil

    for name in ("target", "draft"):
        shutil.copytree(options.work / "pair" / name, options.out / name, dirs_exist_ok=True)


def main() -> None:
    """Run one stage or all of them."""
    options = parse()
    torch.set_num_threads(options.threads)
    if options.stage in ("data", "all"):
        from tiny_pair import dataset

        dataset.prepare(options.work)
    if options.stage in ("target", "all"):
        make_target(options)
    if options.stage in ("draft", "all"):
        make_draft(options)
    if options.stage in ("export", "all"):
        publish(options)


if __name__ == "__main__":
    main()

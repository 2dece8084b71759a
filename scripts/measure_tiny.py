"""Measure the built-in pair on held-out text and on text that its target writes itself."""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import sys
from pathlib import Path

import numpy as np

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
KINDS = ("words", "code", "prose")
PAIR = Path(__file__).resolve().parent.parent / "mlx_specdec" / "tiny"


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--work",
        type=Path,
        default=Path("build/tiny-pair"),
        help="where train_tiny.py put its data",
    )
    parser.add_argument(
        "--pair", type=Path, default=PAIR, help="the folder with target/ and draft/"
    )
    parser.add_argument(
        "--positions", type=int, default=4000, help="answer positions of each kind, at least"
    )
    parser.add_argument("--blas", action="append", default=[], help="libraries to load before MLX")
    parser.add_argument("--loss-rows", type=int, default=40)
    parser.add_argument("--out", type=Path, help="write the figures as JSON here too")
    return parser.parse_args()


def load_blas(libraries: list[str]) -> None:
    """Put a fast BLAS in front of the one that MLX brings: what the package would find itself."""
    if libraries:
        for library in libraries:
            ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        return
    sys.path.append(str(PAIR.parent.parent))
    from mlx_specdec.blas import load_fast_blas

    status = load_fast_blas(os.environ, system=platform.system(), mlx_is_imported=False)
    print(status.message)


def own_text(
    pair: Path, work: Path, num_positions: int
) -> dict[str, list[tuple[np.ndarray, list[int]]]]:
    """Answers that the target writes at temperature 0.7 to held-out prompts, float32, by kind."""
    import torch
    from tiny_pair import dataset, export, measuring, writing

    torch.manual_seed(0)
    torch.set_num_threads(2)
    writer = writing.Writer(
        export.read(pair / "target"), measuring.end_ids(pair / "target"), torch.float32
    )
    texts: dict[str, list[tuple[np.ndarray, list[int]]]] = {kind: [] for kind in KINDS}
    for kind in KINDS:
        prompts = {kind: dataset.read(work, f"held_out_{kind}_prompts")}
        for _, batch in writing.rounds(prompts, (kind,), 32, seed=4):
            texts[kind] += [(answer.prompt, answer.ids) for answer in writer.write(batch)]
            if sum(len(ids) for _, ids in texts[kind]) >= num_positions:
                break
    return texts


def main() -> None:
    """Print the table, the timings and the sizes."""
    options = parse()
    load_blas(options.blas)
    from tiny_pair import dataset, measuring

    texts = own_text(options.pair, options.work, options.positions)
    models = {name: measuring.load_float32(options.pair / name) for name in ("target", "draft")}
    parts = {
        kind: measuring.agreement(models["target"], models["draft"], texts[kind]) for kind in KINDS
    }
    means = {kind: part.means() for kind, part in parts.items()}
    means["all"] = measuring.merge(list(parts.values())).means()
    losses: dict[str, dict[str, float]] = {}
    for name, model in models.items():
        streams = {
            kind: dataset.RowStream(
                {kind: dataset.read(options.work, f"held_out_{kind}")}, {kind: 1.0}, 0
            )
            for kind in KINDS
        }
        losses[name] = {
            kind: measuring.held_out_loss(model, stream.batch(options.loss_rows, 512))
            for kind, stream in streams.items()
        }
    print(measuring.table(means, losses["target"], losses["draft"]))
    seconds = measuring.pass_seconds(models)
    ratio = seconds["target"] / seconds["draft"]
    print(f"\none-row pass: the target takes {ratio:.1f} times as long as the draft")
    size = sum(path.stat().st_size for path in options.pair.rglob("*") if path.is_file())
    print(f"{size / 1e6:.2f} MB in all")
    if options.out:
        options.out.write_text(
            json.dumps(
                {"agreement": means, "losses": losses, "ratio": ratio, "bytes": size}, indent=2
            )
        )


if __name__ == "__main__":
    main()

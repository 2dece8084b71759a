"""Show that the benchmark's prompts share no run of eight words with the built-in pair's texts.

    python scripts/check_workloads.py --work build/tiny-pair    (after `train_tiny.py data`)

Words are runs of letters and digits, in lower case. Ends with 1 when something is shared.
"""

from __future__ import annotations

import argparse
import re
from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from mlx_specdec.bench.workloads import workloads

import numpy as np
from tokenizers import Tokenizer

SIZE = 8
WORD = re.compile(r"[^\W_]+")
Gram = tuple[str, ...]


def grams(text: str) -> Iterator[Gram]:
    """All runs of SIZE words."""
    window: deque[str] = deque(maxlen=SIZE)
    for match in WORD.finditer(text.lower()):
        window.append(match.group())
        if len(window) == SIZE:
            yield tuple(window)


def training_texts(work: Path) -> Iterator[str]:
    """Every chat that the pair was trained on, and the questions that only the draft met."""
    tokenizer = Tokenizer.from_file(str(work / "tokenizer" / "tokenizer.json"))
    for path in sorted((work / "data").glob("train_*.npz")):
        if path.stem.endswith("_prompts") and path.stem != "train_questions_prompts":
            continue  # parts of the chats
        stored = np.load(path)
        ids, offsets = stored["ids"], stored["offsets"]
        for begin, end in pairwise(offsets):
            yield tokenizer.decode([int(token) for token in ids[begin:end]])


def main() -> int:
    """Print what is shared; 0 when nothing is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("build/tiny-pair"))
    options = parser.parse_args()
    ours: dict[Gram, str] = {}
    for workload in workloads():
        for prompt in (*workload.prompts, *([workload.pilot] if workload.pilot else [])):
            ours |= dict.fromkeys(grams(prompt), f"{workload.kind}: {prompt[:40]}")
    shared: set[Gram] = set()
    num_words = 0
    for text in training_texts(options.work):
        for gram in grams(text):
            num_words += 1
            if gram in ours:
                shared.add(gram)
    for gram in sorted(shared):
        print(f"shared with {ours[gram]}: {' '.join(gram)}")
    print(f"{len(ours)} runs of {SIZE} words in the prompts, {num_words} in the training text,")
    print(f"{len(shared)} shared")
    return 1 if shared else 0


if __name__ == "__main__":
    raise SystemExit(main())

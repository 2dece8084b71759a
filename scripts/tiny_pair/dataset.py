"""Conversations as token ids on disk, and rows of a fixed length drawn from them by kind."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from . import conversations, corpora, packages, questions
from . import tokenizer as pair_tokenizer
from .corpora import KINDS

import numpy as np
from tokenizers import Tokenizer

NUM_QUESTIONS = 6000


def prepare(work: Path) -> None:
    """Fetch the corpora, train the tokenizer, and write ids and held-out prompts under `work`."""
    documents, entries = corpora.read_documents(work / "downloads")
    meanings = [
        corpora.Document("words", entry.word, conversations.explain(entry, opening=""))
        for entry in entries
    ]
    trained = [
        item.text for item in documents + meanings if not corpora.is_held_out(item.kind, item.name)
    ]
    tokenizer = pair_tokenizer.train(trained)
    pair_tokenizer.save(tokenizer, work / "tokenizer")
    kept, held_out = conversations.build(documents, entries, tokenizer)
    summary: dict[str, object] = {"packages": packages.manifest(work / "downloads")}
    summary["corpora"] = {kind: corpora.digest(documents + meanings, kind) for kind in KINDS}
    for name, chosen in (("train", kept), ("held_out", held_out)):
        for kind in KINDS:
            of_kind = [item for item in chosen if item.kind == kind]
            summary[f"{name} {kind}"] = _write(work / "data", f"{name}_{kind}", of_kind, tokenizer)
    asked = questions.prompts(entries, NUM_QUESTIONS)
    _write_ids(work / "data" / "train_questions_prompts.npz", asked, tokenizer)
    (work / "data" / "summary.json").write_text(json.dumps(summary, indent=2))


def _write(
    folder: Path, name: str, chosen: Sequence[conversations.Conversation], tokenizer: Tokenizer
) -> dict[str, int]:
    """Ids one after another with offsets, and the prompts of the last answers."""
    folder.mkdir(parents=True, exist_ok=True)
    num_tokens = _write_ids(folder / f"{name}.npz", [item.text() for item in chosen], tokenizer)
    prompts = [item.prompt() for item in chosen]
    _write_ids(folder / f"{name}_prompts.npz", prompts, tokenizer)
    return {"conversations": len(chosen), "tokens": num_tokens}


def _write_ids(path: Path, texts: Sequence[str], tokenizer: Tokenizer) -> int:
    """The ids of texts one after another, with offsets; returns how many there are."""
    rows = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
    offsets = np.cumsum([0, *(len(row) for row in rows)])
    ids = np.fromiter((token for row in rows for token in row), dtype=np.uint16)
    np.savez(path, ids=ids, offsets=offsets)
    return len(ids)


def read(work: Path, name: str) -> list[np.ndarray]:
    """The id lists written under `name`, for example `train_code` or `held_out_words_prompts`."""
    with np.load(work / "data" / f"{name}.npz") as stored:
        ids, offsets = stored["ids"], stored["offsets"]
    return [ids[start:end] for start, end in pairwise(offsets)]


class RowStream:
    """Rows of ids: whole conversations packed, the last one cut, kinds mixed by `shares`."""

    def __init__(
        self, lists: Mapping[str, Sequence[np.ndarray]], shares: Mapping[str, float], seed: int
    ) -> None:
        self.lists = lists
        self.kinds = list(shares)
        self.shares = [shares[kind] for kind in self.kinds]
        self.generator = random.Random(seed)
        self.waiting: dict[str, list[int]] = {kind: [] for kind in self.kinds}
        self.num_tokens = dict.fromkeys(self.kinds, 0)

    def _next(self, kind: str) -> np.ndarray:
        """The next conversation of a kind, each once before any twice."""
        if not self.waiting[kind]:
            self.waiting[kind] = list(range(len(self.lists[kind])))
            self.generator.shuffle(self.waiting[kind])
        return self.lists[kind][self.waiting[kind].pop()]

    def _kind(self) -> str:
        """The kind that is furthest behind its share, with some chance mixed in."""
        total = sum(self.num_tokens.values()) + 1
        debts = [
            share * total - self.num_tokens[kind]
            for kind, share in zip(self.kinds, self.shares, strict=True)
        ]
        return self.kinds[
            max(range(len(debts)), key=lambda index: debts[index] + self.generator.random() * 2000)
        ]

    def row(self, length: int) -> np.ndarray:
        """One row of ids."""
        parts, missing = [], length + 1
        while missing > 0:
            kind = self._kind()
            part = self._next(kind)[:missing]
            parts.append(part)
            missing -= len(part)
            self.num_tokens[kind] += len(part)
        return np.concatenate(parts).astype(np.int64)

    def batch(self, num_rows: int, length: int) -> np.ndarray:
        """Rows stacked, shape [num_rows, length + 1]."""
        return np.stack([self.row(length) for _ in range(num_rows)])

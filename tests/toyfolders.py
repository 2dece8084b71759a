"""Folders of toy models for the command line: a pair, a thinker, and some that are broken."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlx_specdec.backend import mx, nn
from mlx_specdec.loaded import LoadedModel
from tests.toymodels import CHAT_TEMPLATE, perturbed, save_toy, toy_model, toy_tokenizer

import numpy as np

ENDLESS_CONTEXT = 1_000_000
SHORT_CONTEXT = 96
_WIDTH = 280


@dataclass(frozen=True)
class ToyFolders:
    """Paths as the command line takes them.

    ``target`` never ends by itself at temperature 0; ``short`` is the same with a context of
    SHORT_CONTEXT tokens; ``thinker`` has a chat template that opens a thinking block.
    ``broken`` lacks the end of its weights, ``unknown`` is of a kind that nobody knows.
    """

    target: str
    draft: str
    short: str
    thinker: str
    broken: str
    unknown: str

    @property
    def pair(self) -> tuple[str, str, str, str]:
        return "--target", self.target, "--draft", self.draft


def make_toy_folders(root: Path) -> ToyFolders:
    tokenizer = toy_tokenizer(_WIDTH)
    model = _without_end(toy_model(_WIDTH, layers=1, context=ENDLESS_CONTEXT), tokenizer)
    save_toy(root / "target", model, tokenizer)
    save_toy(root / "draft", perturbed(model, 0.1), tokenizer)
    save_toy(root / "short", model, tokenizer, max_position_embeddings=SHORT_CONTEXT)
    thinker = toy_tokenizer(_WIDTH)
    thinker._tokenizer.chat_template = CHAT_TEMPLATE.replace(
        "<|im_start|>assistant\n", "<|im_start|>assistant\n<think>\n"
    )
    save_toy(root / "thinker", model, thinker)
    broken = save_toy(root / "broken", model, tokenizer)
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    save_toy(root / "unknown", model, tokenizer, model_type="nobody-knows")
    names = ("target", "draft", "short", "thinker", "broken", "unknown")
    return ToyFolders(*(str(root / name) for name in names))


def _without_end(loaded: LoadedModel, tokenizer: Any) -> LoadedModel:
    """The same model with nothing to say for the special tokens."""
    assert isinstance(loaded.model, nn.Module)
    head = loaded.model.lm_head
    weights = np.array(head.weight)
    vocabulary = tokenizer.get_vocab()
    for text, token in vocabulary.items():
        if text.startswith("<|"):
            weights[token] = 0.0
    head.weight = mx.array(weights)
    return dataclasses.replace(loaded)


def read_json(text: str) -> dict[str, Any]:
    document = json.loads(text)
    assert isinstance(document, dict)
    return document

"""Table models: logits looked up by the last two tokens, so that a text's law is known exactly.

The tokens are kept in the model's cache and nowhere else, so a cache that was not rewound shows.
"""

from __future__ import annotations

import itertools
from typing import Any

from mlx_specdec.backend import mx
from mlx_specdec.loaded import LoadedModel
from tests.toys import Law, Table, Tokens

import numpy as np

PROMPT = (0, 0)
"""Two tokens, so that every context is full."""


class Letters:
    """A tokenizer that writes token 0 as a, 1 as b, ..."""

    def decode(self, ids: list[int]) -> str:
        return "".join(chr(97 + token) for token in ids)


class TableModel:
    """Called like an mlx-lm model; ``table`` is [vocab, vocab, width] of logits."""

    def __init__(self, table: mx.array) -> None:
        self._table = table

    def make_cache(self) -> list[Any]:
        from mlx_lm.models.cache import KVCache

        return [KVCache()]

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        rows = inputs.shape[1]
        ids = inputs.astype(mx.float32)[:, None, :, None]
        held, _ = cache[0].update_and_fetch(ids, ids)
        last = held[0, 0, :, 0].astype(mx.int32)
        before = mx.concatenate([mx.zeros((1,), dtype=mx.int32), last[:-1]])
        return self._table[before[-rows:], last[-rows:]][None]


def loaded_of(model: Any, width: int, name: str = "table", context: int | None = None) -> Any:
    """A LoadedModel around anything that can be called like a model."""
    return LoadedModel(
        model=model,
        config={},
        path=None,
        name=name,
        vocab_width=width,
        num_layers=1,
        context_length=context,
        weight_bytes=0,
        quantisation="float32",
        kv_bytes_per_token=8,
    )


def table_model(table: Table) -> Any:
    """The MLX model of a table of fractions; a chance of 0 is a logit of -inf."""
    size = table.vocab
    laws = np.zeros((size, size, size))
    for first, second in itertools.product(range(size), repeat=2):
        laws[first, second] = [float(chance) for chance in table((first, second))]
    with np.errstate(divide="ignore"):
        logits = np.log(laws).astype(np.float32)
    return loaded_of(TableModel(mx.array(logits)), size, table.seed)


def after_prompt(table: Table) -> Any:
    """The table as the law of what follows PROMPT, in the form that toys enumerates."""

    def law(text: Tokens) -> Law:
        return table((PROMPT + text)[-2:])

    return law

"""What is in memory: one loaded model, and a pair with the tokenizer they share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .backend import mx

if TYPE_CHECKING:
    from .pairing import PairReport

__all__ = ["CausalModel", "LoadedModel", "Pair"]


class CausalModel(Protocol):
    """How a model is called: token ids [1, n] in, logits [1, n, vocab_width] out."""

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array: ...


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """One model, evaluated and ready to be called.

    Args:
        model: called as ``model(tokens[1, n], cache=list)``; gives logits [1, n, vocab_width].
        config: config.json as mlx-lm read it.
        path: the folder it came from; None for a model made in memory.
        name: what to call it on the screen.
        vocab_width: width of the logits; at least the tokenizer's, often padded.
        num_layers: transformer blocks.
        context_length: tokens, prompt and answer together; None when the config does not say.
        weight_bytes: bytes of all weights as they lie in memory now.
        quantisation: in words, such as ``4-bit, groups of 64`` or ``float32``.
        kv_bytes_per_token: bytes one token takes in the cache, all blocks together.
        head_dim: width of one attention head; 0 when unknown.
    """

    model: CausalModel = field(repr=False)
    config: dict[str, Any] = field(repr=False)
    path: Path | None
    name: str
    vocab_width: int
    num_layers: int
    context_length: int | None
    weight_bytes: int
    quantisation: str
    kv_bytes_per_token: int
    head_dim: int = 0


@dataclass(frozen=True, eq=False)
class Pair:
    """A target, perhaps a draft, and the target's tokenizer.

    Args:
        target: the model whose law the text follows.
        draft: the small model that guesses ahead; None means plain decoding.
        tokenizer: mlx-lm's TokenizerWrapper over the target's tokenizer.
        eos_token_ids: every id that ends an answer: model, tokenizer and generation config joined.
        tokenizer_width: 1 + the tokenizer's largest id; logits from there on are padding.
        generation_defaults: temperature, top_p, top_k, ... from generation_config.json.
        report: what the comparison of the two tokenizers found; None without a draft.
        copies: guesses are copied from the text; there is no draft then.
    """

    target: LoadedModel
    draft: LoadedModel | None
    tokenizer: Any
    eos_token_ids: frozenset[int]
    tokenizer_width: int
    generation_defaults: dict[str, Any] = field(default_factory=dict)
    report: PairReport | None = None
    copies: bool = False

    @property
    def drafts(self) -> bool:
        """Whether anything guesses ahead."""
        return self.copies or self.draft is not None

    @property
    def context_length(self) -> int | None:
        """The smaller of the two models' context lengths, in tokens; None when neither says."""
        known = [
            model.context_length
            for model in (self.target, self.draft)
            if model is not None and model.context_length is not None
        ]
        return min(known) if known else None

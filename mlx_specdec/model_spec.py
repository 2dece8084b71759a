"""What is known of one model before it is loaded: where it lives, its shape, its size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .architecture import text_config
from .request import COPY

__all__ = ["MODEL_KINDS", "ModelSpec", "PairSpec", "count_parameters", "quantised_bytes"]

MODEL_KINDS = ("dense", "moe", "hybrid")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model, as the registry, a repository id or a folder describes it.

    A figure of 0 means that it is not known. Widths and counts are of the published config.json.

    Args:
        alias: the short name, else the repository id, else the folder's path.
        repo: repository id on the hub; empty for a built-in model or a folder.
        built_in: ``target`` or ``draft`` for the two models inside the package, else empty.
        path: the folder, when the user named one.
        kind: ``dense``, ``moe`` (mixture of experts) or ``hybrid`` (some layers without a
            growing cache).
        params, active_params: weights in all, and those one token reads (fewer in a ``moe``).
        weight_bytes: bytes of the stored, quantised weights.
        bits, group_size: of the quantisation; bits 16 is none.
        context_length: tokens.
        default_draft: alias of the draft that is used when none is named; may be empty.
    """

    alias: str
    repo: str = ""
    built_in: str = ""
    path: Path | None = None
    family: str = ""
    kind: str = "dense"
    params: int = 0
    active_params: int = 0
    weight_bytes: int = 0
    bits: int = 0
    group_size: int = 0
    layers: int = 0
    hidden_width: int = 0
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    mlp_width: int = 0
    vocab_size: int = 0
    context_length: int = 0
    experts: int = 0
    experts_per_token: int = 0
    expert_width: int = 0
    tied_embeddings: bool = False
    qkv_bias: bool = False
    qk_norm: bool = False
    default_draft: str = ""
    notes: str = ""

    @property
    def where(self) -> str:
        """The repository id, the folder or ``built-in``: what a person would look for."""
        if self.built_in:
            return "built-in"
        return str(self.path) if self.path is not None else self.repo

    @property
    def has_shape(self) -> bool:
        return min(self.layers, self.hidden_width, self.heads, self.head_dim, self.vocab_size) > 0

    @property
    def embedding_bytes(self) -> int:
        """Bytes of the table that a token only looks one row up in; 0 when the table is tied."""
        if self.tied_embeddings:
            return 0
        return quantised_bytes(self.vocab_size * self.hidden_width, self.bits, self.group_size)

    @property
    def read_bytes(self) -> int:
        """Weight bytes that a pass over one token reads; 0 when the size is not known."""
        read = self.weight_bytes - self.embedding_bytes
        if self.kind == "moe" and self.params and self.active_params:
            idle = self.params - self.active_params
            read -= quantised_bytes(idle, self.bits, self.group_size)
        return max(read, 0)

    @classmethod
    def from_config(
        cls, alias: str, config: Mapping[str, Any], weight_bytes: int = 0, **fields: Any
    ) -> ModelSpec:
        """A spec from a model's config.json; ``weight_bytes`` as found on the disk."""
        text = text_config(config)
        shape: dict[str, Any] = {
            "layers": _whole(text, "num_hidden_layers"),
            "hidden_width": _whole(text, "hidden_size"),
            "heads": _whole(text, "num_attention_heads"),
            "mlp_width": _whole(text, "intermediate_size"),
            "vocab_size": _whole(text, "vocab_size"),
            "context_length": _whole(text, "max_position_embeddings"),
            "experts": _whole(text, "num_experts", "num_local_experts"),
            "experts_per_token": _whole(text, "num_experts_per_tok"),
            "expert_width": _whole(text, "moe_intermediate_size"),
        }
        shape["kv_heads"] = _whole(text, "num_key_value_heads") or shape["heads"]
        per_head = shape["hidden_width"] // shape["heads"] if shape["heads"] else 0
        shape["head_dim"] = _whole(text, "head_dim") or per_head
        family = str(text.get("model_type", ""))
        linear = "layer_types" in text and "linear_attention" in str(text["layer_types"])
        hybrid = linear or "full_attention_interval" in text
        quantisation = config.get("quantization") or config.get("quantization_config") or {}
        details = quantisation if isinstance(quantisation, Mapping) else {}
        spec = cls(
            alias=alias,
            family=family,
            kind="hybrid" if hybrid else "moe" if shape["experts"] else "dense",
            bits=_whole(details, "bits") or 16,
            group_size=_whole(details, "group_size"),
            tied_embeddings=bool(text.get("tie_word_embeddings", False)),
            qkv_bias=family.startswith("qwen2") or bool(text.get("attention_bias", False)),
            qk_norm=family.startswith("qwen3"),
            weight_bytes=weight_bytes,
            **shape,
            **fields,
        )
        return spec.with_counts()

    def with_counts(self) -> ModelSpec:
        """The same, with parameters and weight bytes worked out where they are not given."""
        if not self.has_shape or self.kind == "hybrid":
            return self
        params, active, plain = count_parameters(self)
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["params"] = self.params or params
        values["active_params"] = self.active_params or active
        if not self.weight_bytes:
            values["weight_bytes"] = (
                quantised_bytes(params - plain, self.bits, self.group_size) + 2 * plain
            )
        return ModelSpec(**values)


@dataclass(frozen=True, slots=True)
class PairSpec:
    """A target and the draft that proposes for it; ``draft`` None is plain decoding, unless
    guesses are copied from the text (``copies``)."""

    target: ModelSpec
    draft: ModelSpec | None
    copies: bool = False

    @property
    def name(self) -> str:
        if self.copies:
            return f"{self.target.alias}+{COPY}"
        return (
            self.target.alias if self.draft is None else f"{self.target.alias}+{self.draft.alias}"
        )

    @property
    def drafts(self) -> bool:
        """Whether anything guesses ahead."""
        return self.copies or self.draft is not None

    def as_drafted(self, draft: bool | str) -> PairSpec:
        """The pair of an answer whose settings say ``draft`` (see Settings)."""
        return PairSpec(self.target, None, copies=True) if draft == COPY else self

    @property
    def specs(self) -> tuple[ModelSpec, ...]:
        return (self.target,) if self.draft is None else (self.target, self.draft)


def _whole(config: Mapping[str, Any], *names: str) -> int:
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return 0


def quantised_bytes(count: int, bits: int, group_size: int) -> int:
    """Bytes of ``count`` weights: ``bits`` each, and a 16-bit scale and bias a group.

    Bits 0 (not known) and 16 and more count as unquantised 16-bit weights.
    """
    if not 0 < bits < 16 or group_size <= 0:
        return 2 * count
    return count * bits // 8 + 4 * count // group_size


def count_parameters(spec: ModelSpec) -> tuple[int, int, int]:
    """Parameters from the widths of a Qwen2, Qwen3 or Llama shaped model.

    Returns:
        All parameters, those that one token uses, and those that stay unquantised (norms and
        biases; part of both).
    """
    width, query = spec.hidden_width, spec.heads * spec.head_dim
    key_value = spec.kv_heads * spec.head_dim
    attention = 2 * width * query + 2 * width * key_value
    bias = query + 2 * key_value if spec.qkv_bias else 0
    norms = 2 * width + (2 * spec.head_dim if spec.qk_norm else 0)
    if spec.kind == "moe":
        expert = 3 * width * spec.expert_width
        router = width * spec.experts
        mlp, active_mlp = spec.experts * expert + router, spec.experts_per_token * expert + router
    else:
        mlp = active_mlp = 3 * width * spec.mlp_width
    embeddings = spec.vocab_size * width * (1 if spec.tied_embeddings else 2)
    plain = spec.layers * (bias + norms) + width
    shared = embeddings + spec.layers * attention + plain
    return shared + spec.layers * mlp, shared + spec.layers * active_mlp, plain


def bits_in_name(name: str) -> int:
    """The bits that a repository's name promises (``...-4bit``); 0 when it says nothing."""
    match = re.search(r"(?<![0-9])([2-8])-?bit", name, re.IGNORECASE)
    return int(match.group(1)) if match else 0

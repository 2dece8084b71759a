"""What a model's config.json says about its shape, without touching its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Architecture", "architecture_of", "context_length_of", "text_config"]

# mlx-lm groups the entries of a quantised cache by this many by default.
KV_GROUP_SIZE = 64


@dataclass(frozen=True, slots=True)
class Architecture:
    """The shape of a language model.

    Args:
        model_type: the family's name, such as ``qwen3``.
        num_layers: transformer blocks.
        kv_layers: blocks whose cache grows with every token (linear attention does not).
        vocab_size: rows of the embedding; 0 when the config does not say.
        num_kv_heads: key and value heads a block; 0 when unknown.
        head_dim: width of one head; 0 when unknown.
        kv_width: numbers a growing block caches per token (keys and values together).
        context_length: tokens; None when unknown.
    """

    model_type: str
    num_layers: int
    kv_layers: int
    vocab_size: int
    num_kv_heads: int
    head_dim: int
    kv_width: int
    context_length: int | None

    def kv_bytes_per_token(
        self, bytes_per_number: int = 2, kv_bits: int | None = None, group_size: int = KV_GROUP_SIZE
    ) -> int:
        """Bytes one token takes in the cache, all blocks together.

        A quantised cache stores ``kv_bits`` a number plus a scale and a bias a group, each of
        ``bytes_per_number``.
        """
        numbers = self.kv_layers * self.kv_width
        if kv_bits is None:
            return numbers * bytes_per_number
        return numbers * kv_bits // 8 + 2 * bytes_per_number * numbers // group_size


def text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part that describes the language model (models that also see nest it)."""
    nested = config.get("text_config")
    return nested if isinstance(nested, Mapping) else config


def _int(config: Mapping[str, Any], *names: str) -> int:
    """The first of these entries that is a whole number, else 0."""
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return 0


def context_length_of(config: Mapping[str, Any]) -> int | None:
    """Tokens the model was made for, prompt and answer together; None when unknown.

    ``max_position_embeddings`` already includes a scaling of the rotary embedding, except with
    the kinds whose config names the unscaled length: there the product counts, if it is larger.
    """
    text = text_config(config)
    limit = _int(text, "max_position_embeddings", "n_positions", "max_seq_len", "n_ctx")
    scaling = text.get("rope_scaling") or text.get("rope_parameters")
    if isinstance(scaling, Mapping):
        original = _int(scaling, "original_max_position_embeddings")
        factor = scaling.get("factor")
        if original and isinstance(factor, int | float) and factor > 1:
            limit = max(limit, int(original * factor))
    return limit or None


def _kv_layers(text: Mapping[str, Any], num_layers: int) -> int:
    kinds = text.get("layer_types")
    if isinstance(kinds, list) and len(kinds) == num_layers:
        return sum(1 for kind in kinds if "linear" not in str(kind) and "mamba" not in str(kind))
    every = _int(text, "full_attention_interval")
    return num_layers // every if every > 1 else num_layers


def architecture_of(config: Mapping[str, Any]) -> Architecture:
    """Read the shape from a config as mlx-lm and transformers write it."""
    text = text_config(config)
    num_layers = _int(text, "num_hidden_layers", "n_layers", "n_layer", "num_layers")
    num_heads = _int(text, "num_attention_heads", "n_heads", "n_head")
    hidden = _int(text, "hidden_size", "d_model", "n_embd", "dim")
    num_kv_heads = _int(text, "num_key_value_heads") or num_heads
    head_dim = _int(text, "head_dim") or (hidden // num_heads if num_heads else 0)
    latent = _int(text, "kv_lora_rank")
    rotary = _int(text, "qk_rope_head_dim")
    return Architecture(
        model_type=str(config.get("model_type", "")),
        num_layers=num_layers,
        kv_layers=_kv_layers(text, num_layers),
        vocab_size=_int(text, "vocab_size", "padded_vocab_size"),
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        kv_width=latent + rotary if latent else 2 * num_kv_heads * head_dim,
        context_length=context_length_of(config),
    )

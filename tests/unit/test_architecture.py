"""What a config.json says of a model's shape."""

from __future__ import annotations

from typing import Any

from mlx_specdec.architecture import architecture_of, context_length_of

import pytest

QWEN3_14B = {
    "model_type": "qwen3",
    "num_hidden_layers": 40,
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "hidden_size": 5120,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
}


def test_cache_bytes_of_published_models() -> None:
    """160 KiB a token for Qwen3-14B and 112 KiB for its 0.6B draft, in half precision."""
    assert architecture_of(QWEN3_14B).kv_bytes_per_token() == 163_840
    small = {**QWEN3_14B, "num_hidden_layers": 28, "num_attention_heads": 16, "hidden_size": 1024}
    assert architecture_of(small).kv_bytes_per_token() == 114_688


def test_a_quantised_cache_also_stores_scales_and_biases() -> None:
    shape = architecture_of(QWEN3_14B)
    numbers = 40 * 2 * 8 * 128
    assert shape.kv_bytes_per_token(2, kv_bits=4) == numbers // 2 + numbers // 64 * 4


def test_only_blocks_that_grow_are_counted() -> None:
    hybrid = {**QWEN3_14B, "full_attention_interval": 4}
    assert architecture_of(hybrid).kv_layers == 10
    kinds = ["linear_attention"] * 30 + ["full_attention"] * 10
    assert architecture_of({**QWEN3_14B, "layer_types": kinds}).kv_layers == 10


def test_a_nested_text_config_is_read() -> None:
    shape = architecture_of({"model_type": "qwen3_vl", "text_config": QWEN3_14B})
    assert (shape.model_type, shape.num_layers, shape.vocab_size) == ("qwen3_vl", 40, 151936)


def test_a_compressed_cache_is_as_wide_as_its_latent() -> None:
    shape = architecture_of({**QWEN3_14B, "kv_lora_rank": 512, "qk_rope_head_dim": 64})
    assert shape.kv_width == 576


@pytest.mark.parametrize(
    ("scaling", "length"),
    [
        (None, 40960),
        ({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}, 131072),
        ({"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 1024}, 40960),
        ({"rope_type": "default", "rope_theta": 1e6}, 40960),
    ],
)
def test_context_length_with_and_without_scaling(
    scaling: dict[str, Any] | None, length: int
) -> None:
    assert context_length_of({**QWEN3_14B, "rope_scaling": scaling}) == length


def test_an_unknown_context_length_is_none() -> None:
    assert context_length_of({"model_type": "qwen3"}) is None

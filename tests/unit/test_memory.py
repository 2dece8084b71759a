"""Bytes a pair needs."""

from __future__ import annotations

from pathlib import Path

from mlx_specdec.memory import (
    bytes_text,
    fits,
    gpu_limit_bytes,
    kv_bytes_per_token,
    physical_memory_bytes,
)
from mlx_specdec.model_spec import ModelSpec
from mlx_specdec.registry import Registry

import pytest

REGISTRY = Registry.load(Path("none.toml"))
TARGET, DRAFT = REGISTRY.resolve("qwen3-14b"), REGISTRY.resolve("qwen3-0.6b")


def test_cache_bytes_a_token() -> None:
    assert kv_bytes_per_token(TARGET) == 163_840
    assert (
        kv_bytes_per_token(DRAFT) == kv_bytes_per_token(REGISTRY.resolve("qwen3-1.7b")) == 114_688
    )
    assert kv_bytes_per_token(DRAFT, bytes_per_number=4) == 229_376


def test_what_a_gpu_may_use() -> None:
    gib = 2**30
    assert gpu_limit_bytes(16 * gib) == 16 * gib * 2 // 3
    assert gpu_limit_bytes(36 * gib) == 24 * gib
    assert gpu_limit_bytes(128 * gib) == 96 * gib
    assert gpu_limit_bytes(16 * gib, device_limit=12 * gib) == 12 * gib


@pytest.mark.parametrize(
    ("context", "gib", "verdict"),
    [
        (4096, 16, "tight"),
        (16384, 16, "does not fit"),
        (4096, 24, "fits"),
        (4096, 8, "does not fit"),
    ],
)
def test_the_verdict_counts_both_models_and_both_caches(
    context: int, gib: int, verdict: str
) -> None:
    need = fits(TARGET, DRAFT, context, gpu_limit_bytes(gib * 2**30))
    assert need.verdict == verdict
    assert need.can_run == (verdict != "does not fit")
    assert need.kv_bytes == context * (163_840 + 114_688)
    assert need.weight_bytes == TARGET.weight_bytes + DRAFT.weight_bytes
    assert need.total_bytes == need.kv_bytes + need.weight_bytes + need.working_bytes


def test_an_unknown_size_is_unknown() -> None:
    assert fits(ModelSpec(alias="x", repo="x/y"), None, 4096, 10**12).verdict == "unknown"


def test_this_machine_has_memory() -> None:
    assert physical_memory_bytes() > 10**9


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (8.31e9, "8.3 GB"),
        (335e6, "0.3 GB"),
        (52.3e9, "52 GB"),
        (11e6, "11.0 MB"),
        (4_200, "4 kB"),
        (0, "0 kB"),
    ],
)
def test_bytes_as_people_read_them(count: float, text: str) -> None:
    assert bytes_text(count) == text

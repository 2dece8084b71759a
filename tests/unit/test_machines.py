"""The published tables and what follows from them."""

from __future__ import annotations

from pathlib import Path

from mlx_specdec.costs.machines import CHIPS, chip_of, published_forecast
from mlx_specdec.model_spec import ModelSpec
from mlx_specdec.registry import Registry

import pytest

REGISTRY = Registry.load(Path("none.toml"))
TARGET, DRAFT = REGISTRY.resolve("qwen3-14b"), REGISTRY.resolve("qwen3-0.6b")

# Best speedup and the lookahead it is at, for acceptance 0.5 to 0.9, as published.
BEST = {
    "m1-pro": [(0.80, 1), (0.86, 1), (0.91, 1), (0.96, 1), (1.02, 1)],
    "m2-max": [(0.78, 1), (0.83, 1), (0.88, 1), (0.93, 1), (0.98, 1)],
    "m3-max": [(1.22, 1), (1.32, 2), (1.48, 2), (1.67, 3), (1.94, 3)],
    "m4-pro": [(1.27, 1), (1.40, 2), (1.56, 2), (1.78, 3), (2.07, 3)],
    "m4-max": [(1.20, 1), (1.30, 2), (1.45, 2), (1.63, 3), (1.90, 3)],
    "m5-max": [(1.28, 2), (1.43, 2), (1.60, 2), (1.82, 3), (2.12, 4)],
}
# Speedup by lookahead 1 to 8 at acceptance 0.8.
BY_LOOKAHEAD = {
    "m1-pro": [0.96, 0.92, 0.86, 0.80, 0.75, 0.70, 0.66, 0.63],
    "m2-max": [0.93, 0.88, 0.83, 0.76, 0.72, 0.67, 0.63, 0.60],
    "m3-max": [1.46, 1.65, 1.67, 1.53, 1.40, 1.31, 1.22, 1.06],
    "m4-max": [1.44, 1.61, 1.63, 1.50, 1.37, 1.28, 1.20, 1.04],
    "m5-max": [1.51, 1.78, 1.82, 1.74, 1.61, 1.49, 1.38, 1.28],
}


@pytest.mark.parametrize("name", BEST)
def test_best_speedups_are_the_published_ones(name: str) -> None:
    for acceptance, (speedup, lookahead) in zip((0.5, 0.6, 0.7, 0.8, 0.9), BEST[name], strict=True):
        forecast = published_forecast(CHIPS[name], TARGET, DRAFT, acceptance=acceptance)
        assert forecast is not None
        assert forecast.speedup == pytest.approx(speedup, abs=0.03)
        assert forecast.best_lookahead == lookahead
        assert forecast.parked == (forecast.speedup <= 1)


@pytest.mark.parametrize("name", BY_LOOKAHEAD)
def test_speedups_by_lookahead_are_the_published_ones(name: str) -> None:
    forecast = published_forecast(CHIPS[name], TARGET, DRAFT, acceptance=0.8)
    assert forecast is not None
    assert forecast.speedups == pytest.approx(BY_LOOKAHEAD[name], abs=0.03)


@pytest.mark.parametrize(
    ("name", "context", "acceptance", "speedup"),
    [
        ("m3-max", 4096, 0.7, 1.33),
        ("m4-max", 4096, 0.8, 1.46),
        ("m5-max", 4096, 0.8, 1.60),
        ("m3-max", 16384, 0.7, 1.14),
        ("m5-max", 16384, 0.8, 1.31),
    ],
)
def test_a_long_context_takes_from_the_speedup(
    name: str, context: int, acceptance: float, speedup: float
) -> None:
    forecast = published_forecast(CHIPS[name], TARGET, DRAFT, context, acceptance)
    assert forecast is not None
    assert forecast.speedup == pytest.approx(speedup, abs=0.06)


@pytest.mark.parametrize(
    ("chip", "model", "context", "tokens_per_second"),
    [
        ("m5-max", "qwen3-0.6b", 0, 572),
        ("m5-max", "qwen3-1.7b", 0, 378),
        ("m5-max", "qwen3-4b", 0, 190),
        ("m5-max", "qwen3-8b", 0, 112),
        ("m4-max", "qwen2.5-32b", 0, 25),
        ("m3-pro", "qwen3-4b", 2048, 44.6),
        ("m3-pro", "qwen2.5-32b", 0, 7.3),
        ("m3-ultra", "qwen2.5-14b", 0, 66.4),
    ],
)
def test_other_models_come_near_public_measurements(
    chip: str, model: str, context: int, tokens_per_second: float
) -> None:
    forecast = published_forecast(CHIPS[chip], REGISTRY.resolve(model), None, context)
    assert forecast is not None
    assert forecast.plain_tokens_per_second == pytest.approx(tokens_per_second, rel=0.15)


def test_every_chip_of_five_generations_is_there() -> None:
    assert len(CHIPS) == 18
    assert {chip.generation for chip in CHIPS.values()} == {1, 2, 3, 4, 5}
    assert [name for name, chip in CHIPS.items() if not chip.is_scaled] == list(BEST)
    for chip in CHIPS.values():
        assert 0.5 < chip.effective_bandwidth / chip.bandwidth < 0.9
        assert chip.target_seconds == pytest.approx(7.87e9 / chip.effective_bandwidth, rel=0.01)
        assert 0.001 < chip.draft_seconds < 0.01


@pytest.mark.parametrize(
    ("brand", "name", "label"),
    [
        ("Apple M3 Pro", "m3-pro", "M3 Pro"),
        ("Apple M2", "m2", "M2"),
        ("m5-max", "m5-max", "M5 Max"),
        ("Apple M1 Ultra (Virtual)", "m1-ultra", "M1 Ultra"),
    ],
)
def test_a_brand_finds_its_table(brand: str, name: str, label: str) -> None:
    chip = chip_of(brand)
    assert chip is not None
    assert (chip.name, chip.label) == (name, label)


@pytest.mark.parametrize("brand", ["", "Apple M9 Max", "Apple M4 Ultra", "AMD EPYC 7B13", "arm64"])
def test_an_unknown_brand_finds_none(brand: str) -> None:
    assert chip_of(brand) is None


def test_on_the_first_two_generations_drafting_parks_with_the_reason() -> None:
    forecast = published_forecast(CHIPS["m2"], TARGET, DRAFT, context=0)
    assert forecast is not None
    assert forecast.parked
    assert forecast.tokens_per_second == forecast.plain_tokens_per_second
    assert forecast.plain_tokens_per_second == pytest.approx(9.7, abs=0.8)
    assert "a pass over 2 tokens costs 1.7" in forecast.reason


def test_a_mixture_of_experts_gains_little_and_says_why() -> None:
    moe = REGISTRY.resolve("qwen3-30b-a3b")
    forecast = published_forecast(CHIPS["m5-max"], moe, DRAFT)
    assert forecast is not None
    assert forecast.parked
    assert "experts" in forecast.reason


def test_without_a_draft_and_without_a_size() -> None:
    plain = published_forecast(CHIPS["m4-pro"], TARGET, None)
    assert plain is not None
    assert (plain.speedup, plain.best_lookahead, plain.reason) == (1.0, 0, "no draft")
    assert published_forecast(CHIPS["m4-pro"], ModelSpec(alias="x", repo="x/y"), DRAFT) is None

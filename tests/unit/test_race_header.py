"""The header of a race, and a model's size in a word."""

from __future__ import annotations

from datetime import UTC, datetime

from mlx_specdec.model_spec import ModelSpec
from mlx_specdec.prompts import Prompt
from mlx_specdec.race.header import race_header, size_word
from mlx_specdec.registry import Registry
from mlx_specdec.settings import Settings, settings_from

import pytest

REGISTRY = Registry.load()


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        (REGISTRY.resolve("qwen3-14b"), "14B"),
        (REGISTRY.resolve("qwen3-0.6b"), "0.6B"),
        (REGISTRY.resolve("qwen3-30b-a3b"), "30B"),
        (REGISTRY.resolve("qwen2.5-1.5b"), "1.5B"),
        (ModelSpec("some-folder", params=1_720_000_000), "1.7B"),
        (ModelSpec("smollm", params=135_000_000), "135M"),
        (ModelSpec("m", repo="org/Big-7B-Instruct-4bit"), "7B"),
        (ModelSpec("big-4bit"), ""),
    ],
    ids=lambda value: getattr(value, "alias", value),
)
def test_a_size_in_a_word(spec: ModelSpec, word: str) -> None:
    assert size_word(spec) == word


def test_a_header_names_what_the_figures_depend_on() -> None:
    settings = settings_from(Settings(rule="block", seed=5, max_tokens=99), temperature=0.5)
    header = race_header(
        REGISTRY.resolve_pair("qwen3-14b"),
        settings,
        Prompt("explain-2", "explain", "Why?"),
        machine="M3 Pro 36 GB",
        power="battery",
        versions={"mlx": "1.2"},
        date=datetime(2026, 1, 2, tzinfo=UTC),
    )
    assert (header.target, header.draft) == ("qwen3-14b", "qwen3-0.6b")
    assert (header.target_size, header.draft_size) == ("14B", "0.6B")
    assert (header.machine, header.chip, header.power) == ("M3 Pro 36 GB", "m3-pro", "battery")
    assert (header.prompt_id, header.prompt) == ("explain-2", "Why?")
    assert (header.temperature, header.rule, header.seed) == (0.5, "block", 5)
    assert (header.max_tokens, header.quantization) == (99, "4-bit")
    assert header.date.startswith("2026-01-02")
    assert header.versions == {"mlx": "1.2"}
    assert not header.is_toy
    assert header.retimed == ""


def test_without_a_draft_or_drafting_and_with_the_toy() -> None:
    prompt = Prompt("", "own", "Why?")
    plain = REGISTRY.resolve_pair("tiny", "none")
    header = race_header(plain, Settings(draft=False), prompt)
    assert (header.draft, header.draft_size, header.lookahead) == ("", "", "0")
    assert header.is_toy
    assert header.date == ""

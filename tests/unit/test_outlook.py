"""Outlook: which pairs fit, which pay, and in which order they are shown."""

from __future__ import annotations

from dataclasses import dataclass

from mlx_specdec.costs.machines import CHIPS, published_model
from mlx_specdec.forecast.outlook import PricesOf, outlook_of, outlook_rows, outlooks, pays_words
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.memory import gpu_limit_bytes
from mlx_specdec.model_spec import ModelSpec, PairSpec
from tests.forecasts import REGISTRY, pair_of

import pytest


@dataclass(frozen=True)
class Known:
    model: LatencyModel
    source: str = "published"
    words: str = "published figures for M2"


def published(chip: str) -> PricesOf:
    def prices(pair: PairSpec) -> Known | None:
        model = published_model(CHIPS[chip], pair.target, pair.draft, 4096)
        return None if model is None else Known(model)

    return prices


def test_the_cell_says_yes_no_too_large_or_nothing() -> None:
    limit = gpu_limit_bytes(16 * 2**30)
    pair = pair_of("qwen3-14b")
    assert pays_words(outlook_of(pair, limit, published("m2")(pair))) == "no, 0.93x"
    assert pays_words(outlook_of(pair, limit, published("m4-max")(pair))) == "yes, 1.4x"
    assert pays_words(outlook_of(pair, limit, None)) == ""
    large = pair_of("qwen2.5-72b")
    assert pays_words(outlook_of(large, limit, published("m2")(large))) == "too large"
    crawl = LatencyModel.measured(((1, 15.0), (2, 28.0)), 0.4)
    assert pays_words(outlook_of(pair, limit, Known(crawl))) == "too slow"
    alone = pair_of("qwen3-14b", "none")
    assert pays_words(outlook_of(alone, limit, published("m2")(alone))) == ""


def test_an_m5_max_is_shown_large_dense_targets_first() -> None:
    rows = outlooks(REGISTRY, gpu_limit_bytes(128 * 2**30), published("m5-max"))
    first = rows[0].pair.target
    assert first.params > 25e9
    assert first.kind == "dense"
    assert all(row.need.can_run for row in rows)
    assert "tiny" not in [row.pair.target.alias for row in rows]


def test_only_what_fits_a_small_mac() -> None:
    rows = outlooks(REGISTRY, gpu_limit_bytes(16 * 2**30), published("m2"))
    assert max(row.pair.target.params for row in rows) < 16e9


def test_where_nothing_pays_the_largest_with_room_comes_first_and_it_is_said() -> None:
    rows = outlooks(REGISTRY, gpu_limit_bytes(16 * 2**30), published("m2"))
    assert rows[0].need.verdict == "fits"
    assert rows[0].pair.target.params == max(
        row.pair.target.params for row in rows if row.need.verdict == "fits"
    )
    assert " Drafting pays with none of them here, so plain decoding would run." in (
        outlook_rows(rows)
    )
    good = outlooks(REGISTRY, gpu_limit_bytes(128 * 2**30), published("m5-max"))
    assert not any("pays with none" in line for line in outlook_rows(good))


def test_without_prices_the_largest_that_runs_comes_first() -> None:
    def can_run(spec: ModelSpec) -> bool:
        return spec.params < 2e9

    rows = outlooks(REGISTRY, 64 * 10**9, lambda pair: None, can_run)
    sizes = [row.pair.target.params for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes) < 2e9
    lines = outlook_rows(rows)
    assert lines[-1].endswith("`mlx-specdec forecast TARGET` times it")


def test_the_toy_pair_is_shown_once_it_was_measured() -> None:
    model = LatencyModel.measured(((1, 0.006), (2, 0.007)), 0.001)
    rows = outlooks(REGISTRY, 10**10, lambda pair: Known(model, "measured", "measured"))
    assert "tiny" in [row.pair.target.alias for row in rows]


def test_on_a_cpu_weights_count_as_they_are_held() -> None:
    pair = pair_of("qwen3-1.7b")
    held = outlook_of(pair, 17 * 10**9, None, cpu_memory=24 * 2**30).need.weight_bytes
    target, draft = pair.target, pair.draft
    assert draft is not None
    assert held == 4 * (target.params + draft.params)
    large = pair_of("qwen3-14b")
    assert outlook_of(large, 17 * 10**9, None, cpu_memory=24 * 2**30).need.weight_bytes < 11e9


@pytest.mark.parametrize("chip", ["m1", "m3-pro", "m5-max"])
def test_the_table_fits_80_columns(chip: str) -> None:
    rows = outlooks(REGISTRY, gpu_limit_bytes(128 * 2**30), published(chip))
    lines = outlook_rows(rows)
    assert len(lines) <= 12
    assert all(len(line) <= 80 for line in lines), lines
    assert outlook_rows([]) == [" none of the known pairs fits this machine's memory"]

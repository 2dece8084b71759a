"""What a round costs: priors, and what real rounds make of them."""

from __future__ import annotations

from mlx_specdec.costs.cost_table import CostTable
from mlx_specdec.costs.machines import CHIPS
from mlx_specdec.costs.pair_costs import PairCosts, guessed_costs, published_costs
from mlx_specdec.errors import InvalidRequestError
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.model_spec import ModelSpec
from mlx_specdec.registry import Registry

import pytest

SHORT = LatencyModel.measured([(1, 0.020), (2, 0.021), (4, 0.026), (9, 0.060)], 0.002, 0.001)
LONG = LatencyModel.measured([(1, 0.040), (2, 0.042), (4, 0.056), (9, 0.120)], 0.004, 0.001)
COSTS = PairCosts(((0, SHORT), (8192, LONG)), draft_prefill_seconds=0.0002)


def test_costs_are_linear_between_context_lengths_and_flat_outside() -> None:
    assert COSTS.cycle_seconds(3, 0) == SHORT.cycle_seconds(3) == pytest.approx(0.033)
    assert COSTS.cycle_seconds(3, 4096) == pytest.approx((0.033 + 0.069) / 2)
    assert COSTS.cycle_seconds(3, 99_999) == LONG.cycle_seconds(3)
    assert COSTS.draft_pass_seconds(4096) == pytest.approx(0.003)
    assert COSTS.max_lookahead == 8
    assert COSTS.at(5000) is LONG


def test_without_a_draft_a_guess_costs_its_row_alone() -> None:
    free = COSTS.without_draft()
    assert free.cycle_seconds(0, 0) == COSTS.cycle_seconds(0, 0)
    assert free.cycle_seconds(3, 0) == pytest.approx(0.026 + 0.001)
    assert CostTable(free).catch_up_seconds(4096, 4096) == 0
    riding = PairCosts(((0, SHORT),), 0.0002, 0.0, 0.0009)
    assert CostTable(riding.without_draft()).catch_up_seconds(8, 0) == 0


@pytest.mark.parametrize("entries", [(), ((5, SHORT), (5, LONG)), ((9, SHORT), (5, LONG))])
def test_costs_out_of_order_are_refused(entries: tuple[tuple[int, LatencyModel], ...]) -> None:
    with pytest.raises(InvalidRequestError, match="not in order"):
        PairCosts(entries)


def test_published_costs_are_those_of_the_forecast() -> None:
    registry = Registry.load()
    target, draft = registry.resolve_pair("qwen3-14b", "qwen3-0.6b").specs
    costs = published_costs(CHIPS["m3-max"], target, draft)
    assert costs is not None
    # The row of the facts: 23.8 ms a token, 1.40 of it over 4 rows, 2.6 ms a draft pass, 1 ms.
    assert costs.cycle_seconds(0, 0) == pytest.approx(0.0238, rel=1e-3)
    assert costs.cycle_seconds(3, 0) == pytest.approx(0.0238 * 1.4 + 3 * 0.0026 + 0.001, rel=1e-3)
    assert costs.cycle_seconds(3, 8192) > 1.2 * costs.cycle_seconds(3, 0)
    assert published_costs(CHIPS["m3-max"], ModelSpec("somebody/else"), draft) is None


def test_rounds_correct_their_own_entry_and_what_is_like_it() -> None:
    table = CostTable(COSTS)
    before = [table.cycle_seconds(g, 100) for g in range(9)]
    for _ in range(60):
        table.record(3, 100, 1.5 * before[3])
    assert table.cycle_seconds(3, 100) == pytest.approx(1.5 * before[3], rel=0.01)
    factors = [table.cycle_seconds(g, 100) / before[g] for g in range(9)]
    assert factors[4] == pytest.approx(1.5)  # what drafts here is slower than assumed
    assert factors[0] == pytest.approx(1.5**0.5)  # perhaps the whole machine, perhaps not
    table.record(0, 100, before[0])
    for _ in range(8):
        table.record(0, 100, before[0])
    assert table.cycle_seconds(0, 100) == pytest.approx(before[0])
    assert (table.num_rounds(3, 100), table.num_rounds(3, 3000)) == (60, 0)
    assert table.cycle_seconds(3, 3000) == pytest.approx(1.5 * COSTS.cycle_seconds(3, 3000))


def test_a_lookahead_has_a_factor_of_its_own_as_far_as_rounds_bear_it_out() -> None:
    table = CostTable(COSTS)
    usual = [table.cycle_seconds(g, 100) for g in range(9)]
    for _ in range(20):
        for g in (1, 2, 3):
            table.record(g, 100, usual[g])
    table.record(6, 100, 3 * usual[6])
    assert table.cycle_seconds(6, 100) < 1.3 * usual[6]
    for _ in range(20):
        for g in (1, 2, 3):
            table.record(g, 100, usual[g])
        table.record(6, 100, 3 * usual[6])
    assert table.cycle_seconds(6, 100) > 2.3 * usual[6]
    assert table.cycle_seconds(2, 100) == pytest.approx(usual[2])


def test_a_machine_that_slows_down_is_noticed_and_one_slow_round_is_not() -> None:
    table = CostTable(COSTS)
    usual = table.cycle_seconds(2, 100)
    for _ in range(30):
        table.record(2, 100, usual)
    table.record(2, 100, 20 * usual)
    assert table.cycle_seconds(2, 100) == pytest.approx(usual)
    for _ in range(30):
        table.record(2, 100, 2 * usual)
    assert table.cycle_seconds(2, 100) > 1.8 * usual


def test_the_first_round_sets_the_scale_of_a_guess() -> None:
    table = CostTable(guessed_costs(2_000_000, 200_000), scale_is_known=False)
    assert table.cycle_seconds(0, 50) == 1
    shape = table.cycle_seconds(4, 50)
    table.record(0, 50, 0.005)
    assert table.cycle_seconds(0, 50) == pytest.approx(0.005)
    assert table.cycle_seconds(4, 50) == pytest.approx(0.005 * shape)
    assert table.num_plain_rounds == 1


def test_the_version_rises_while_corrections_matter() -> None:
    table = CostTable(COSTS)
    table.record(1, 10, 0.03)
    seen = table.version
    assert seen > 0
    for _ in range(100):
        table.record(1, 10, 0.03)
    settled = table.version
    table.record(1, 10, 0.03)
    assert table.version == settled
    table.replace_prior(COSTS)
    assert table.version > settled
    assert table.cycle_seconds(1, 10) == COSTS.cycle_seconds(1, 10)


def test_context_lengths_share_a_bucket_by_powers_of_two() -> None:
    lengths = (0, 1, 1024, 1025, 2048, 2049, 4096, 4097)
    assert [CostTable.bucket(n) for n in lengths] == [0, 0, 0, 1, 1, 2, 2, 3]


def test_what_the_draft_owes_is_charged_by_the_token_and_learned() -> None:
    table = CostTable(COSTS)
    assert table.catch_up_seconds(1, 100) == table.catch_up_seconds(2, 100) == 0
    assert table.catch_up_seconds(8, 0) == pytest.approx(6 * 0.0002)
    assert table.catch_up_seconds(1002, 0) == pytest.approx(1000 * 0.0002 + 0.002)
    for _ in range(40):
        table.record_draft_prefill(1002, 0, 0.4)
    assert table.catch_up_seconds(1002, 0) == pytest.approx(0.4, rel=0.03)


def test_two_rows_are_told_in_passes_over_one() -> None:
    assert CostTable(COSTS).two_rows(0) == pytest.approx(1.05)


def test_a_few_owed_tokens_are_charged_what_a_wider_pass_takes() -> None:
    known = PairCosts(((0, SHORT),), 0.0002, 0.0, 0.0009)
    assert CostTable(known).catch_up_seconds(8, 0) == pytest.approx(6 * 0.0009)
    assert CostTable(known).catch_up_seconds(9, 0) == pytest.approx(7 * 0.0002 + 0.002)
    with pytest.raises(InvalidRequestError):
        PairCosts(((0, SHORT),), 0.0002, 0.0, -0.1)


def test_catching_up_after_parking_and_reading_a_prompt_are_learned_apart() -> None:
    table = CostTable(COSTS)
    for _ in range(40):
        table.record_draft_prefill(2002, 0, 0.4)
        table.record_draft_prefill(20, 0, 0.02)
    assert table.catch_up_seconds(2002, 0) == pytest.approx(0.4, rel=0.15)
    assert table.catch_up_seconds(20, 0) == pytest.approx(0.02, rel=0.15)
    table.replace_prior(COSTS)
    assert table.catch_up_seconds(20, 0) == pytest.approx(18 * 0.0002 + 0.002)


@pytest.mark.parametrize("lookahead", [9, 16])
def test_a_round_wider_than_any_that_is_priced_tells_nothing(lookahead: int) -> None:
    table = CostTable(COSTS, scale_is_known=False)
    table.record(lookahead, 100, 0.1)
    assert table.num_rounds(lookahead, 100) == 0
    assert table.version == 0

"""The arithmetic against the founding articles' printed figures; prices and the account."""

from __future__ import annotations

from typing import Any

from mlx_specdec.errors import InvalidRequestError
from mlx_specdec.events import Finished, Prefilled, Round, Timings
from mlx_specdec.ledger.latency import (
    LatencyLedger,
    LatencyModel,
    expected_accepted,
    expected_tokens,
)

import pytest

FOUNDING = LatencyModel(
    target_seconds=0.080, draft_cost=0.12, verify_tax=0.03, overhead_seconds=0.006
)
TABLE = ((1, 0.080), (2, 0.082), (4, 0.090), (8, 0.160))


def printed(value: float) -> str:
    return f"{value:.6f}"


def test_the_founding_ledger_to_its_printed_digits() -> None:
    assert printed(expected_accepted(0.74, 5)) == "2.214590"
    assert printed(expected_tokens(0.74, 5)) == "3.214590"
    assert printed(FOUNDING.draft_seconds(5) * 1000) == "48.000000"
    # 80 ms * (1 + 0.03 * 4): the tax is for each proposed token after the first.
    assert printed(FOUNDING.verify_seconds(5) * 1000) == "89.600000"
    assert printed(FOUNDING.cycle_seconds(5) * 1000) == "143.600000"
    assert printed(FOUNDING.seconds_per_token(0.74, 5) * 1000) == "44.671321"
    assert printed(FOUNDING.speedup(0.74, 5)) == "1.790858"
    assert printed(FOUNDING.wasted_drafts(0.74, 5)) == "2.785410"
    assert FOUNDING.best_lookahead(0.74, 16) == 4
    assert printed(FOUNDING.speedup(0.74, 4)) == "1.819264"


@pytest.mark.parametrize(
    ("acceptance", "tokens", "speedup"), [(0.7, "2.94", "1.96"), (0.85, "4.15", "2.77")]
)
def test_the_founding_speedups_at_a_tenth(acceptance: float, tokens: str, speedup: str) -> None:
    # Printed as 2.94 and 1.96, and one digit shorter as 4.2 and 2.8.
    assert f"{expected_tokens(acceptance, 5):.2f}" == tokens
    assert f"{LatencyModel(1, 0.1).speedup(acceptance, 5):.2f}" == speedup
    assert expected_tokens(acceptance, 5) == pytest.approx((1 - acceptance**6) / (1 - acceptance))


def test_the_founding_speedup_at_a_printed_acceptance() -> None:
    # 3.462866 at acceptance 0.928236, draft cost 0.09. The acceptance is itself rounded, and the
    # six printed digits of both meet only within that rounding.
    model = LatencyModel(1, 0.09)
    assert model.speedup(0.9282355, 5) < 3.462866 < model.speedup(0.9282365, 5)
    assert model.speedup(0.928236, 5) == pytest.approx(3.462866, abs=1.5e-6)


def test_every_token_kept_needs_no_special_case() -> None:
    assert expected_tokens(1, 5) == 6
    assert expected_tokens(0, 5) == 1
    assert LatencyModel(1, 0.0).speedup(1.0, 5) == 6
    assert FOUNDING.wasted_drafts(1.0, 5) == 0


def test_acceptance_by_position() -> None:
    assert expected_tokens([0.9, 0.5], 4) == pytest.approx(1 + 0.9 + 0.45 + 0.225 + 0.1125)
    assert expected_tokens([0.74], 5) == expected_tokens(0.74, 5)


def test_lookahead_0_is_the_plain_loop() -> None:
    assert FOUNDING.cycle_seconds(0) == FOUNDING.target_seconds
    assert FOUNDING.speedup(0.74, 0) == 1
    assert FOUNDING.best_lookahead(0.05, 16) == 0
    assert LatencyModel(1, 0.5).best_lookahead(0.5, 16) == 0  # a tie goes to the shortest


def test_break_even_acceptance() -> None:
    model = LatencyModel(1, 0.1)
    assert model.break_even_acceptance(1) == pytest.approx(0.1)  # 1 + a = 1 + c
    assert model.break_even_acceptance(0) == 0
    assert LatencyModel(1, 0.0).break_even_acceptance(4) == 0
    assert LatencyModel(1, 1.5).break_even_acceptance(2) is None
    for lookahead in range(1, 9):
        needed = FOUNDING.break_even_acceptance(lookahead)
        assert needed is not None
        assert FOUNDING.speedup(needed, lookahead) == pytest.approx(1)
        assert FOUNDING.speedup(needed - 0.01, lookahead) < 1


def test_the_waterfall_ends_at_the_speedup() -> None:
    fall = FOUNDING.waterfall(0.74, 5)
    assert printed(fall.tokens_per_pass) == "3.214590"
    assert fall.after_verify == pytest.approx(3.2145904 / 1.12)
    assert fall.after_draft == pytest.approx(3.2145904 / 1.72)
    assert fall.after_overhead == FOUNDING.speedup(0.74, 5)


def test_a_table_of_passes_has_steps() -> None:
    model = LatencyModel.measured(TABLE, draft_seconds=0.004, overhead_seconds=0.001)
    assert model.draft_cost == pytest.approx(0.05)
    assert [model.verify_seconds(g) for g in (0, 1, 3, 7)] == [0.080, 0.082, 0.090, 0.160]
    # Not timed in between: the price of the next wider pass, never a line.
    assert [model.verify_seconds(g) for g in (2, 4, 6)] == [0.090, 0.160, 0.160]
    assert model.cycle_seconds(3) == pytest.approx(3 * 0.004 + 0.090 + 0.001)
    assert model.max_lookahead == 7
    assert model.best_lookahead(0.8, 16) == 3
    assert model.best_lookahead(1.0, 16) == 7  # and no further than was timed
    with pytest.raises(InvalidRequestError, match="8 was not timed"):
        model.verify_seconds(8)


@pytest.mark.parametrize(
    "arguments",
    [(0, 0.1), (1, -0.1), (1, 0.1, -0.1), (1, 0.1, 0, -1), (float("nan"), 0.1)]
    + [
        (1, 0.1, 0, 0, table)
        for table in (((2, 1), (1, 1)), ((0, 1),), ((1, 0),), ((1, 1), (1, 1)))
    ],
)
def test_figures_out_of_range_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        LatencyModel(*arguments)
    assert caught.value.hint


def test_arguments_out_of_range_are_refused() -> None:
    for acceptance, lookahead in ((1.1, 1), (-0.1, 1), (float("nan"), 1), ([], 1), (0.5, -1)):
        with pytest.raises(InvalidRequestError):
            expected_tokens(acceptance, lookahead)
    for rows in ((), ((2, 0.1),), ((1, 0.0),)):
        with pytest.raises(InvalidRequestError, match="one row"):
            LatencyModel.measured(rows, draft_seconds=0.01)


def test_the_account_and_what_it_cannot_attribute() -> None:
    def round_at(index: int, at: float, timings: Timings) -> Round:
        return Round(index, 0, 0, (), (), 0, (), timings, at)

    account = LatencyLedger()
    account.add(Prefilled(10, 0, seconds=0.5, at=0.5))
    account.add(round_at(0, 0.5, Timings(wait_seconds=0.0625)))
    account.add(round_at(1, 1.0, Timings(0.125, 0.25, 0.03125, 0.015625)))
    account.add(Finished("stop", at=1.125))
    assert account.num_rounds == 2
    assert account.prefill_seconds == 0.5
    assert account.build_seconds == 0.125
    assert account.wait_seconds == 0.3125
    assert account.after_seconds == 0.03125
    assert account.draft_prefill_seconds == 0.015625
    assert account.lane_seconds == 1.125
    assert account.unattributed_seconds == 1.125 - 0.984375
    account.add(round_at(2, 1.125, Timings(wait_seconds=1)))
    assert account.unattributed_seconds < 0  # shown as it is

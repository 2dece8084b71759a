"""The ledger's figures against the drawing's scenario, and the laws that always hold."""

from __future__ import annotations

from dataclasses import replace

from mlx_specdec.costs.prices import Prices
from mlx_specdec.events import Event, Finished, Prefilled, Round, Timings
from mlx_specdec.ledger.account import Account, ModelNames, account
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.ledger.view import LedgerView, ledger_view
from mlx_specdec.ledger.what_if import ACCEPTANCES, heat_map, pass_costs
from tests.races import DRAWN_MODEL, DRAWN_PRICES, PASSES, golden, made_lane, made_round

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = ModelNames("14B", "0.6B")
small = st.floats(0, 1)
models = st.builds(
    LatencyModel,
    target_seconds=st.floats(1e-4, 1),
    draft_cost=st.floats(0, 2),
    verify_tax=st.floats(0, 1),
    overhead_seconds=st.floats(0, 0.1),
)


def drawn(scenario: str = "fable") -> LedgerView:
    race = golden(scenario)
    return ledger_view([race.speculative], DRAWN_PRICES, NAMES, race.standard)


def rows(taken: Account) -> dict[str, float]:
    return {row.name: round(row.seconds, 3) for row in taken.rows}


def test_the_time_of_the_drawing() -> None:
    taken = drawn().account
    assert rows(taken) == {
        "verify": 4.944,
        "draft": 0.702,
        "accept and host": 0.081,
        "prefill": 0.420,
        "not accounted for": 0.012,
    }
    assert {row.name: row.detail for row in taken.rows} == {
        "verify": "14B, 4 rows",
        "draft": "0.6B, 3 times",
        "accept and host": "",
        "prefill": "14B, 18 tokens",
        "not accounted for": "",
    }
    assert taken.num_rounds == 60
    assert taken.round_seconds == pytest.approx(0.09565, abs=5e-6)
    assert [row.is_estimate for row in taken.rows] == [True, True, True, False, False]


def test_the_waterfall_of_the_drawing() -> None:
    view = drawn()
    assert view.first_mark is not None
    fall = view.fall(*view.first_mark)
    assert fall is not None
    assert fall.is_run
    assert [(step.words, round(step.times, 2)) for step in fall.steps] == [
        ("tokens per pass", 2.65),
        ("a pass over 4 rows costs 1.27", 2.09),
        ("the 0.6B has to be paid", 1.83),
        ("sampling, Python, waiting", 1.80),
    ]
    assert view.measured_speedup == pytest.approx(1.80, abs=0.005)
    assert (view.metrics.accepted, view.metrics.tested, view.metrics.proposed) == (99, 136, 180)


def test_where_guesses_cost_nothing_no_row_and_no_step_charges_them() -> None:
    lane = golden("fable").speculative
    view = ledger_view([lane], DRAWN_PRICES.without_draft(), ModelNames("14B", "copying"))
    assert view.first_mark is not None
    fall = view.fall(*view.first_mark)
    assert fall is not None
    assert [row.name for row in view.account.rows][:2] == ["verify", "accept and host"]
    assert [step.words for step in fall.steps] == [
        "tokens per pass",
        "a pass over 4 rows costs 1.27",
        "sampling, Python, waiting",
    ]


def test_the_heat_map_of_the_drawing() -> None:
    heat = heat_map(DRAWN_MODEL, 0.73, 3)
    drawing = """
        1.00 1.24 1.22 1.10 0.95 0.78 0.68 0.61 0.52
        1.00 1.33 1.37 1.27 1.11 0.92 0.82 0.72 0.62
        1.00 1.42 1.54 1.48 1.32 1.11 1.00 0.89 0.77
        1.00 1.53 1.78 1.80 1.69 1.47 1.36 1.24 1.09
        1.00 1.59 1.91 2.01 1.93 1.72 1.63 1.51 1.35
        1.00 1.68 2.13 2.34 2.35 2.19 2.15 2.07 1.91
    """
    shown = [f"{cell:.2f}" for row in heat.cells for cell in row if cell is not None]
    assert shown == drawing.split()
    assert heat.acceptances == (0.4, 0.5, 0.6, 0.73, 0.8, 0.9)
    assert heat.run_cell == (3, 3)


def test_the_break_even_and_the_passes_of_the_drawing() -> None:
    view = drawn()
    needed = {g: f"{chance:.0%}" for g, chance in view.break_even if chance is not None}
    assert (needed[1], needed[3], needed[5]) == ("13%", "33%", "54%")
    assert [(each.rows, each.seconds) for each in view.passes] == [*enumerate(PASSES, start=1)]


def test_the_session_is_pooled_and_not_averaged() -> None:
    """F10: a mean of ratios let a reply of ten tokens weigh as much as one of four hundred."""
    short, long = made_lane([0, 0], 3), made_lane([3] * 40, 3)
    view = ledger_view([short, long], DRAWN_PRICES, NAMES)
    assert view.metrics.accepted == 120
    assert view.metrics.tested == 122
    assert view.account.num_rounds == 42
    parts = [
        ledger_view([each], DRAWN_PRICES, NAMES).account.lane_seconds for each in (short, long)
    ]
    assert view.account.lane_seconds == pytest.approx(sum(parts))


def test_without_prices_nothing_is_forecast_and_nothing_divided() -> None:
    view = ledger_view([golden("fable").speculative], None, NAMES)
    assert (view.heat, view.break_even, view.passes, view.first_mark) == (None, (), (), None)
    assert view.fall(0, 0) is None
    assert not view.account.has_estimates
    assert [row.name for row in view.account.rows][:2] == ["passes", "build and host"]


def test_a_parked_run_has_a_table_without_a_place_in_it() -> None:
    view = drawn("parked")
    assert view.lookahead == 0
    assert view.heat is not None
    assert view.heat.run_cell is None
    assert view.modelled_speedup is None
    assert view.first_mark == (3, 3)  # the best at 70 %
    never = LatencyModel.measured(((1, 0.03), (2, 0.052)), 0.006)
    slow = ledger_view([golden("parked").speculative], Prices(never, "published", "of a chip"))
    assert slow.first_mark == (3, 1)  # no lookahead pays: 1 shows why


def test_a_lookahead_without_a_price_has_an_empty_cell() -> None:
    narrow = LatencyModel.measured(((1, 0.065), (4, 0.08)), 0.004)
    heat = heat_map(narrow, 0.7, 3)
    assert [cell is None for cell in heat.cells[0]] == [False] * 4 + [True] * 5
    assert [each.seconds is None for each in pass_costs(narrow)] == [False] * 4 + [True] * 5


def test_a_run_wider_than_the_prices_is_still_accounted_for() -> None:
    narrow = Prices(LatencyModel.measured(((1, 0.065), (2, 0.07)), 0.004), "run", "")
    view = ledger_view([made_lane([2, 5, 1], 5)], narrow)
    assert view.modelled_speedup is None
    assert sum(row.seconds for row in view.account.rows) == pytest.approx(view.account.lane_seconds)


def test_the_usual_lookahead_is_that_of_most_passes() -> None:
    events = [*made_lane([1, 1, 1], 3)[:-1], made_round(4, 0.5, 2, 5), made_round(5, 0.6)]
    assert ledger_view([events]).lookahead == 3
    assert ledger_view([made_lane([0, 0], 0)]).lookahead == 0


def test_a_reply_under_way_and_no_reply_at_all() -> None:
    running = ledger_view([golden("fable").speculative[:5]], DRAWN_PRICES, NAMES)
    assert running.account.num_rounds == 3
    nothing = ledger_view([], DRAWN_PRICES, NAMES)
    assert nothing.account.lane_seconds == 0
    assert nothing.first_mark == (3, 3)


def test_the_first_token_belongs_to_the_prefill() -> None:
    events = (Prefilled(9, 4, 0.2, 0.2), made_round(0, 0.3, timings=Timings(0.01, 0.08, 0.01)))
    taken = account([(*events, Finished("stop", 0.31))], DRAWN_MODEL, NAMES)
    assert rows(taken)["prefill"] == 0.3
    assert next(row.detail for row in taken.rows if row.name == "prefill") == "14B, 5 tokens"
    assert taken.round_seconds is None


@st.composite
def answers(draw: st.DrawFn) -> tuple[Event, ...]:
    at = draw(small)
    events: list[Event] = [Prefilled(10, draw(st.integers(0, 10)), draw(small), at)]
    for index in range(draw(st.integers(0, 6))):
        at += draw(small)
        proposed = draw(st.integers(0, 12)) if index else 0
        kept = draw(st.integers(0, proposed))
        timings = Timings(draw(small), draw(small), draw(small), draw(st.sampled_from([0.0, 0.2])))
        events.append(made_round(index, at, kept, proposed, timings))
    return (*events, Finished("stop", at + draw(small)))


@settings(max_examples=60, deadline=None)
@given(st.lists(answers(), min_size=1, max_size=3), st.none() | models)
def test_the_rows_always_sum_to_the_lane_clock(
    replies: list[tuple[Event, ...]], model: LatencyModel | None
) -> None:
    taken = account(replies, model, NAMES)
    assert sum(row.seconds for row in taken.rows) == pytest.approx(taken.lane_seconds)
    assert all(row.seconds >= -1e-9 for row in taken.rows if row.name != "not accounted for")


@settings(max_examples=60, deadline=None)
@given(answers(), models)
def test_the_device_is_never_said_to_work_longer_than_it_could(
    events: tuple[Event, ...], model: LatencyModel
) -> None:
    passes = [each for each in events if isinstance(each, Round) and each.index > 0]
    taken = account([events], model, NAMES)
    device = sum(row.seconds for row in taken.rows if row.name in ("verify", "draft", "passes"))
    least = sum(each.timings.wait_seconds for each in passes)
    most = least + sum(each.timings.build_seconds for each in passes)
    assert least - 1e-9 <= device <= most + 1e-9


@settings(max_examples=60, deadline=None)
@given(models, st.none() | st.floats(0, 1), st.integers(0, 16))
def test_the_heat_map_is_the_latency_model(
    model: LatencyModel, acceptance: float | None, lookahead: int
) -> None:
    heat = heat_map(model, acceptance, lookahead)
    assert len(heat.acceptances) == len(ACCEPTANCES)
    assert list(heat.acceptances) == sorted(heat.acceptances)
    for row, chance in enumerate(heat.acceptances):
        for column, g in enumerate(heat.lookaheads):
            assert heat.cells[row][column] == model.speedup(chance, g)
        best = heat.best_column(row)
        assert heat.cells[row][best] == max(cell or 0 for cell in heat.cells[row])
    if acceptance is not None and lookahead <= 8:
        assert heat.run_cell is not None
        assert heat.acceptances[heat.run_cell[0]] == acceptance


def test_a_mixed_run_is_charged_what_its_rounds_were() -> None:
    """Half of the passes over 4 rows, half over 2: the waterfall charges the mean."""
    events = (*made_lane([3, 3], 3)[:-1], made_round(3, 0.4, 1, 1), made_round(4, 0.5, 1, 1))
    view = ledger_view([events], DRAWN_PRICES, NAMES)
    mark = view.first_mark
    assert mark is not None
    fall = view.fall(*mark)
    assert fall is not None
    assert fall.steps[1].words == "a pass over 3 rows costs 1.16"
    verify = (PASSES[3] + PASSES[1]) / 2
    assert fall.steps[1].times == pytest.approx(3.0 * PASSES[0] / verify)
    assert fall.steps[0].times == 3.0
    other = replace(DRAWN_MODEL).waterfall(0.4, 3)
    asked = view.fall(0, 3)
    assert asked is not None
    assert not asked.is_run
    assert asked.bottom == pytest.approx(other.after_overhead)

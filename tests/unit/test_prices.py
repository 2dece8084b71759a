"""Prices: where they are known from, and what one race says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from mlx_specdec.costs.calibration import Calibration, CalibrationKey, Spread, age_words
from mlx_specdec.costs.machines import CHIPS, Chip
from mlx_specdec.costs.pair_costs import PairCosts
from mlx_specdec.costs.prices import known_prices, run_prices
from mlx_specdec.events import Emitted, Event, Finished, Prefilled, Proposed, Round, Timings
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.race.recorded_prices import race_prices, recorded_prices
from mlx_specdec.race.recording import Recording, RecordingHeader
from mlx_specdec.race.retiming import retimed
from mlx_specdec.registry import Registry
from tests.races import golden

import pytest

PAIR = Registry.load().resolve_pair("qwen3-14b", "qwen3-0.6b")


@dataclass(frozen=True)
class Mac:
    chip: Chip | None


def lane(cycles: list[tuple[int, float]], after: float = 0.0) -> list[Event]:
    """Prefilled at 1 s, round 0 there, then rounds of (guesses, seconds)."""
    events: list[Event] = [Prefilled(10, 0, 1.0, 1.0)]
    at = 1.0
    for index, (guesses, seconds) in enumerate([(0, 0.5), *cycles]):
        at += seconds
        emitted = tuple(Emitted(5, "a", "sampled", 1.0) for _ in range(guesses + 1))
        proposed = tuple(Proposed(5, "a", 0.5, 0.5) for _ in range(guesses))
        timings = Timings(after_seconds=after)
        events.append(Round(index, 10, guesses, proposed, (), guesses, emitted, timings, at))
    return [*events, Finished("length", at)]


def test_a_race_reconciles_with_its_own_rounds() -> None:
    """The cycle at each lookahead is what was seen, whatever it is divided into."""
    standard = lane([(0, 0.02)] * 10)
    drafted = lane([(2, 0.9), *[(2, 0.030)] * 5, *[(4, 0.050)] * 5], after=0.001)
    for draft_cost in (None, 0.0, 0.1, 5.0):
        prices = run_prices(standard, drafted, draft_cost)
        assert prices is not None
        model = prices.model
        assert model.target_seconds == pytest.approx(0.02)
        assert model.cycle_seconds(2) == pytest.approx(0.030)
        assert model.cycle_seconds(4) == pytest.approx(0.050)
        assert model.overhead_seconds == pytest.approx(0.001)
        assert model.max_lookahead == 4
    assert prices is not None
    assert prices.source == "run"
    assert "estimate" in prices.words


def test_what_is_known_of_the_draft_divides_the_rest() -> None:
    standard, drafted = lane([(0, 0.02)] * 4), lane([(3, 9.0), *[(3, 0.036)] * 4])
    prices = run_prices(standard, drafted, 0.1)
    assert prices is not None
    assert prices.model.draft_seconds(3) == pytest.approx(3 * 0.002)
    assert prices.model.verify_seconds(3) == pytest.approx(0.030)


def test_edge_rounds_do_not_count() -> None:
    """The first after the plain loop is slow for other reasons; one is not enough of a kind."""
    drafted = lane([(2, 5.0), (2, 0.03), (2, 0.03), (2, 0.03), (0, 7.0), (1, 9.0), (1, 0.001)])
    prices = run_prices(lane([(0, 0.02)] * 4), drafted)
    assert prices is not None
    assert prices.model.cycle_seconds(2) == pytest.approx(0.03)
    assert prices.model.max_lookahead == 2


def test_a_few_slow_rounds_do_not_make_either_loop_dear() -> None:
    """Something else had the machine for a moment: the plain pass is not what that took."""
    plain = lane([(0, 0.02)] * 9 + [(0, 0.6)])
    drafted = lane([(3, 9.0), *[(3, 0.032)] * 9, (3, 0.6)])
    prices = run_prices(plain, drafted)
    assert prices is not None
    assert prices.model.target_seconds == pytest.approx(0.02)
    assert prices.model.speedup(1.0, 3) == pytest.approx(4 * 0.02 / 0.032)


def test_rounds_next_to_a_switch_of_lanes_do_not_count_where_there_are_others() -> None:
    plain = lane([(0, 0.02), (0, 0.09), (0, 0.09), (0, 0.09), (0, 0.02)])
    drafted = lane([(3, 9.0), (3, 0.001), (3, 0.001), (3, 0.04), (3, 0.04), (3, 0.04), (3, 0.001)])
    prices = run_prices(plain, drafted, standard_edges={2, 3, 4}, speculative_edges={2, 3, 7})
    assert prices is not None
    assert prices.model.target_seconds == pytest.approx(0.02)
    assert prices.model.cycle_seconds(3) == pytest.approx(0.04)
    slow = run_prices(plain, drafted, standard_edges=range(9), speculative_edges=range(9))
    assert slow is not None  # a pass longer than a lane's turn: there are no other rounds
    assert slow.model.target_seconds == pytest.approx(0.09)


def test_the_prices_of_a_race_leave_out_the_edges_that_it_recorded() -> None:
    plain, drafted = lane([(0, 0.02), (0, 0.09), (0, 0.09)]), lane([(3, 9.0), *[(3, 0.04)] * 4])
    header = RecordingHeader("nobody's", "model", is_toy=True)
    race = Recording(header, tuple(plain), tuple(drafted), frozenset({2, 3}))
    for prices in (race_prices(race), recorded_prices(race)):
        assert prices is not None
        assert prices.model.target_seconds == pytest.approx(0.02)


def test_a_toy_on_another_chips_clock_has_the_prices_of_the_pair_that_stands_in() -> None:
    race = retimed(golden("tiny"), CHIPS["m2"])
    prices = recorded_prices(race)
    assert prices is not None
    rounds = [event for event in race.standard if isinstance(event, Round)]
    assert prices.model.target_seconds == pytest.approx(rounds[2].at - rounds[1].at, rel=0.05)
    assert prices.words == f"published figures for {race.header.retimed}"
    assert "qwen3-14b" in prices.words


def test_a_race_that_has_hardly_begun_has_no_prices() -> None:
    plain, fast = lane([(0, 0.02)] * 4), lane([(2, 0.03)] * 4)
    assert run_prices(plain, []) is None
    assert run_prices([], fast) is None
    assert run_prices(plain, plain) is None
    assert run_prices(plain, fast[:3]) is None


def test_published_figures_say_so() -> None:
    prices = known_prices(PAIR, Mac(CHIPS["m3-max"]))
    assert prices is not None
    assert (prices.source, prices.words) == ("published", "published figures for M3 Max")
    assert prices.model.target_seconds == pytest.approx(0.0238, rel=1e-3)
    scaled = known_prices(PAIR, Mac(CHIPS["m3-pro"]))
    assert scaled is not None
    assert "scaled" in scaled.words
    longer = known_prices(PAIR, Mac(CHIPS["m3-max"]), context=4096)
    assert longer is not None
    assert longer.model.target_seconds > prices.model.target_seconds
    assert known_prices(PAIR, Mac(None)) is None
    assert known_prices(PAIR, None) is None


def test_a_calibration_wins_and_says_its_age_and_whether_its_time_was_short() -> None:
    costs = PairCosts(((64, LatencyModel.measured([(1, 0.5), (2, 0.6)], 0.1)),))
    key = CalibrationKey("M3", "0.32", "a", "b")
    kept = Calibration(key, costs, 1000.0, "interval", (Spread("x", 1.0, 0.02, 9),))
    prices = known_prices(PAIR, Mac(CHIPS["m3-max"]), kept, now=1000.0 + 4 * 60)
    assert prices is not None
    assert (prices.source, prices.model.target_seconds) == ("measured", 0.5)
    assert prices.words == "passes measured on this machine 4 min ago"
    short = Calibration(key, costs, 1000.0, "time", (Spread("x", 1.0, 0.08, 9),))
    assert short.words(1000.0).endswith("just now (to 8%: the time was short)")


def test_ages() -> None:
    minute, day = 60, 86_400
    ages = [5, 59, minute, 4 * minute, 3 * 3600, day, 3 * day, 400 * day]
    assert [age_words(age) for age in ages] == [
        "just now",
        "just now",
        "1 min ago",
        "4 min ago",
        "3 h ago",
        "1 day ago",
        "3 days ago",
        "1 year ago",
    ]

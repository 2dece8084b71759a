"""The simulated clock, and what the adaptive lookahead reaches on it."""

from __future__ import annotations

from pathlib import Path

from mlx_specdec.costs.cost_table import CostTable
from mlx_specdec.costs.pair_costs import PairCosts
from mlx_specdec.lookahead.adaptive import LookaheadMemory
from mlx_specdec.lookahead.policy import FixedLookahead
from mlx_specdec.lookahead.scores import Score, scenarios, score, simulated_costs
from mlx_specdec.lookahead.simulated_texts import SimulatedText, TextSource, coin_texts, trace_texts
from mlx_specdec.lookahead.simulation import fixed_seconds, simulate

import numpy as np
import pytest

TRACES = Path(__file__).resolve().parent.parent / "golden" / "traces"
TEXTS = {source.name: source for source in [*coin_texts(), *trace_texts(TRACES)]}


def text(hits: str) -> SimulatedText:
    return SimulatedText(np.array([hit == "1" for hit in hits]))


def session(costs: PairCosts) -> LookaheadMemory:
    return LookaheadMemory(CostTable(costs))


def results(machine: str, texts: str, prompt: int, reply: int) -> list[Score]:
    sources = [TEXTS[name] for name in texts.split()]
    return [score(s, session, 4500) for s in scenarios(sources, [machine], [prompt], [reply])]


def test_guesses_are_kept_up_to_the_first_that_misses() -> None:
    sample = text("1101110")
    assert [sample.accepted(place, 3) for place in range(7)] == [2, 1, 0, 3, 2, 1, 0]
    assert sample.accepted(3, 2) == 2
    assert text("111").accepted(1, 8) == 2  # the text ends


def test_a_fixed_lookahead_is_what_its_rounds_cost() -> None:
    """Token 0 by the plain loop; then 1-2-miss, miss, 4-5-6: by hand."""
    costs = simulated_costs("flat")
    sample = text("0110111")
    reply = simulate(FixedLookahead(2), sample, costs, 100)
    cycle = costs.cycle_seconds(2, 100)
    reading = CostTable(costs).catch_up_seconds(101, 101)
    assert reply.num_tokens == 7
    assert reply.reply_seconds == pytest.approx(costs.cycle_seconds(0, 100) + reading + 2 * cycle)
    assert reply.tokens_at == {0: 1, 2: 6}
    assert reply.prefill_seconds == 100 * costs.target_prefill_seconds


@pytest.mark.parametrize("lookahead", [0, 1, 3, 8])
@pytest.mark.parametrize("machine", ["stepped", "m3-max"])
def test_the_quick_sum_is_the_simulation(machine: str, lookahead: int) -> None:
    costs = simulated_costs(machine)
    for sample in TEXTS["0.9/0.3"].replies(400, 3):
        slow = simulate(FixedLookahead(lookahead), sample, costs, 2000).reply_seconds
        assert fixed_seconds(sample, costs, 2000, lookahead) == pytest.approx(slow, rel=1e-9)


def test_texts_are_always_the_same_and_of_the_length_asked_for() -> None:
    for source in TEXTS.values():
        first, again = source.replies(500, 2), source.replies(500, 2)
        assert [list(a.hits) for a in first] == [list(b.hits) for b in again]
        for sample in first:
            assert sample.num_tokens == 500
            assert sample.starts[0] == 0
            assert len(sample.starts) <= len(sample.kept_by_lookahead)
    high, low = TEXTS["0.9"].replies(4000, 1)[0], TEXTS["0.3"].replies(4000, 1)[0]
    assert (high.hits.mean(), low.hits.mean()) == pytest.approx((0.9, 0.3), abs=0.03)


def test_another_draw_has_other_coins_of_the_same_kind() -> None:
    usual, other = (coin_texts(draw)[0].replies(3000, 2) for draw in (0, 1))
    hits = [list(sample.hits) for sample in [*usual, *other]]
    assert all(hits.count(each) == 1 for each in hits)
    assert [source.name for source in coin_texts(1)] == [source.name for source in coin_texts()]


def test_a_trace_goes_on_with_the_next_reply_and_knows_where_it_began() -> None:
    source = TextSource("t", trace=(np.array([True, False]), np.array([True, True, True])))
    sample = source.replies(7, 5)[1]  # from the second token on
    assert list(sample.hits) == [False, True, True, True, True, False, True]
    assert sample.starts == (0, 1, 4, 6)
    assert sample.kept_by_lookahead[1][:4] == pytest.approx((0, 1, 5 / 3, 2))


def test_there_is_a_trace_of_the_built_in_pair_and_of_smollm2() -> None:
    assert {"trace tiny", "trace smollm2"} <= TEXTS.keys()


@pytest.mark.parametrize(
    ("machine", "texts", "prompt", "reply"),
    [
        ("linear", "0.9/0.3 0.85/0.4", 100, 2000),
        ("m3-max", "0.9/0.3 0.85/0.4", 100, 2000),
        ("m3-max", "0.9/0.3", 100, 300),
        ("m4-max", "0.9/0.3", 8192, 2000),
        ("linear", "0.9/0.3", 100, 30),
        ("flat", "0.9/0.3", 8192, 2000),
    ],
)
def test_of_what_an_oracle_gains_it_reaches_most(
    machine: str, texts: str, prompt: int, reply: int
) -> None:
    for result in results(machine, texts, prompt, reply):
        assert result.has_gap, result
        assert result.share >= 0.7, result
        assert result.speedup >= 1.0, result


@pytest.mark.parametrize(
    ("machine", "texts", "prompt", "reply"),
    [
        ("m1-pro", "0.9/0.3 0.3 0.9", 100, 2000),
        ("m1-pro", "0.7", 8192, 300),
        ("stepped", "0.3 0.9", 100, 300),
        ("m3-max", "0.3 0.7 0.9", 100, 300),
        ("m3-max", "0.3 0.9", 8192, 300),
        ("m4-max", "0.5", 100, 30),
        ("m5-max", "0.7", 1024, 300),
        ("linear", "0.5", 8192, 30),
        ("m5-max", "0.3", 8192, 2000),
        ("linear", "0.3", 1024, 300),
    ],
)
def test_elsewhere_it_stays_with_the_best_fixed_lookahead(
    machine: str, texts: str, prompt: int, reply: int
) -> None:
    for result in results(machine, texts, prompt, reply):
        assert result.loss <= 0.015, result
        assert result.speedup >= 0.97, result


def test_wrong_prices_are_put_right_by_real_rounds() -> None:
    """It is told an M5 Max and runs on an M1 Pro, with noise on every round: it parks all the
    same, and is hardly slower than plain decoding for having tried."""
    truth, told = simulated_costs("m1-pro"), simulated_costs("m5-max")
    random = np.random.default_rng(3)
    memory = LookaheadMemory(CostTable(told))
    plain = ours = 0.0
    for sample in TEXTS["0.7"].replies(1000, 3):
        reply = simulate(
            memory.begin_answer(),
            sample,
            truth,
            100,
            slowness=lambda lookahead, index: float(random.normal(1.0, 0.05)),
        )
        memory.end_answer(1000, reply.end_to_end_seconds)
        ours += reply.end_to_end_seconds
        plain += reply.prefill_seconds + fixed_seconds(sample, truth, 100, 0)
    assert plain / ours > 0.97

"""The best possible policy for two known chances: its sum, its plans, and what it bounds."""

from __future__ import annotations

from mlx_specdec.costs.cost_table import CostTable
from mlx_specdec.costs.pair_costs import PairCosts
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.lookahead.adaptive import LookaheadMemory
from mlx_specdec.lookahead.ceiling import Ceiling, TwoChances
from mlx_specdec.lookahead.policy import LookaheadPolicy
from mlx_specdec.lookahead.scores import simulated_costs
from mlx_specdec.lookahead.simulated_texts import SimulatedText
from mlx_specdec.lookahead.simulation import fixed_seconds, simulate

import numpy as np
import pytest

TEXT = TwoChances(0.3, 0.9, 60.0)


def texts(count: int, length: int) -> list[SimulatedText]:
    """Stretches end at every token alike, as the ceiling takes them to."""
    random = np.random.default_rng(5)
    found = []
    for _ in range(count):
        turns = np.cumsum(random.random(length) < 1 / TEXT.stretch_tokens) + random.integers(2)
        chances = np.where(turns % 2, TEXT.high, TEXT.low)
        found.append(SimulatedText(random.random(length) < chances))
    return found


def one_guess(row: float, reading: float = 0.0) -> PairCosts:
    """A pass of a second, and of ``1 + row`` over two rows; the draft reads a token in
    ``reading`` and guesses in no time."""
    return PairCosts(((0, LatencyModel.measured([(1, 1.0), (2, 1.0 + row)], 0.0)),), reading)


def test_the_belief_moves_to_even_and_is_bayes() -> None:
    assert TEXT.drifted(1.0, 60) == pytest.approx(0.5 + 0.5 * (1 - 2 / 60) ** 60)
    chance, after = TEXT.outcome(0.5, 1, 1)
    assert chance == pytest.approx(0.5 * (0.9 * 0.1 + 0.3 * 0.7))
    assert after == pytest.approx(0.09 / (0.09 + 0.21))


def test_three_tokens_by_hand() -> None:
    """After the first, two are left: a round of one guess brings both with the chance 0.6 of the
    two stretches in even shares, and else one plain pass follows."""
    found = Ceiling(TwoChances(0.3, 0.9, 1e9), one_guess(0.1), 50, 3)
    assert found.expected_seconds == pytest.approx(1 + 1.1 + 0.4, rel=1e-3)
    dear = Ceiling(TwoChances(0.3, 0.9, 1e9), one_guess(0.7), 50, 3)
    assert dear.expected_seconds == pytest.approx(3.0)  # plainly: a guess brings 0.6 tokens


def test_what_the_draft_reads_first_is_paid() -> None:
    """Of 51 tokens two ride along; 49 are paid, and where that is too much nothing is drafted."""
    found = Ceiling(TwoChances(0.3, 0.9, 1e9), one_guess(0.1, 0.005), 50, 3)
    assert found.expected_seconds == pytest.approx(2.5 + 49 * 0.005, rel=1e-3)
    dear = Ceiling(TwoChances(0.3, 0.9, 1e9), one_guess(0.1, 0.02), 50, 3)
    assert dear.expected_seconds == pytest.approx(3.0)


@pytest.mark.parametrize("machine", ["linear", "m4-max"])
def test_its_sum_is_what_its_policy_takes(machine: str) -> None:
    costs = simulated_costs(machine)
    ceiling = Ceiling(TEXT, costs, 100, 200)
    seconds = [
        simulate(ceiling.begin_answer(), sample, costs, 100).reply_seconds
        for sample in texts(400, 200)
    ]
    deviation = np.std(seconds) / np.sqrt(len(seconds))
    assert np.mean(seconds) == pytest.approx(ceiling.expected_seconds, abs=4 * deviation)


def test_nobody_who_has_to_find_out_is_faster() -> None:
    costs = simulated_costs("linear")
    ceiling, memory = Ceiling(TEXT, costs, 100, 200), LookaheadMemory(CostTable(costs))
    samples = texts(150, 200)

    def spent(policy: LookaheadPolicy, sample: SimulatedText) -> float:
        return simulate(policy, sample, costs, 100).reply_seconds

    best = sum(spent(ceiling.begin_answer(), sample) for sample in samples)
    adaptive = 0.0
    for sample in samples:
        seconds = spent(memory.begin_answer(), sample)
        memory.end_answer(200, seconds)
        adaptive += seconds
    fixed = min(sum(fixed_seconds(s, costs, 100, g) for s in samples) for g in range(9))
    assert best < adaptive < fixed

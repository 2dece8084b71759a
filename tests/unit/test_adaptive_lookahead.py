"""The adaptive lookahead: what it chooses, what it charges, and what it says."""

from __future__ import annotations

from mlx_specdec.costs.cost_table import CostTable
from mlx_specdec.costs.pair_costs import PairCosts, guessed_costs
from mlx_specdec.ledger.latency import LatencyModel, expected_tokens
from mlx_specdec.lookahead.adaptive import LookaheadMemory
from mlx_specdec.lookahead.belief import AcceptanceBelief, Numbers
from mlx_specdec.lookahead.policy import FOREVER, FixedLookahead, RoundOutcome, Situation
from mlx_specdec.lookahead.scores import simulated_costs

import numpy as np
import pytest


def memory_of(machine: str) -> LookaheadMemory:
    return LookaheadMemory(CostTable(simulated_costs(machine)))


def at(emitted: int, context: int = 200, owed: int = 1, elapsed: float = 60.0) -> Situation:
    return Situation(emitted, context, owed, 10_000, elapsed)


def told(memory: LookaheadMemory, chance: float, rounds: int = 400) -> None:
    """Let the belief see rounds of two guesses, each kept with ``chance``."""
    random = np.random.default_rng(1)
    for _ in range(rounds):
        kept = int(np.argmin([*(random.random(2) < chance), False]))
        memory.belief.observe(kept, min(kept + 1, 2))
        memory.belief.pass_by(kept + 1)


def test_a_fixed_lookahead_stays_as_it_is() -> None:
    assert FixedLookahead(4).choose(at(3)).lookahead == 4
    assert FixedLookahead(0).choose(at(3)).num_rounds == FOREVER


@pytest.mark.parametrize("machine", ["flat", "linear", "stepped", "m3-max", "m5-max"])
@pytest.mark.parametrize("chance", [0.5, 0.7, 0.9])
def test_a_steady_text_gets_the_lookahead_that_arithmetic_says(machine: str, chance: float) -> None:
    memory = memory_of(machine)
    told(memory, chance, rounds=800)
    choice = memory.begin_answer().choose(at(50))
    costs = simulated_costs(machine)
    rates = [expected_tokens(chance, g) / costs.cycle_seconds(g, 200) for g in range(9)]
    assert rates[choice.lookahead] > 0.985 * max(rates)


def test_on_m1_it_parks_and_says_why() -> None:
    choice = memory_of("m1-pro").begin_answer().choose(at(0, owed=200, elapsed=2.0))
    assert choice.lookahead == 0
    assert choice.note == "not drafting: a pass over 2 rows costs 1.7 of one here"


def test_parked_it_learns_from_guesses_that_cost_nothing() -> None:
    """Of copying: the plain rounds tell what a proposal would have been worth."""
    costs = CostTable(simulated_costs("m1-pro").without_draft())
    policy = LookaheadMemory(costs).begin_answer()
    for kept in (0, 1, 0, 1):
        for place in range(40):
            policy.observe(RoundOutcome(0, kept, 1, 1, 200 + place, None))
        assert (policy.choose(at(40, elapsed=0.1)).lookahead > 0) is bool(kept)


def test_few_kept_guesses_park_it_and_are_the_reason() -> None:
    memory = memory_of("linear")
    told(memory, 0.05)
    choice = memory.begin_answer().choose(at(50, elapsed=0.1))
    assert choice.lookahead == 0
    assert choice.num_rounds >= 16
    assert choice.note.startswith("not drafting: about ")
    assert choice.note.endswith(" % of guesses are kept, too few to pay here")
    memory.way = "copying"
    assert memory.begin_answer().choose(at(50, elapsed=0.1)).note.startswith("not copying: about ")


def test_a_long_prompt_and_a_short_reply_are_not_worth_the_drafts_reading() -> None:
    """Decided before the draft reads; the same prompt pays for a long reply."""
    memory = memory_of("m3-max")
    memory.lengths.expected_tokens, memory.lengths.num_replies = 30.0, 9
    choice = memory.begin_answer().choose(at(0, context=8192, owed=8192))
    assert choice.lookahead == 0
    assert "the draft would first read for 1.3 s" in choice.note
    memory.lengths.expected_tokens = 2000.0
    assert memory.begin_answer().choose(at(0, context=8192, owed=8192)).lookahead > 0


def test_parked_it_tries_again_when_that_may_pay_within_its_share_of_all_time() -> None:
    memory = memory_of("linear")
    told(memory, 0.9, rounds=60)
    told(memory, 0.05, rounds=60)
    policy = memory.begin_answer()
    emitted, trials, seconds = 0, 0, 0.0
    while emitted < 4000:
        situation = Situation(emitted, 200, 30, 10_000, elapsed_seconds=seconds)
        choice = policy.choose(situation)
        if choice.lookahead:
            trials += 1
            policy.observe(RoundOutcome(choice.lookahead, 0, 1, 1, 200, None, 30))
            emitted, seconds = emitted + 1, seconds + 0.03
            continue
        for _ in range(choice.num_rounds):
            policy.observe(RoundOutcome(0, 0, 0, 1, 200, 0.02))
        emitted, seconds = emitted + choice.num_rounds, seconds + 0.02 * choice.num_rounds
    assert trials >= 3
    assert 0 < memory.trial_seconds <= 0.006 * seconds


def test_it_does_not_guess_beyond_where_the_reply_ends() -> None:
    """By the room that is left, and by where replies have ended."""
    memory = memory_of("m3-max")
    told(memory, 0.95)
    policy = memory.begin_answer()
    assert policy.choose(at(28)).lookahead >= 3
    for room, most in ((4, 3), (2, 1), (1, 0)):
        situation = Situation(28, 200, 1, room, 60.0)
        assert policy.choose(situation).lookahead <= most
    for _ in range(16):
        memory.end_answer(30, 1.0)
    assert policy.choose(at(28)).lookahead == 1
    assert policy.choose(at(29)).lookahead == 0
    assert policy.choose(at(31)).lookahead >= 3


def test_a_text_that_turns_easy_is_followed_within_a_few_rounds() -> None:
    memory = memory_of("m3-max")
    told(memory, 0.3, rounds=100)
    policy = memory.begin_answer()
    before = policy.choose(at(300)).lookahead
    assert before <= 1
    for _ in range(8):
        policy.observe(RoundOutcome(1, 1, 1, 2, 200, None))
    assert policy.choose(at(316)).lookahead >= 2


def test_an_unknown_machine_is_looked_at_plainly_first() -> None:
    memory = LookaheadMemory(CostTable(guessed_costs(100, 10), scale_is_known=False))
    policy = memory.begin_answer()
    first = policy.choose(at(0))
    assert (first.lookahead, first.num_rounds) == (0, 4)
    for _ in range(3):
        policy.observe(RoundOutcome(0, 0, 0, 1, 200, 0.004))
    assert policy.choose(at(4)).lookahead > 0
    assert memory.costs.cycle_seconds(0, 200) == pytest.approx(0.004)


def test_a_plain_pass_that_nobody_has_seen_is_looked_at_unless_the_gain_is_clear() -> None:
    for chance, wanted in ((0.5, 0), (0.9, 3)):
        memory = memory_of("m3-max")
        told(memory, chance)
        choice = memory.begin_answer().choose(at(100))
        assert choice.lookahead == wanted
        assert bool(choice.note) == (wanted == 0)


def test_real_rounds_that_cost_more_than_published_park_it() -> None:
    """The table says that two guesses cost little; here they cost three passes."""
    memory = memory_of("m3-max")
    policy = memory.begin_answer()
    plain = memory.costs.cycle_seconds(0, 200)
    for _ in range(5):
        policy.observe(RoundOutcome(0, 0, 0, 1, 200, plain))
    for _ in range(12):
        lookahead = policy.choose(at(100, elapsed=2.0)).lookahead
        if not lookahead:
            break
        policy.observe(RoundOutcome(lookahead, 1, 2, 2, 200, 3.5 * plain))
    assert policy.choose(at(120, elapsed=2.0)).lookahead == 0


def test_another_conversation_forgets_the_text_and_keeps_what_is_usual_of_the_pair() -> None:
    memory = memory_of("m3-max")
    for _ in range(6):
        memory.end_answer(30, 1.0)
    assert memory.lengths.expected_tokens < 100
    told(memory, 0.05)

    def mean(law: Numbers) -> float:
        return float(law @ memory.belief.chances)

    under_way, fresh = mean(memory.belief.weights), mean(AcceptanceBelief().usual)
    memory.forget_texts()
    assert memory.lengths.expected_tokens > 100
    assert memory.belief.weights == pytest.approx(memory.belief.usual)
    assert under_way < mean(memory.belief.weights) < fresh
    for _ in range(40):  # what is carried over is worth a few stretches at most
        memory.forget_texts()
        told(memory, 0.95)
    assert mean(memory.belief.usual) > fresh
    assert memory.elapsed_seconds == 6.0


def test_the_belief_is_a_law_and_drifts_to_what_is_usual() -> None:
    belief = AcceptanceBelief()
    usual = belief.usual.copy()
    for _ in range(20):
        belief.observe(0, 1)
        belief.pass_by(1)
    assert belief.weights.sum() == pytest.approx(1)
    low = float(belief.weights @ belief.chances)
    assert low < 0.15
    assert low < float(belief.after(200) @ belief.chances) < float(usual @ belief.chances)
    assert belief.after(100_000) == pytest.approx(belief.usual, abs=1e-6)


def test_a_stretch_that_ends_is_followed_by_another_chance() -> None:
    """Where two chances took turns, what follows the hard stretch is the easy one, though both
    are as usual."""
    belief = AcceptanceBelief()
    for chance in [0.9, 0.3] * 8:
        for i in range(220):
            belief.observe(int((i + 1) * chance) - int(i * chance), 1)
            belief.pass_by(1)
    assert float(belief.usual @ belief.chances) == pytest.approx(0.6, abs=0.05)
    assert float(belief.weights @ belief.chances) < 0.45
    next_one = float(belief.after(110) @ belief.chances)
    assert next_one > 0.75
    assert float(belief.after(330) @ belief.chances) < next_one - 0.05  # it ends as well


def test_a_cut_round_counts_what_joined_the_text() -> None:
    """Two guesses kept and none missed is better news than two kept and one missed."""
    cut, missed = AcceptanceBelief(), AcceptanceBelief()
    cut.observe(2, 2)
    missed.observe(2, 3)
    assert float(cut.weights @ cut.chances) > float(missed.weights @ missed.chances)


def test_without_drafts_to_price_it_decodes_plainly() -> None:
    lone = PairCosts(((0, LatencyModel.measured([(1, 0.02), (2, 0.05)], 0.02)),))
    choice = LookaheadMemory(CostTable(lone)).begin_answer().choose(at(10))
    assert choice.lookahead == 0

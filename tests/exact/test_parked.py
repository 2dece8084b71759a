"""Parked, the drafting lane is the plain loop: the same words at the same times, pass by pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from mlx_specdec.events import Event
from mlx_specdec.forward import ModelRunner
from mlx_specdec.lookahead.policy import FOREVER, Choice, LookaheadPolicy, Situation
from mlx_specdec.proposers.draft_model import DraftModelProposer
from mlx_specdec.request import GenerateRequest, SamplingParams
from mlx_specdec.speculative import SpeculativeDecoder
from mlx_specdec.standard import StandardDecoder
from tests.lanes import generation_of, rounds_of, tokens_of
from tests.policies import ScriptedLookahead
from tests.pretend_device import PretendDevice, SleepingModel
from tests.toymodels import perturbed, toy_model

import pytest

VOCAB = 270
# Powers of two, so that sums of them are exact in any order.
TARGET, DRAFT, HOST = 1 / 16, 1 / 128, 1 / 64
REQUEST = GenerateRequest(
    tuple(range(3, 23)), max_tokens=40, sampling=SamplingParams(temperature=0.8), seed=9
)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> PretendDevice:
    made = PretendDevice()
    made.install(monkeypatch)
    return made


def written(device: PretendDevice, policy: LookaheadPolicy | None) -> list[Event]:
    """One answer; without a policy by the plain loop."""
    target = toy_model(VOCAB, lm_head_scale=4)
    slow = SleepingModel(target, device, TARGET, 0.0, HOST)
    quick = SleepingModel(perturbed(target, 0.3), device, DRAFT, 0.0, HOST)
    generation = generation_of(REQUEST, target.vocab_width, clock=device.clock)
    runner = ModelRunner(slow.loaded)
    if policy is None:
        events = list(StandardDecoder(runner).generate(generation))
    else:
        proposer = DraftModelProposer(ModelRunner(quick.loaded))
        events = list(SpeculativeDecoder(runner, proposer).generate(generation, policy))
    device.drain()
    return events


def times(events: Sequence[Event]) -> list[float]:
    return [each.at for each in rounds_of(events)]


@pytest.mark.parametrize("num_rounds", [1, 4, 7, FOREVER])
def test_a_parked_lane_has_the_plain_loops_times(device: PretendDevice, num_rounds: int) -> None:
    """However often the policy is asked: the next pass is queued before a token is read."""
    plain = written(device, None)
    steps = {b - a for a, b in pairwise(times(plain)[1:])}
    assert steps == {TARGET}  # the host's share is hidden behind the device's
    policy = ScriptedLookahead([(0, num_rounds)])
    parked = written(device, policy)
    assert tokens_of(parked) == tokens_of(plain)
    assert times(parked) == times(plain)
    assert len(policy.situations) == 1 + (40 - 1) // num_rounds


def test_only_a_change_of_loops_costs_the_pipeline(device: PretendDevice) -> None:
    script = [(0, 4), (0, 4), (3, 1), (0, 4), (0, 4), (0, 4)]
    events = written(device, ScriptedLookahead(script))
    rounds = rounds_of(events)
    plain = [b.at - a.at for a, b in pairwise(rounds) if not a.proposed and not b.proposed]
    assert set(plain) == {TARGET}


def test_a_policy_is_asked_with_the_token_under_way_counted(device: PretendDevice) -> None:
    policy = ScriptedLookahead([(0, 4), (0, 5), (2, 1)])
    written(device, policy)
    first, second, third = policy.situations[:3]
    assert [first.emitted_tokens, second.emitted_tokens, third.emitted_tokens] == [0, 4, 9]
    assert [each.context_length for each in (first, second, third)] == [20, 24, 29]
    assert [each.room for each in (first, second, third)] == [40, 36, 31]
    assert third.owed_tokens == 29


def test_the_note_of_each_stretch_stands_in_its_own_rounds(device: PretendDevice) -> None:
    class Counting(ScriptedLookahead):
        def choose(self, situation: Situation) -> Choice:
            choice = super().choose(situation)
            return replace(choice, note=f"stretch {len(self.situations)}")

    rounds = rounds_of(written(device, Counting([(0, 3)])))
    assert [each.note for each in rounds[:7]] == ["stretch 1"] * 3 + ["stretch 2"] * 3 + [
        "stretch 3"
    ]


def test_the_last_plain_round_of_a_stretch_is_no_usual_one(device: PretendDevice) -> None:
    """Nothing is queued behind it, whether the answer ends there or guesses come next."""
    policy = ScriptedLookahead([(0, 6)])
    written(device, policy)
    assert [each.seconds for each in policy.outcomes] == [None, *[TARGET] * 38, None]
    policy = ScriptedLookahead([(0, 6), (3, 1)])
    written(device, policy)
    plain = [each.seconds for each in policy.outcomes if not each.lookahead]
    assert plain[:12] == 2 * [None, *[TARGET] * 4, None]

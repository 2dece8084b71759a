"""Whatever decides about lookahead, and however it changes its mind, the text is the plain one."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

from mlx_specdec.events import Event, Round
from mlx_specdec.forward import ModelRunner
from mlx_specdec.lookahead.policy import LookaheadPolicy
from mlx_specdec.proposers.draft_model import DraftModelProposer
from mlx_specdec.request import GenerateRequest, SamplingParams
from mlx_specdec.settings import Settings
from mlx_specdec.speculative import SpeculativeDecoder, _outcome
from tests.exact.test_one_read import logged_reads, logged_session
from tests.lanes import (
    PENALISED,
    RULES,
    VOCAB,
    answer_of,
    fresh_answer,
    generation_of,
    rounds_of,
    session_of,
    tokens_of,
)
from tests.policies import ScriptedLookahead
from tests.toymodels import CountingModel, perturbed, toy_model

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

COUNT = 30
SAMPLINGS = {
    "greedy": SamplingParams(),
    "penalised": PENALISED,
    "warm": SamplingParams(temperature=0.9, top_p=0.95),
}
SCRIPTS = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), min_size=1, max_size=8)


@functools.cache
def target() -> Any:
    return toy_model(VOCAB, layers=1, seed=4, lm_head_scale=6)


@functools.cache
def draft() -> Any:
    return perturbed(target(), 0.1)


@functools.cache
def prompt(length: int) -> tuple[int, ...]:
    return tuple((7 * i + length) % 200 for i in range(length))


@functools.cache
def plain(name: str, length: int) -> list[int]:
    options = {"sampling": SAMPLINGS[name], "seed": 3, "max_tokens": COUNT}
    return tokens_of(fresh_answer(target(), None, prompt(length), **options))


def answer(
    policy: LookaheadPolicy, name: str, length: int, rule: str = "coupled", guesser: Any = None
) -> list[Event]:
    decoder = SpeculativeDecoder(
        ModelRunner(target()), DraftModelProposer(ModelRunner(guesser or draft()))
    )
    request = GenerateRequest(
        prompt(length), SAMPLINGS[name], max_tokens=COUNT, rule=rule, seed=3, lookahead="auto"
    )
    return list(decoder.generate(generation_of(request, VOCAB), policy))


@settings(max_examples=30, deadline=None)
@given(SCRIPTS, st.sampled_from(sorted(SAMPLINGS)), st.sampled_from((1, 2, 11)))
def test_any_switching_leaves_the_text_as_it_is(
    script: list[tuple[int, int]], name: str, length: int
) -> None:
    """Parked and not, mid-answer, at temperature 0 and coupled."""
    policy = ScriptedLookahead(script)
    assert tokens_of(answer(policy, name, length)) == plain(name, length)
    assert sum(outcome.num_emitted for outcome in policy.outcomes) == COUNT


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_goes_through_parking_at_temperature_zero(rule: str) -> None:
    policy = ScriptedLookahead([(3, 1), (0, 4), (1, 1), (0, 9), (5, 1)])
    assert tokens_of(answer(policy, "greedy", 11, rule)) == plain("greedy", 11)


def test_the_draft_reads_nothing_while_it_is_not_wanted() -> None:
    """Whether to draft at all is decided before the draft reads the prompt."""
    guesser = CountingModel(draft())
    policy = ScriptedLookahead([(0, 5)])
    assert tokens_of(answer(policy, "greedy", 11, guesser=guesser.loaded)) == plain("greedy", 11)
    assert guesser.rows == 0
    assert policy.situations[0].owed_tokens == 11
    assert [each.emitted_tokens for each in policy.situations] == [0, 5, 10, 15, 20, 25]


def test_after_parking_the_draft_reads_what_it_owes_and_no_more() -> None:
    guesser = CountingModel(draft())
    policy = ScriptedLookahead([(2, 1), (0, 7), (2, 1), (0, 99)])
    answer(policy, "greedy", 40, guesser=guesser.loaded)
    first, _, second = policy.situations[:3]
    assert first.owed_tokens == 40
    owed = [each.owed_tokens for each in policy.outcomes if each.lookahead]
    assert owed[0] == 41  # the prompt, and the first token
    assert second.owed_tokens == owed[1]
    assert 7 <= owed[1] <= 9
    assert guesser.rows == sum(owed) + 2  # and its own first guess, twice


def test_a_parked_round_says_why_and_is_the_plain_loops() -> None:
    events = answer(ScriptedLookahead([(2, 1), (0, 6)]), "greedy", 11)
    parked = [each for each in rounds_of(events)[1:] if not each.proposed]
    assert parked
    assert {each.note for each in parked} == {"not drafting: the script"}
    assert {token.kind for each in parked for token in each.emitted} == {"sampled"}


def test_one_blocking_read_a_round_whatever_is_decided() -> None:
    log: list[str] = []
    session = logged_session(log)
    script = ScriptedLookahead([(3, 1), (0, 3), (1, 1)])
    session._policy = lambda *_: script
    with logged_reads(log):
        for event in answering(session):
            if isinstance(event, Round):
                assert log.count("read") == 1, log
            log.clear()


def answering(session: Any) -> Any:
    return session.generate((5, 17, 200, 3, 9), Settings(max_tokens=20, lookahead="auto", seed=1))


@pytest.mark.parametrize("name", ["greedy", "warm"])
def test_the_adaptive_session_writes_the_plain_text(name: str) -> None:
    """From what it guesses of the machine at first to what it has learned, answer for answer."""
    session = session_of(target(), draft(), ())
    options = {"sampling": SAMPLINGS[name], "max_tokens": COUNT, "rule": "coupled"}
    for seed in range(4):
        events = answer_of(session, prompt(11), seed=seed, lookahead="auto", **options)
        alone = fresh_answer(target(), None, prompt(11), seed=seed, **options)
        assert tokens_of(events) == tokens_of(alone)
    assert session.lookahead.lengths.num_replies == 4
    assert session.lookahead.costs.num_plain_rounds > 0


@pytest.mark.parametrize(
    ("kept", "emitted", "accepted", "tested", "seconds"),
    [(3, 4, 3, 4, 0.5), (4, 5, 4, 4, 0.5), (0, 1, 0, 1, 0.5), (3, 2, 2, 2, None)],
    ids=["missed", "full", "none", "cut"],
)
def test_of_a_cut_round_only_what_joined_the_text_counts(
    kept: int, emitted: int, accepted: int, tested: int, seconds: float | None
) -> None:
    """An end token among four guesses says nothing of the guesses behind it, nor of time."""
    current: Any = SimpleNamespace(
        proposal=SimpleNamespace(count=4, prefill_seconds=0.25), verified=90, owed=7
    )
    reading: Any = SimpleNamespace(num_accepted=kept)
    outcome = _outcome(current, reading, emitted, 0.5)
    assert (outcome.lookahead, outcome.num_emitted, outcome.context_length) == (4, emitted, 90)
    assert (outcome.num_accepted, outcome.num_tested) == (accepted, tested)
    assert outcome.seconds == seconds
    assert (outcome.owed_tokens, outcome.catch_up_seconds) == (7, 0.25)

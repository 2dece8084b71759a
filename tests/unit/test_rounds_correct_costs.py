"""Real rounds correct what is known of costs, whoever decides how many tokens are guessed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from mlx_specdec.backend import mx
from mlx_specdec.costs.cost_table import CostTable
from mlx_specdec.costs.pair_costs import PairCosts
from mlx_specdec.engine import load
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.lookahead.policy import RoundOutcome
from mlx_specdec.parts import Parts
from mlx_specdec.session import Session
from mlx_specdec.settings import Settings
from tests.lanes import VOCAB, answer_of, rounds_of, session_of, walk_away
from tests.toymodels import toy_model

import pytest

PRIOR = PairCosts(((0, LatencyModel.measured([(m, 1.0) for m in range(1, 10)], 0.1)),), 0.01)
TARGET, DRAFT = 0.010, 0.002
PROMPT = list(range(5, 35))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Timed:
    """A model whose every pass takes its time on the clock."""

    def __init__(self, loaded: Any, clock: Clock, seconds: Callable[[int], float]) -> None:
        self._inner, self._clock, self._seconds = loaded.model, clock, seconds
        self.layers = loaded.model.layers

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        self._clock.now += self._seconds(int(inputs.shape[1]))
        logits: mx.array = self._inner(inputs, cache=cache)
        return logits


def timed_session(**options: Any) -> Session:
    clock = Clock()

    def loaded(seed: int, seconds: Callable[[int], float]) -> Any:
        model = toy_model(VOCAB, layers=1, seed=seed)
        return dataclasses.replace(model, model=Timed(model, clock, seconds))

    target = loaded(4, lambda rows: TARGET)
    draft = loaded(5, lambda rows: DRAFT if rows <= 8 else 0.001 * rows)
    known: dict[str, Any] = {"costs": CostTable(PRIOR), **options}
    return session_of(target, draft, (), clock=clock, **known)


class Watched(CostTable):
    """Keeps what it was told."""

    def __init__(self) -> None:
        super().__init__(PRIOR, scale_is_known=False)
        self.told: list[float | None] = []

    def observe(self, outcome: RoundOutcome) -> None:
        self.told.append(outcome.seconds)
        super().observe(outcome)


def test_rounds_at_a_fixed_lookahead_correct_its_price() -> None:
    session = timed_session()
    answer_of(session, PROMPT, max_tokens=24, lookahead=3)
    costs = session.lookahead.costs
    assert costs.num_rounds(3, 50) >= 5
    assert costs.num_plain_rounds == 0
    assert costs.cycle_seconds(3, 50) == pytest.approx(TARGET + 3 * DRAFT, rel=0.02)


@pytest.mark.parametrize("settings", [{"lookahead": 0}, {"draft": False}])
def test_plain_rounds_correct_the_plain_price(settings: dict[str, Any]) -> None:
    session = timed_session()
    answer_of(session, PROMPT, max_tokens=24, **settings)
    costs = session.lookahead.costs
    assert costs.num_plain_rounds >= 20
    assert costs.cycle_seconds(0, 50) == pytest.approx(TARGET, rel=0.02)


def test_what_the_draft_took_to_read_the_prompt_is_kept() -> None:
    session = timed_session()
    answer_of(session, PROMPT, max_tokens=24, lookahead=3)
    before = CostTable(PRIOR).catch_up_seconds(31, 50)
    assert before == pytest.approx(29 * 0.01 + 0.1)
    for _ in range(20):
        session.clear()
        answer_of(session, PROMPT, max_tokens=6, lookahead=3)
    assert session.lookahead.costs.catch_up_seconds(31, 50) == pytest.approx(0.030, rel=0.1)


def test_a_profile_waits_between_phases_and_corrects_nothing() -> None:
    session = timed_session(parts=Parts(profile=True))
    answer_of(session, PROMPT, max_tokens=24, lookahead=3)
    assert session.lookahead.costs.num_rounds(3, 50) == 0


def test_a_plain_answer_that_is_left_takes_back_what_was_queued() -> None:
    session = timed_session()
    events = session.generate(PROMPT, Settings(max_tokens=24, draft=False, seed=5))
    for _ in range(5):
        next(events)
    walk_away(events)
    assert session.target.length == len(session.target.read)


@pytest.mark.parametrize("draft", [True, "copy"])
def test_a_lookahead_beyond_what_is_priced_writes_the_whole_answer(draft: bool | str) -> None:
    prompt = "river, doctor, river, doctor, river, doctor"
    settings: dict[str, Any] = {"rule": "coupled", "max_tokens": 160, "seed": 3, "ignore_eos": True}
    with load("tiny", "tiny-draft") as engine:
        assert engine.session.lookahead.costs.max_lookahead < 12
        stream = engine.stream(prompt, lookahead=12, draft=draft, **settings)
        reply = stream.reply()
        plain = engine.generate(prompt, draft=False, **settings)
    assert reply.tokens == plain.tokens
    assert 12 in {len(each.proposed) for each in rounds_of(stream.seen)}


def test_the_last_plain_round_of_an_answer_is_none_of_the_usual_ones() -> None:
    """Nothing is queued behind it: in an answer of two tokens it would set the scale."""
    session = timed_session(costs=Watched())
    costs: Any = session.lookahead.costs
    answer_of(session, PROMPT, max_tokens=8, draft=False)
    assert costs.told == [None, *[pytest.approx(TARGET)] * 6]
    costs.told.clear()
    answer_of(session, PROMPT, max_tokens=2, draft=False)
    assert [each for each in costs.told if each is not None] == []


@pytest.mark.parametrize("settings", [{}, {"draft": "copy"}, {"draft": False}])
@pytest.mark.parametrize("lookahead", [3, "auto"])
def test_a_warm_up_teaches_nothing_and_leaves_nothing_behind(
    settings: dict[str, Any], lookahead: Any
) -> None:
    session = timed_session(costs=CostTable(PRIOR, scale_is_known=False))
    prompt = PROMPT[:4] * 6
    session.warm_up(prompt, Settings(max_tokens=24, lookahead=lookahead, seed=5, **settings))
    for memory in (session.lookahead, session.copying_lookahead):
        assert (memory.costs.version, memory.costs.num_plain_rounds) == (0, 0)
        assert (memory.lengths.num_replies, memory.belief.carried) == (0, ())
    assert session.target.length == 0
    answer_of(session, prompt, max_tokens=24, **settings)
    assert session.lookahead.costs.version + session.copying_lookahead.costs.version > 0

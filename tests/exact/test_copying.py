"""Copying instead of drafting: whatever is copied, the text is the target's own."""

from __future__ import annotations

import functools
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from typing import Any

from mlx_specdec.backend import mx
from mlx_specdec.engine import load
from mlx_specdec.events import Event, Round
from mlx_specdec.forward import ModelRunner
from mlx_specdec.lookahead.policy import LookaheadPolicy
from mlx_specdec.lookahead.scores import simulated_costs
from mlx_specdec.proposers.ngram import NOTHING_LIKE_IT, NgramIndex, NgramProposer
from mlx_specdec.race.race import Race
from mlx_specdec.race.recording import LANES, SPECULATIVE, STANDARD
from mlx_specdec.request import GenerateRequest, SamplingParams
from mlx_specdec.session import Session
from mlx_specdec.settings import Settings
from mlx_specdec.speculative import SpeculativeDecoder
from mlx_specdec.standard import StandardDecoder
from tests.lanes import (
    PENALISED,
    RULES,
    VOCAB,
    answer_of,
    counts_of,
    fresh_answer,
    generation_of,
    rounds_of,
    session_of,
    tokens_of,
)
from tests.policies import ScriptedLookahead
from tests.pretend_device import PretendDevice, SleepingModel
from tests.tables import TableModel, loaded_of, table_model
from tests.toymodels import perturbed, toy_model
from tests.toys import EXACT, ONE, Table, Tokens, Verdicts, continued, one_hot, target_law

import numpy as np
import pytest

COUNT = 48
PROMPT = tuple([3, 9, 4, 1, 5, 9, 2, 6] * 4)
PROMPT_OF_FEW = (0, 1, 2, 0, 1)
SAMPLINGS = {
    "greedy": SamplingParams(),
    "penalised": PENALISED,
    "warm": SamplingParams(temperature=0.8, top_p=0.95),
}


@functools.cache
def target() -> Any:
    return toy_model(VOCAB, layers=1, seed=4, lm_head_scale=6)


@functools.cache
def plain(name: str) -> list[int]:
    return tokens_of(answered(session_of(target(), eos=()), name, draft=False))


def answered(session: Session, name: str, **settings: Any) -> list[Event]:
    wanted = {"rule": "coupled", "sampling": SAMPLINGS[name], "max_tokens": COUNT, **settings}
    return answer_of(session, PROMPT, **wanted)


@pytest.mark.parametrize("lookahead", [1, 3, 8, "auto"])
@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize("has_draft", [False, True], ids=["alone", "beside a draft"])
def test_copied_text_is_the_plain_text(name: str, lookahead: int | str, has_draft: bool) -> None:
    draft = perturbed(target(), 0.1) if has_draft else None
    session = session_of(target(), draft, eos=())
    for _ in range(2):  # the second time with what the first one left
        events = answered(session, name, draft="copy", lookahead=lookahead)
        assert tokens_of(events) == plain(name)
        assert all(guess.draft_prob is None for e in rounds_of(events) for guess in e.proposed)
        assert all(t.kind != "accepted" for e in rounds_of(events) for t in e.emitted)
    if lookahead != "auto" and name != "penalised":
        assert counts_of(events)[0] > 0


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_the_built_in_target_says_the_same(temperature: float) -> None:
    settings: dict[str, Any] = {"rule": "coupled", "seed": 3, "temperature": temperature}
    settings |= {"max_tokens": 64, "ignore_eos": True}
    prompt = "Explain these words: river, doctor, river, doctor, river"
    with load("tiny", draft="copy") as engine:
        assert (engine.pair.draft, engine.session.lookahead.way) == (None, "copying")
        alone = engine.generate(prompt, draft=False, **settings)
        copied = engine.generate(prompt, lookahead=4, **settings)
    assert copied.tokens == alone.tokens
    assert copied.metrics.proposed > 0


class Copied:
    """What the index proposes after a context, as one-hot laws."""

    def __init__(self, lookahead: int) -> None:
        self._lookahead = lookahead

    def __call__(self, context: Tokens) -> Tokens:
        index = NgramIndex((2, 1))  # so short that texts of a few tokens copy at all
        for token in context:
            index.append(token)
        return tuple(index.copied(self._lookahead))


def judged(rule: str, table: Table, context: Tokens, guesses: Tokens) -> Verdicts:
    scheme = next(each for each in EXACT if each.name == rule)
    rows = [table(context + guesses[:i]) for i in range(len(guesses) + 1)]
    return scheme.judge(rows, [one_hot(x, table.vocab) for x in guesses], guesses)


@pytest.mark.parametrize("lookahead", [1, 2, 3])
@pytest.mark.parametrize("rule", ["rejection", "block", "match"])
def test_the_law_of_copied_texts_is_the_targets(rule: str, lookahead: int) -> None:
    """Enumerated in fractions: three rounds, each copying from the text it grew."""
    table, copied, length = Table("target that copies"), Copied(lookahead), 4
    law: dict[Tokens, Fraction] = {(): ONE}
    num_copied = 0
    for _ in range(3):
        after: defaultdict[Tokens, Fraction] = defaultdict(Fraction)
        for text, weight in law.items():
            guesses = copied(text)
            num_copied += len(guesses)
            verdicts = judged(rule, table, text, guesses)
            for kept, (chance, following) in enumerate(verdicts):
                for x, own in enumerate(following):
                    if chance * own:
                        after[(*text, *guesses[:kept], x)[:length]] += weight * chance * own
        law = dict(after)
    assert num_copied > 0
    assert continued(law, table, length) == target_law(table, length)


@pytest.mark.parametrize("rule", RULES)
def test_under_every_rule_it_is_judged_as_one_hot(rule: str) -> None:
    warm: dict[str, Any] = {"rule": rule, "sampling": SamplingParams(temperature=1.0), "seed": 4}
    events = copying_answer(table_model(Table("few words")), PROMPT_OF_FEW, COUNT, **warm)
    tested = [(g, c) for e in rounds_of(events) for g, c in zip(e.proposed, e.checks, strict=False)]
    assert tested
    if rule == "rejection":
        assert all(c.asked == pytest.approx(g.target_prob, rel=1e-5) for g, c in tested)


def rewriting_model(text: list[int], vocab: int) -> Any:
    """Writes ``text`` whenever it is given two of its tokens: which two tell the third."""
    logits = np.zeros((vocab, vocab, vocab), dtype=np.float32)
    for (a, b), c in zip(pairwise(text), text[2:] + text[:1], strict=True):
        logits[a, b, c] = 30.0
    return loaded_of(TableModel(mx.array(logits)), vocab)


def copying_answer(
    loaded: Any,
    prompt: tuple[int, ...],
    count: int,
    policy: LookaheadPolicy | None = None,
    **settings: Any,
) -> list[Event]:
    request = GenerateRequest(prompt, max_tokens=count, lookahead=4, **settings)
    decoder = SpeculativeDecoder(ModelRunner(loaded), NgramProposer())
    return list(decoder.generate(generation_of(request, loaded.vocab_width), policy))


def rewrite(vocab: int, length: int) -> list[int]:
    """A text in which no two tokens stand together twice."""
    rng, text = np.random.default_rng(5), [0, 1]
    while len(text) < length:
        free = [x for x in rng.permutation(vocab) if (text[-1], int(x)) not in pairwise(text)]
        text.append(int(free[0]))
    return text


def test_a_rewrite_is_copied_almost_whole() -> None:
    vocab, length = 16, 60
    text = rewrite(vocab, length)
    events = copying_answer(rewriting_model(text, vocab), (*text, 15, 0, 1), length - 2)
    assert tokens_of(events) == text[2:]
    proposed, accepted = counts_of(events)
    assert accepted / proposed > 0.95
    assert len(rounds_of(events)) <= length // 4


def test_a_parked_lane_sees_that_copying_would_be_right_and_looks_again_soon() -> None:
    text = rewrite(16, 60)
    policy = ScriptedLookahead([(0, 64)])
    events = copying_answer(rewriting_model(text, 16), (*text, 15, 0, 1), 40, policy)
    assert tokens_of(events) == text[2:42]
    assert counts_of(events) == (0, 0)
    judged = [(each.num_accepted, each.num_tested) for each in policy.outcomes]
    assert judged == [(0, 0), *[(1, 1)] * 39]
    asked = [each.emitted_tokens for each in policy.situations]
    assert asked == list(range(0, 40, 4))


def test_a_race_copies_in_one_lane_alone() -> None:
    session = session_of(target(), perturbed(target(), 0.1), eos=())
    wanted = Settings(max_tokens=COUNT, lookahead=3, seed=5, rule="coupled", draft="copy")
    items = list(Race(session, PROMPT, wanted).events())
    lanes = {name: [each.event for each in items if each.lane == name] for name in LANES}
    assert tokens_of(lanes[STANDARD]) == tokens_of(lanes[SPECULATIVE])
    assert counts_of(lanes[STANDARD]) == (0, 0)
    guesses = [guess for event in rounds_of(lanes[SPECULATIVE]) for guess in event.proposed]
    assert guesses
    assert all(guess.draft_prob is None for guess in guesses)


def test_copying_is_priced_without_the_draft_and_learns_apart() -> None:
    session = session_of(target(), perturbed(target(), 0.1), eos=())
    other = session.beside(session.clock)
    measured = simulated_costs("m3-max")
    session.take_costs(measured)
    for each in (session, other):
        assert each.lookahead.costs.prior == measured
        assert each.copying_lookahead.costs.prior == measured.without_draft()
        assert (each.lookahead.way, each.copying_lookahead.way) == ("drafting", "copying")
    answered(session, "greedy", draft="copy", lookahead="auto")
    assert (
        session.copying_lookahead.lengths.num_replies,
        session.lookahead.lengths.num_replies,
    ) == (1, 0)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> PretendDevice:
    made = PretendDevice()
    made.install(monkeypatch)
    return made


def test_where_nothing_matches_it_is_the_plain_loop(device: PretendDevice) -> None:
    """Pass by pass at the same times: looking whether anything came back costs nothing."""
    vocab, count = 40, 30
    counting = np.zeros((vocab, vocab, vocab), dtype=np.float32)
    counting[:, np.arange(vocab - 1), np.arange(1, vocab)] = 30.0  # never a token twice
    slow = SleepingModel(
        loaded_of(TableModel(mx.array(counting)), vocab), device, 1 / 16, 0, 1 / 64
    )
    request = GenerateRequest((0, 1), max_tokens=count, lookahead=4)
    runner = ModelRunner(slow.loaded)
    alone = list(
        StandardDecoder(runner).generate(generation_of(request, vocab, clock=device.clock))
    )
    device.drain()
    runner.drop()
    decoder = SpeculativeDecoder(runner, NgramProposer())
    events = list(decoder.generate(generation_of(request, vocab, clock=device.clock)))
    device.drain()
    assert tokens_of(events) == tokens_of(alone) == list(range(2, 2 + count))
    assert [e.at for e in rounds_of(events)] == [e.at for e in rounds_of(alone)]
    assert {e.note for e in rounds_of(events)} == {NOTHING_LIKE_IT}
    assert all(e.lookahead == 0 for e in rounds_of(events))


def test_a_cancelled_answer_leaves_nothing_wrong_behind() -> None:
    session = session_of(target(), eos=())
    wanted = Settings(max_tokens=COUNT, lookahead=3, seed=5, draft="copy")
    stopped: Any = session.generate(PROMPT, wanted)
    assert any(isinstance(event, Round) and event.proposed for event in stopped)
    stopped.close()
    edited = (*PROMPT[:9], 8, 8, *PROMPT[9:])
    after = answer_of(session, edited, draft="copy", max_tokens=COUNT)
    assert tokens_of(after) == tokens_of(fresh_answer(target(), None, edited, max_tokens=COUNT))
    fresh = answer_of(session_of(target(), eos=()), edited, draft="copy", max_tokens=COUNT)
    assert [e.proposed for e in rounds_of(after)] == [e.proposed for e in rounds_of(fresh)]

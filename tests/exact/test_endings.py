"""Every way an answer ends, at every place inside a drafted block: as in plain decoding."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from mlx_specdec.errors import ContextFullError, InvalidRequestError
from mlx_specdec.events import Event
from mlx_specdec.forward import ModelRunner
from mlx_specdec.metrics import fold
from mlx_specdec.request import GenerateRequest, SamplingParams
from mlx_specdec.standard import StandardDecoder
from tests.lanes import (
    VOCAB,
    answer_of,
    drafted_rounds,
    fresh_answer,
    generation_of,
    planned_answer,
    reason_of,
    rounds_of,
    session_of,
    text_of,
    tokens_of,
)
from tests.toymodels import perturbed, toy_model

import pytest

PROMPT = (5, 17, 200, 3, 9)
LENGTH = 14


@functools.cache
def target() -> Any:
    return toy_model(VOCAB, layers=1, seed=4)


@functools.cache
def draft() -> Any:
    return perturbed(target(), 0.1)


@functools.cache
def plain() -> tuple[int, ...]:
    """What greedy decoding says without any end, all of it different."""
    tokens = tuple(tokens_of(fresh_answer(target(), None, PROMPT, max_tokens=LENGTH)))
    assert len(set(tokens)) > LENGTH // 2
    return tokens


@pytest.mark.parametrize("lookahead", [4, 8])
@pytest.mark.parametrize("place", range(LENGTH))
def test_c1_c2_b5_an_end_token_at_every_place(place: int, lookahead: int) -> None:
    """Nothing after the end token is emitted, shown or kept in a cache."""
    end = plain()[place]
    expected = list(plain()[: plain().index(end) + 1])
    for guesser in (target(), draft(), None):
        session = session_of(target(), guesser, {end})
        events = answer_of(session, PROMPT, lookahead=lookahead)
        assert tokens_of(events) == expected
        assert reason_of(events) == "stop"
        last = rounds_of(events)[-1].emitted[-1]
        assert (last.token, last.text) == (end, "")
        kept = [*PROMPT, *expected]
        assert session.target.read == kept[: session.target.length]
        assert session.target.length >= len(kept) - 1
        if session.proposer is not None:
            runner = session.proposer.runner
            assert runner.read == kept[: runner.length]


@pytest.mark.parametrize("lookahead", [1, 4])
def test_c3_a_draft_that_always_proposes_the_end_ends_nothing(lookahead: int) -> None:
    end = next(token for token in range(VOCAB) if token not in plain())
    request = GenerateRequest(PROMPT, max_tokens=LENGTH, lookahead=lookahead)
    events = planned_answer(target(), lambda _, count: [end] * count, request)
    assert tuple(tokens_of(events)) == plain()
    session = session_of(target(), draft(), {end})
    biased = SamplingParams(logit_bias=((end, 1000.0),))
    events = answer_of(session, PROMPT, draft_sampling=biased, max_tokens=LENGTH)
    assert tuple(tokens_of(events)) == plain()
    assert reason_of(events) == "length"
    assert all(guess.token == end for each in rounds_of(events) for guess in each.proposed)


@pytest.mark.parametrize("lookahead", range(1, 9))
def test_c4_the_limit_is_exact(lookahead: int) -> None:
    for limit in range(1, 11):
        events = fresh_answer(target(), target(), PROMPT, max_tokens=limit, lookahead=lookahead)
        assert tuple(tokens_of(events)) == plain()[:limit]
        assert reason_of(events) == "length"


def test_c5_c6_no_limit_runs_to_the_contexts_end_and_zero_is_refused() -> None:
    small = dataclasses.replace(target(), context_length=20)
    events = fresh_answer(small, target(), PROMPT, max_tokens=None, lookahead=4)
    assert reason_of(events) == "context"
    assert len(tokens_of(events)) == 20 - len(PROMPT)
    with pytest.raises(InvalidRequestError):
        GenerateRequest(PROMPT, max_tokens=0)


def in_letters(guesser: Any, lookahead: int, stop: tuple[str, ...]) -> list[Event]:
    """The answer with one letter a token."""
    request = GenerateRequest(PROMPT, max_tokens=LENGTH, stop=stop, lookahead=lookahead)
    if guesser is None:
        decoder = StandardDecoder(ModelRunner(target()))
        return list(decoder.generate(generation_of(request, VOCAB)))
    return list(drafted_rounds(target(), guesser, request, VOCAB))


@pytest.mark.parametrize("place", range(LENGTH - 2))
def test_c8_c9_a_stop_string_at_every_place(place: int) -> None:
    """Stops of one to three tokens; both decoders end at the same character and token."""
    whole = text_of(in_letters(None, 0, ()))
    for length in (1, 2, 3):
        stop = whole[place : place + length]
        alone = in_letters(None, 0, (stop, "never said"))
        assert text_of(alone) == whole[: whole.index(stop)]
        assert reason_of(alone) == "stop_string"
        for guesser, lookahead in ((target(), 3), (target(), 8), (draft(), 5)):
            events = in_letters(guesser, lookahead, (stop, "never said"))
            assert text_of(events) == text_of(alone)
            assert tokens_of(events) == tokens_of(alone)
            assert reason_of(events) == "stop_string"


@pytest.mark.parametrize("lookahead", [1, 5, 16])
def test_c10_drafting_stops_at_the_contexts_end(lookahead: int) -> None:
    """A context of 64, a prompt of 56: no position past the end is ever fed."""
    small = dataclasses.replace(target(), context_length=64)
    prompt = tuple(range(56))
    fed = []

    def reading(context: list[int], count: int) -> list[int]:
        fed.append(len(context) + count)
        return [1] * count

    session = session_of(small, target(), ())
    events = answer_of(session, prompt, max_tokens=None, lookahead=lookahead)
    alone = answer_of(session_of(small, None, ()), prompt, max_tokens=None)
    assert tokens_of(events) == tokens_of(alone)
    assert len(tokens_of(events)) == 8
    assert reason_of(events) == reason_of(alone) == "context"
    assert session.target.length <= 64
    request = GenerateRequest(prompt, max_tokens=8, lookahead=lookahead)
    planned_answer(target(), reading, request)
    assert max(fed) <= 64


@pytest.mark.parametrize(
    ("context", "count", "reason"), [(15, 10, "length"), (16, 10, "length"), (14, 9, "context")]
)
def test_c11_a_limit_at_the_contexts_edge(context: int, count: int, reason: str) -> None:
    """Prompt + max_tokens = 15 against a context of 15, of 16 and of 14."""
    small = dataclasses.replace(target(), context_length=context)
    for guesser in (None, target(), draft()):
        events = fresh_answer(small, guesser, PROMPT, max_tokens=10, lookahead=6)
        assert tuple(tokens_of(events)) == plain()[:count]
        assert reason_of(events) == reason


def test_c11_a_prompt_that_fills_the_context_is_refused() -> None:
    small = dataclasses.replace(target(), context_length=len(PROMPT))
    for guesser in (None, draft()):
        with pytest.raises(ContextFullError):
            fresh_answer(small, guesser, PROMPT)


@pytest.mark.parametrize("room", [-3, 0, 1, 4, 9])
@pytest.mark.parametrize("lookahead", [1, 4])
def test_c12_a_draft_with_a_shorter_context(room: int, lookahead: int) -> None:
    """Past the draft's context the answer goes on without it, and says so."""
    short = dataclasses.replace(draft(), context_length=len(PROMPT) + room)
    session = session_of(target(), short, ())
    events = answer_of(session, PROMPT, max_tokens=LENGTH, lookahead=lookahead)
    assert tuple(tokens_of(events)) == plain()
    assert session.proposer is not None
    assert session.proposer.runner.length <= max(len(PROMPT) + room, 0)
    assert any("not drafting" in each.note for each in rounds_of(events))


def test_c13_acceptance_is_unknown_when_nothing_was_drafted() -> None:
    short = dataclasses.replace(draft(), context_length=3)
    events = fresh_answer(target(), short, PROMPT, max_tokens=LENGTH)
    assert fold(events).acceptance_rate is None
    assert all(each.lookahead == 0 for each in rounds_of(events))
    assert not any(each.proposed for each in rounds_of(events))


def test_c14_c15_every_end_token_counts_in_both_decoders() -> None:
    ends = {plain()[7], plain()[11], 0}
    for guesser in (None, draft(), target()):
        events = fresh_answer(target(), guesser, PROMPT, eos=ends, max_tokens=LENGTH)
        assert tokens_of(events) == list(plain()[:8])
        assert reason_of(events) == "stop"
        going_on = fresh_answer(
            target(), guesser, PROMPT, eos=ends, max_tokens=LENGTH, ignore_eos=True
        )
        assert tuple(tokens_of(going_on)) == plain()

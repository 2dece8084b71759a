"""What the caches hold: a prefix of prompt + emitted, or nothing, whatever happened."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

from mlx_specdec import speculative, standard
from mlx_specdec.backend import mx, read_floats
from mlx_specdec.events import Event, Prefilled, Round
from mlx_specdec.forward import ModelRunner
from mlx_specdec.request import SamplingParams
from mlx_specdec.session import Session
from mlx_specdec.settings import Settings
from tests.lanes import (
    VOCAB,
    answer_of,
    fresh_answer,
    reason_of,
    rounds_of,
    session_of,
    tokens_of,
    walk_away,
)
from tests.toymodels import ForwardFailure, RaisingModel, perturbed, toy_model

import pytest

PROMPT = [5, 17, 200, 3, 9, 9, 1]
LENGTH = 12
WARM = Settings(
    sampling=SamplingParams(temperature=0.8), max_tokens=LENGTH, lookahead=3, rule="block", seed=3
)


@functools.cache
def target() -> Any:
    return toy_model(VOCAB, layers=2, seed=4, lm_head_scale=6)


@functools.cache
def draft() -> Any:
    return perturbed(target(), 0.1)


def runners(session: Session) -> list[ModelRunner]:
    drafts = [session.proposer.runner] if session.proposer is not None else []
    return [session.target, *drafts]


def assert_holds_a_prefix(session: Session, tokens: list[int]) -> None:
    """Ids, lengths of all layers, and the numbers themselves against a fresh prefill."""
    for runner in runners(session):
        assert runner.read == tokens[: runner.length]
        assert {layer.offset for layer in runner.cache.layers} == {runner.length}
        if runner.length:
            fresh = ModelRunner(runner.loaded)
            fresh.extend(tokens[: runner.length])
            for mine, right in zip(runner.cache.layers, fresh.cache.layers, strict=True):
                length = runner.length
                for held, expected in ((mine.keys, right.keys), (mine.values, right.values)):
                    same = mx.allclose(held[..., :length, :], expected[..., :length, :], atol=1e-5)
                    assert bool(same)


def assert_goes_on_like_a_cold_run(session: Session, tokens: list[int]) -> None:
    """The next turn continues what was emitted; it must not know what else was guessed."""
    prompt = [*tokens, 7, 8]
    cold = answer_of(session_of(target(), draft(), ()), prompt, max_tokens=8)
    assert tokens_of(answer_of(session, prompt, max_tokens=8)) == tokens_of(cold)


def number_of_rounds(settings: Settings) -> int:
    return len(rounds_of(session_of(target(), draft(), ()).generate(PROMPT, settings)))


@pytest.mark.parametrize("rule", ["rejection", "block", "coupled", "match"])
@pytest.mark.parametrize("lookahead", [0, 1, 3, 8])
def test_after_every_round_what_was_committed_is_a_prefix(rule: str, lookahead: int) -> None:
    """The pass of the next round is under way by then: it lies beyond what counts as read."""
    session = session_of(target(), draft(), ())
    tokens = list(PROMPT)
    for event in session.generate(PROMPT, WARM.changed(rule=rule, lookahead=lookahead)):
        if isinstance(event, Prefilled):
            assert session.target.length == len(PROMPT) - 1
        if isinstance(event, Round):
            tokens += [token.token for token in event.emitted]
        for runner in runners(session):
            assert runner.read == tokens[: len(runner.read)]
    assert_holds_a_prefix(session, tokens)
    assert session.target.length >= len(tokens) - 1


def stopped_at(session: Session, settings: Settings, place: int) -> list[int]:
    """Close the answer after ``place`` rounds; the tokens that were handed out."""
    answer = session.generate(PROMPT, settings)
    rounds = (event for event in answer if isinstance(event, Round))
    given = list(itertools.islice(rounds, place))
    walk_away(answer)
    return tokens_of(given)


@pytest.mark.parametrize("lookahead", [0, 1, 4])
def test_b3_the_reader_walks_away_at_every_round(lookahead: int) -> None:
    settings = WARM.changed(lookahead=lookahead)
    for place in range(1, number_of_rounds(settings) + 1):
        session = session_of(target(), draft(), ())
        tokens = [*PROMPT, *stopped_at(session, settings, place)]
        assert_holds_a_prefix(session, tokens)
        assert session.target.length >= len(tokens) - 1
        assert_goes_on_like_a_cold_run(session, tokens)


def cancelled_at(
    session: Session, prompt: list[int], settings: Settings, place: int
) -> list[Event]:
    """An answer that goes on ``place`` times when it looks whether it shall."""
    asked = itertools.count()
    return list(session.generate(prompt, settings, is_cancelled=lambda: next(asked) >= place))


@pytest.mark.parametrize("lookahead", [0, 1, 4])
def test_b2_b3_cancel_at_every_round(lookahead: int) -> None:
    settings = WARM.changed(lookahead=lookahead)
    for place in range(number_of_rounds(settings) + 3):
        session = session_of(target(), draft(), ())
        events = cancelled_at(session, PROMPT, settings, place)
        tokens = [*PROMPT, *tokens_of(events)]
        assert reason_of(events) in ("cancelled", "length")
        assert_holds_a_prefix(session, tokens)
        assert_goes_on_like_a_cold_run(session, tokens)


def test_b2_cancel_between_the_chunks_of_a_prompt() -> None:
    """While the target reads it, and later while the draft does: each keeps whole chunks."""
    prompt = [token % VOCAB for token in range(600)]
    held = []
    for place in range(8):
        session = session_of(target(), draft(), ())
        events = cancelled_at(session, prompt, WARM, place)
        assert reason_of(events) == "cancelled"
        assert_holds_a_prefix(session, [*prompt, *tokens_of(events)])
        held.append(tuple(runner.length for runner in runners(session)))
        expected = fresh_answer(target(), None, prompt, max_tokens=3)
        assert tokens_of(answer_of(session, prompt, max_tokens=3)) == tokens_of(expected)
    assert held[:2] == [(0, 0), (256, 0)]
    assert any(0 < draft_length < 600 <= length for length, draft_length in held)


def failing(which: str, at: int, after: bool, error: type[BaseException]) -> Session:
    broken = RaisingModel(target() if which == "target" else draft(), at, error, after).loaded
    if which == "target":
        return session_of(broken, draft(), ())
    return session_of(target(), broken, ())


@pytest.mark.parametrize("error", [ForwardFailure, KeyboardInterrupt])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after the cache grew"])
@pytest.mark.parametrize("which", ["target", "draft"])
def test_b2_an_exception_in_any_pass(which: str, after: bool, error: type[BaseException]) -> None:
    """Both caches are dropped, and the next turn is that of a fresh process."""
    whole = session_of(target(), draft(), ())
    list(whole.generate(PROMPT, WARM))
    for at in range(1, runners(whole)[which == "draft"].passes + 1):
        session = failing(which, at, after, error)
        events: list[Event] = []
        with pytest.raises(error):
            events.extend(session.generate(PROMPT, WARM))
        assert [runner.length for runner in runners(session)] == [0, 0]
        assert [runner.read for runner in runners(session)] == [[], []]
        assert_goes_on_like_a_cold_run(session, PROMPT)


@pytest.mark.parametrize("lookahead", [0, 3])
def test_b2_an_exception_while_the_device_works(
    lookahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lazy pass fails where it is read."""
    for at in range(4):
        asked = itertools.count()

        def read(array: mx.array, at: int = at, asked: Iterator[int] = asked) -> list[float]:
            if next(asked) == at:
                raise ForwardFailure("the device gave up")
            return read_floats(array)

        with monkeypatch.context() as patch:
            patch.setattr(standard, "read_floats", read)
            patch.setattr(speculative, "read_floats", read)
            session = session_of(target(), draft(), ())
            with pytest.raises(ForwardFailure):
                list(session.generate(PROMPT, WARM.changed(lookahead=lookahead)))
        assert [runner.length for runner in runners(session)] == [0, 0]
        assert_goes_on_like_a_cold_run(session, PROMPT)


def test_b2_a_failure_of_the_plain_loop_leaves_the_draft_usable() -> None:
    session = session_of(RaisingModel(target(), 12).loaded, draft(), ())
    tokens = [*PROMPT, *tokens_of(answer_of(session, PROMPT, max_tokens=6))]
    with pytest.raises(ForwardFailure):
        answer_of(session, [*tokens, 1], max_tokens=30, draft=False)
    assert session.target.length == 0
    assert_holds_a_prefix(session, tokens)
    assert_goes_on_like_a_cold_run(session, tokens)

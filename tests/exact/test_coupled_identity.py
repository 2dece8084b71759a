"""Coupled noise: at any temperature the text is the plain text of the same seed."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

from mlx_specdec.request import GenerateRequest, SamplingParams
from mlx_specdec.settings import Settings
from tests.lanes import (
    VOCAB,
    Plan,
    counts_of,
    fresh_answer,
    planned_answer,
    rounds_of,
    session_of,
    tokens_of,
)
from tests.stats import chi_square, chi_square_limit
from tests.toymodels import perturbed, toy_model, widened

import numpy as np
import pytest

FALSE_ALARM = 1e-6
PROMPT = (5, 17, 200, 3, 9)
LENGTH = 16
WARM = SamplingParams(temperature=0.7)
SAMPLINGS = {
    "0.7": WARM,
    "1.0": SamplingParams(temperature=1.0),
    "0.7 top-p": SamplingParams(temperature=0.7, top_p=0.8),
    "1.0 top-k": SamplingParams(temperature=1.0, top_k=8),
    "all": SamplingParams(
        temperature=1.0,
        top_p=0.9,
        min_p=0.01,
        top_k=20,
        repetition_penalty=1.3,
        repetition_context_size=6,
        presence_penalty=0.5,
        frequency_penalty=0.3,
        logit_bias=((3, 2.0),),
    ),
}


@functools.cache
def target() -> Any:
    """Logits flat enough that a temperature matters."""
    return toy_model(VOCAB, layers=1, seed=4, lm_head_scale=3)


@functools.cache
def draft() -> Any:
    return perturbed(target(), 0.1)


def plain(sampling: SamplingParams, seed: int = 5) -> list[int]:
    return tokens_of(
        fresh_answer(target(), None, PROMPT, sampling=sampling, max_tokens=LENGTH, seed=seed)
    )


@pytest.mark.parametrize("rule", ["coupled", "match"])
@pytest.mark.parametrize("name", SAMPLINGS)
def test_a_draft_changes_nothing(name: str, rule: str) -> None:
    """Both rules say what the target's own noise says; match drafts with noise of its own."""
    sampling = SAMPLINGS[name]
    proposed = accepted = 0
    for seed, lookahead in ((5, 1), (6, 3), (7, 4), (8, 8)):
        events = fresh_answer(
            target(),
            draft(),
            PROMPT,
            sampling=sampling,
            rule=rule,
            lookahead=lookahead,
            max_tokens=LENGTH,
            seed=seed,
        )
        assert tokens_of(events) == plain(sampling, seed)
        more = counts_of(events)
        proposed, accepted = proposed + more[0], accepted + more[1]
    assert 0 < accepted < proposed


def test_the_settings_and_the_seed_matter_here() -> None:
    texts = {tuple(plain(sampling, seed)) for sampling in SAMPLINGS.values() for seed in (5, 6)}
    assert len(texts) > 8


@pytest.mark.parametrize("width", [260, VOCAB, 330])
@pytest.mark.parametrize("name", ["1.0", "all"])
def test_e1_e4_e5_drafts_of_three_widths(width: int, name: str) -> None:
    """Narrower than the target, as wide, wider; the padding wins wherever it is not masked."""
    if width < VOCAB:
        guesser = toy_model(width, layers=1, seed=4, lm_head_scale=3)
    else:
        guesser = draft() if width == VOCAB else widened(draft(), width, scale=30)
    sampling = SAMPLINGS[name]
    events = fresh_answer(
        target(), guesser, PROMPT, sampling=sampling, rule="coupled", max_tokens=LENGTH
    )
    assert tokens_of(events) == plain(sampling)
    guesses = [guess.token for each in rounds_of(events) for guess in each.proposed]
    assert max(guesses) < min(width, VOCAB)


@pytest.mark.parametrize("rule", ["rejection", "block", "coupled", "match"])
def test_e5_padding_of_the_target_is_never_drawn(rule: str) -> None:
    """Padded rows that would win are masked; the text is that of the bare target."""
    padded, guesser = widened(target(), 330, scale=30), widened(draft(), 300, scale=30)
    sampling = SAMPLINGS["1.0"]
    options = {"sampling": sampling, "rule": rule, "max_tokens": LENGTH}
    events = fresh_answer(padded, guesser, PROMPT, **options)
    assert max(tokens_of(events)) < VOCAB
    bare = fresh_answer(target(), draft(), PROMPT, **options)
    assert tokens_of(events) == tokens_of(bare)


def adversary(expected: list[int], kind: str) -> Plan:
    """A plan by somebody who knows what the target is about to say."""
    rng = np.random.default_rng(3)

    def plan(context: list[int], count: int) -> list[int]:
        done = len(context) - len(PROMPT)
        right = expected[done : done + count]
        wrong = [(token + 1) % VOCAB for token in right]
        by_kind = {
            "right": right,
            "wrong": wrong,
            "wrong at the end": [*right[:-1], *wrong[-1:]],
            "wrong at first": [*wrong[:1], *right[1:]],
            "empty": [],
            "alternating": right if len(context) % 2 else [],
            "shorter and shorter": right[: done % 4],
            "random": [int(token) for token in rng.integers(VOCAB, size=len(right))],
            "the last id": [VOCAB - 1] * count,
        }
        return by_kind[kind]

    return plan


KINDS = (
    "right",
    "wrong",
    "wrong at the end",
    "wrong at first",
    "empty",
    "alternating",
    "shorter and shorter",
    "random",
    "the last id",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_any_proposal_whatsoever_leaves_the_text_unchanged(kind: str, temperature: float) -> None:
    sampling = SamplingParams(temperature=temperature)
    expected = plain(sampling)
    for rule in ("coupled", "match"):
        for lookahead in (1, 4):
            request = GenerateRequest(
                PROMPT, sampling, max_tokens=LENGTH, lookahead=lookahead, rule=rule, seed=5
            )
            events = planned_answer(target(), adversary(expected, kind), request)
            assert tokens_of(events) == expected
            proposed, accepted = counts_of(events)
            if kind == "right":
                assert accepted == proposed > 0
            if kind == "wrong":
                assert accepted == 0 < proposed


def test_a_shared_noise_is_accepted_more_often_than_a_private_one() -> None:
    """Draft = target: shared noise is right every time, private noise now and then (D8)."""
    rates = {}
    for rule in ("coupled", "match"):
        proposed = accepted = 0
        for seed in range(4):
            events = fresh_answer(
                target(),
                target(),
                PROMPT,
                sampling=SAMPLINGS["1.0"],
                rule=rule,
                max_tokens=LENGTH,
                seed=seed,
            )
            more = counts_of(events)
            proposed, accepted = proposed + more[0], accepted + more[1]
        rates[rule] = accepted / proposed
    assert rates["coupled"] == 1
    assert rates["match"] < 0.9


def test_the_plain_samplers_law() -> None:
    """800 first tokens with filters against the softmax of the target's own logits."""
    from mlx_specdec.distributions import History, probs
    from mlx_specdec.forward import ModelRunner

    sampling = SamplingParams(temperature=0.8, top_p=0.6, top_k=12)
    session = session_of(target(), None, ())
    counts = Counter(
        tokens_of(session.generate(PROMPT, Settings(sampling=sampling, max_tokens=1, seed=seed)))[0]
        for seed in range(800)
    )
    logits = ModelRunner(target()).extend(PROMPT)[-1:]
    law: Any = probs(logits, sampling, History(PROMPT), VOCAB)[0].tolist()
    assert sum(chance > 0 for chance in law) > 3
    statistic, freedom = chi_square([counts[token] for token in range(VOCAB)], law)
    assert statistic < chi_square_limit(freedom, FALSE_ALARM)

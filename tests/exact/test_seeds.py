"""Randomness comes from the seed of the request, and from nothing else."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from mlx_specdec.backend import mx
from mlx_specdec.request import SamplingParams
from mlx_specdec.settings import Settings
from tests.lanes import RULES, VOCAB, answer_of, fresh_answer, session_of, tokens_of
from tests.toymodels import perturbed, toy_model

import numpy as np
import pytest

PROMPT = (5, 17, 200, 3, 9)
WARM = SamplingParams(temperature=0.9)


@functools.cache
def target() -> Any:
    return toy_model(VOCAB, layers=1, seed=4, lm_head_scale=4)


@functools.cache
def draft() -> Any:
    return perturbed(target(), 0.1)


@pytest.mark.parametrize("rule", RULES)
def test_d10_d11_the_same_seed_gives_the_same_text(rule: str) -> None:
    session = session_of(target(), draft(), ())
    texts: list[tuple[int, ...]] = []
    for seed in (1, 2, 3, 1, 2, 3):
        mx.random.seed(seed * len(texts))
        events = answer_of(session, PROMPT, sampling=WARM, rule=rule, seed=seed, max_tokens=12)
        texts.append(tuple(tokens_of(events)))
    assert texts[:3] == texts[3:]
    assert len(set(texts)) == 3


@pytest.mark.parametrize("rule", [*RULES, "plain"])
def test_d11_d12_mlx_own_random_state_is_neither_used_nor_moved(rule: str) -> None:
    texts = []
    guesser = None if rule == "plain" else draft()
    options = {} if rule == "plain" else {"rule": rule}
    state: Any = mx.random.state
    for seed in (0, 77):
        mx.random.seed(seed)
        before = np.array(state[0])
        events = fresh_answer(target(), guesser, PROMPT, sampling=WARM, max_tokens=10, **options)
        assert np.array_equal(before, np.array(state[0]))
        texts.append(tokens_of(events))
    assert texts[0] == texts[1]


def test_d11_two_lanes_do_not_disturb_each_other() -> None:
    """Turn and turn about, one twice as long: each says what it says alone."""
    options: dict[str, Any] = {"sampling": WARM, "rule": "coupled"}
    alone = [
        tokens_of(fresh_answer(target(), draft(), PROMPT, seed=seed, max_tokens=n, **options))
        for seed, n in ((1, 8), (2, 16))
    ]
    lanes = [
        session_of(target(), draft(), ()).generate(
            PROMPT, Settings(WARM, rule="coupled", seed=seed, max_tokens=n)
        )
        for seed, n in ((1, 8), (2, 16))
    ]
    events = list(itertools.zip_longest(*lanes))
    for which in (0, 1):
        assert tokens_of(pair[which] for pair in events if pair[which]) == alone[which]


def test_d12_without_a_seed_every_answer_is_another() -> None:
    texts = {
        tuple(
            tokens_of(
                fresh_answer(target(), draft(), PROMPT, sampling=WARM, seed=None, max_tokens=10)
            )
        )
        for _ in range(3)
    }
    assert len(texts) == 3

"""The corners of the rules: equal laws, chances of 0, temperatures near 0, rows of no numbers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from mlx_specdec.acceptance import Decision, TargetRows, rule_named
from mlx_specdec.backend import mx
from mlx_specdec.distributions import History, log_probs, softmax
from mlx_specdec.errors import NotANumberError
from mlx_specdec.noise import KeyedNoise
from mlx_specdec.proposal import Proposal
from mlx_specdec.request import GenerateRequest, SamplingParams
from tests.lanes import (
    RULES,
    answer_of,
    fresh_answer,
    planned_answer,
    rounds_of,
    session_of,
    tokens_of,
)
from tests.toymodels import perturbed, toy_model

import numpy as np
import pytest

TARGET = toy_model(270, layers=1)
DRAFT = perturbed(TARGET)
HIGHEST_COIN = 1 - 2**-23


class FixedNoise(KeyedNoise):
    """KeyedNoise but for its coins and the residual uniform."""

    def __init__(self, coin: float, residual: float = 0.5) -> None:
        super().__init__(0)
        self._coin = coin
        self._residual = residual

    def round(self, index: int) -> Any:
        return self

    def coins(self, count: int) -> list[float]:
        return [self._coin] * count

    def residual(self) -> float:
        return self._residual


def decided(
    rule: str, target: mx.array, draft: mx.array | None, tokens: list[int], noise: KeyedNoise
) -> Decision:
    laws = None if draft is None else softmax(draft)
    proposal = Proposal(mx.array(tokens, dtype=mx.int32), len(tokens), laws)
    return rule_named(rule, 1.0).decide(TargetRows(target, 5), proposal, noise, 1)


def log_laws(*rows: list[float]) -> mx.array:
    return mx.log(mx.array(rows))


def has_numbers(decision: Decision) -> bool:
    parts = [decision.next_margin, decision.asked, decision.carried, decision.margins]
    return not any(bool(mx.any(mx.isnan(part))) for part in parts)


@pytest.mark.parametrize("rule", ["rejection", "block"])
@pytest.mark.parametrize("coin", [0.0, 0.5, HIGHEST_COIN])
def test_d4_equal_laws_accept_everything_without_nan(rule: str, coin: float) -> None:
    rng = np.random.default_rng(0)
    for width in (2, 17, 1000):
        logits = mx.array(rng.normal(size=(5, width)).astype(np.float32) * 3)
        tokens = [int(x) for x in rng.integers(width, size=4)]
        decision = decided(rule, logits, logits[:4], tokens, FixedNoise(coin))
        assert int(decision.num_accepted) == 4
        assert has_numbers(decision)


@pytest.mark.parametrize("rule", ["rejection", "block"])
def test_d4_laws_that_differ_by_rounding_give_no_nan(rule: str) -> None:
    rng = np.random.default_rng(1)
    logits = mx.array(rng.normal(size=(5, 300)).astype(np.float32))
    law = log_probs(logits, SamplingParams(temperature=1.0), History([0]), 300)
    for shift in (-3e-7, 3e-7):
        decision = decided(rule, logits, law[:4] + shift, [1, 2, 3, 4], FixedNoise(HIGHEST_COIN))
        assert has_numbers(decision)
        assert 0 <= int(decision.next_token) < 300


@pytest.mark.parametrize("rule", RULES)
def test_d4_a_draft_equal_to_its_target_at_temperature_one(rule: str) -> None:
    """Flat logits, 200 tokens, twice the same model: nothing but numbers, and in range."""
    flat = toy_model(270, layers=1, lm_head_scale=1)
    sampling = SamplingParams(temperature=1.0)
    events = fresh_answer(flat, flat, [1, 2, 3], max_tokens=200, rule=rule, sampling=sampling)
    assert len(tokens_of(events)) == 200
    numbers = [check.asked for each in rounds_of(events) for check in each.checks]
    assert not any(math.isnan(number) for number in numbers)
    if rule != "match":
        assert all(each.num_accepted == len(each.proposed) for each in rounds_of(events))


@pytest.mark.parametrize("rule", ["rejection", "block"])
@pytest.mark.parametrize("has_law", [True, False], ids=["law", "one-hot"])
def test_d5_a_token_of_chance_zero_is_rejected_by_a_coin_of_zero(rule: str, has_law: bool) -> None:
    target = log_laws([0.0, 0.5, 0.5], [0.2, 0.4, 0.4], [0.3, 0.3, 0.4])
    draft = log_laws([0.8, 0.1, 0.1], [0.2, 0.4, 0.4]) if has_law else None
    decision = decided(rule, target, draft, [0, 1], FixedNoise(0.0))
    assert int(decision.num_accepted) == 0
    assert int(decision.next_token) in (1, 2)
    assert float(decision.asked[0]) == 0


@pytest.mark.parametrize("residual", [0.0, HIGHEST_COIN])
def test_d5_the_replacement_is_never_a_token_of_chance_zero(residual: float) -> None:
    target = log_laws([0.0, 0.5, 0.5, 0.0], [0.25, 0.25, 0.25, 0.25])
    draft = log_laws([0.4, 0.6, 0.0, 0.0])
    for rule in ("rejection", "block"):
        decision = decided(rule, target, draft, [0], FixedNoise(0.999, residual))
        assert int(decision.next_token) == 2


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "sampling",
    [
        SamplingParams(temperature=0),
        SamplingParams(temperature=0.0, top_p=0.9, top_k=3, min_p=0.1),
        SamplingParams(temperature=1e-8),
        SamplingParams(temperature=1e-4),
        SamplingParams(temperature=0.8, top_k=1),
        SamplingParams(temperature=1.0, top_k=1, top_p=0.5),
    ],
    ids=["0", "0.0 with filters", "1e-8", "1e-4", "top-k 1", "top-k 1, top-p"],
)
def test_d6_cold_settings_give_the_greedy_text(rule: str, sampling: SamplingParams) -> None:
    greedy = tokens_of(fresh_answer(TARGET, None, [1, 2, 3], max_tokens=16))
    for draft in (None, DRAFT):
        events = fresh_answer(TARGET, draft, [1, 2, 3], max_tokens=16, rule=rule, sampling=sampling)
        assert tokens_of(events) == greedy


@pytest.mark.parametrize("rule", RULES)
def test_a_one_hot_proposal_is_judged_as_one_hot(rule: str) -> None:
    """Its tokens are marked copied, and its chance is the target's own, not a ratio."""
    request = GenerateRequest(
        (1, 2, 3), SamplingParams(temperature=0.7), max_tokens=24, rule=rule, lookahead=3
    )
    events = planned_answer(TARGET, lambda context, count: [context[-1]] * count, request)
    rounds = rounds_of(events)
    assert len(tokens_of(events)) == 24
    for each in rounds[1:]:
        assert all(token.draft_prob is None for token in each.proposed)
        assert all(
            token.kind in ("copied", "recovered", "bonus", "sampled") for token in each.emitted
        )
        if rule in ("rejection", "block"):
            looked = zip(each.checks, each.proposed, strict=False)
            for check, proposed in looked if rule == "rejection" else ():
                assert check.asked == pytest.approx(proposed.target_prob, rel=1e-5)


class NaNModel:
    """A model whose pass number ``at`` returns no numbers in its last row."""

    def __init__(self, inner: Any, at: int) -> None:
        self._inner = inner
        self._at = at
        self.layers = inner.layers

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        logits: mx.array = self._inner(inputs, cache=cache)
        self._at -= 1
        if self._at != 0:
            return logits
        last = mx.arange(logits.shape[1])[None, :, None] == logits.shape[1] - 1
        return mx.where(last, mx.array(float("nan")), logits)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("at", [2, 3])
def test_a_row_of_no_numbers_is_an_error(rule: str, temperature: float, at: int) -> None:
    for draft in (None, DRAFT):
        broken: Any = NaNModel(TARGET.model, at)
        session = session_of(dataclasses.replace(TARGET, model=broken), draft, ())
        sampling = SamplingParams(temperature=temperature)
        with pytest.raises(NotANumberError):
            answer_of(session, [1, 2, 3], max_tokens=12, rule=rule, sampling=sampling)
        assert session.target.length == 0
        answer = answer_of(session, [1, 2, 3], max_tokens=4, rule=rule)
        assert tokens_of(answer) == tokens_of(fresh_answer(TARGET, None, [1, 2, 3], max_tokens=4))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_draft_of_no_numbers_is_named(rule: str, temperature: float) -> None:
    """Its guesses would be worthless and the text still the target's; but nobody would know."""
    broken: Any = NaNModel(DRAFT.model, 3)
    draft = dataclasses.replace(DRAFT, model=broken, name="the-draft")
    sampling = SamplingParams(temperature=temperature)
    with pytest.raises(NotANumberError, match="the-draft returned no number"):
        fresh_answer(TARGET, draft, [1, 2, 3], sampling=sampling, max_tokens=12, rule=rule)

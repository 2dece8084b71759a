"""Laws are mlx-lm's, with each row's own history, in both models."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from mlx_specdec import speculative
from mlx_specdec.backend import mx
from mlx_specdec.distributions import History, adjusted_logits, log_probs, probs
from mlx_specdec.forward import ModelRunner
from mlx_specdec.proposers import draft_model
from mlx_specdec.request import GenerateRequest, SamplingParams
from tests.lanes import (
    PENALISED,
    VOCAB,
    fresh_answer,
    rounds_of,
)
from tests.toymodels import perturbed, toy_model

import numpy as np
import pytest
from mlx_lm.sample_utils import apply_min_p, apply_top_k, apply_top_p, make_logits_processors

PROMPT = (5, 17, 200, 3, 9)
WARM = SamplingParams(temperature=0.9)
FILTERED = SamplingParams(temperature=0.7, top_p=0.8, min_p=0.02, top_k=9)
CASES = {
    "bare": WARM,
    "filters": FILTERED,
    "top-p": SamplingParams(temperature=1.3, top_p=0.5),
    "top-k": SamplingParams(temperature=1.0, top_k=3),
    "bias": SamplingParams(temperature=1.0, logit_bias=((1, 5.0), (9, -5.0), (999, 1.0))),
    "repetition": SamplingParams(temperature=1.0, repetition_penalty=1.5),
    "repetition 0 is off": SamplingParams(temperature=1.0, repetition_penalty=0.0),
    "presence": SamplingParams(temperature=1.0, presence_penalty=1.1, presence_context_size=3),
    "frequency": SamplingParams(temperature=1.0, frequency_penalty=0.7),
    "all": SamplingParams(
        temperature=0.6,
        top_p=0.9,
        min_p=0.01,
        top_k=12,
        repetition_penalty=1.4,
        repetition_context_size=4,
        presence_penalty=-0.5,
        presence_context_size=6,
        frequency_penalty=0.8,
        frequency_context_size=9,
        logit_bias=((0, 1.5), (4, -2.0)),
    ),
}


def adjusted_by_mlx_lm(row: mx.array, params: SamplingParams, tokens: list[int]) -> mx.array:
    bias = {token: value for token, value in params.logit_bias if token < row.shape[-1]}
    processors = make_logits_processors(
        bias or None,
        params.repetition_penalty if params.repetition_penalty not in (0, 1) else None,
        params.repetition_context_size,
        params.presence_penalty,
        params.presence_context_size,
        params.frequency_penalty,
        params.frequency_context_size,
    )
    for processor in processors:
        row = processor(mx.array(tokens), row)
    return row


def law_by_mlx_lm(row: mx.array, params: SamplingParams, tokens: list[int]) -> mx.array:
    adjusted = adjusted_by_mlx_lm(row, params, tokens)
    law = adjusted - mx.logsumexp(adjusted, axis=-1, keepdims=True)
    if 0 < params.top_p < 1:
        law = apply_top_p(law, params.top_p)
    if params.min_p:
        law = apply_min_p(law, params.min_p, 1)
    if params.top_k:
        law = apply_top_k(law, params.top_k)
    return mx.softmax(law / params.temperature, axis=-1)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("first", [0, 1, 2])
def test_each_row_has_the_law_of_its_own_history(name: str, first: int) -> None:
    """Row i sees the known tokens and the drafted ones before it, windows shorter and longer."""
    params, width = CASES[name], 40
    rng = np.random.default_rng(1)
    for known_length in (1, 3, 25):
        known = [int(token) for token in rng.integers(12, size=known_length)]
        drafted = [int(token) for token in rng.integers(12, size=5)]
        logits = mx.array(rng.normal(size=(6 - first, width)).astype(np.float32) * 3)
        history = History(known, mx.array(drafted), first)
        scores = adjusted_logits(logits, params, history, width)
        law = probs(logits, params, history, width)
        for i in range(6 - first):
            seen = [*known, *drafted[: first + i]]
            expected = adjusted_by_mlx_lm(logits[i : i + 1], params, seen)
            assert bool(mx.allclose(scores[i], expected[0], atol=1e-5))
            expected = law_by_mlx_lm(logits[i : i + 1], params, seen)
            assert bool(mx.allclose(law[i], expected[0], atol=1e-5))


def test_a_law_sums_to_one_at_the_tokenizers_width() -> None:
    rng = np.random.default_rng(2)
    logits = mx.array(rng.normal(size=(3, 50)).astype(np.float32) * 5)
    for width in (30, 50, 70):
        for params in (WARM, FILTERED, SamplingParams()):
            law = probs(logits, params, History([1]), width)
            assert law.shape == (3, width)
            assert np.array(mx.sum(law, axis=-1)) == pytest.approx(np.ones(3), abs=1e-5)
            assert float(mx.sum(law[:, 50:])) == 0
    cold = probs(logits, SamplingParams(), History([1]), 50)
    assert bool(mx.all((cold == 0) | (cold == 1)))


def law_after(model: Any, tokens: list[int], params: SamplingParams) -> Any:
    """The law of the next token, from a fresh reading of everything before it."""
    logits = ModelRunner(model).extend(tokens)[-1:]
    return mx.exp(log_probs(logits, params, History(tokens), VOCAB))[0]


@functools.cache
def target() -> Any:
    return toy_model(VOCAB, layers=1, seed=4, lm_head_scale=4)


@functools.cache
def draft() -> Any:
    return perturbed(target(), 0.1)


@pytest.mark.parametrize("drafting", [None, SamplingParams(temperature=0.5, top_k=5)])
@pytest.mark.parametrize("name", ["filters", "top-p", "all"])
def test_d3_d7_d17_both_models_use_the_settings_asked_for(
    name: str, drafting: SamplingParams | None
) -> None:
    """What is shown of each guess is its chance under the laws of a fresh reading.

    The draft has the target's settings (but for a top-p that would cost more than it brings), or
    those asked for it; the target's are never changed.
    """
    params = CASES[name]
    asked = drafting or GenerateRequest(PROMPT, params).drafting_params
    assert drafting or dataclasses.replace(asked, top_p=params.top_p) == params
    events = fresh_answer(
        target(), draft(), PROMPT, sampling=params, draft_sampling=drafting, max_tokens=16
    )
    tokens = list(PROMPT)
    for each in rounds_of(events):
        path = list(tokens)
        for guess in each.proposed:
            p, q = law_after(target(), path, params), law_after(draft(), path, asked)
            assert guess.target_prob == pytest.approx(float(p[guess.token]), abs=1e-4)
            assert guess.draft_prob == pytest.approx(float(q[guess.token]), abs=1e-4)
            path.append(guess.token)
        for token in each.emitted:
            assert float(law_after(target(), tokens, params)[token.token]) > 0
            tokens.append(token.token)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_d15_penalties_see_prompt_emitted_and_the_guesses_before_a_row(
    temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, list[tuple[list[int], list[int], int]]] = {"target": [], "draft": []}

    def spied(module: Any, who: str) -> None:
        inner = module.scaled_scores

        def spy(logits: mx.array, params: Any, history: History, width: int) -> mx.array:
            drafted: Any = [] if history.drafted is None else history.drafted.tolist()
            seen[who].append((list(history.known), drafted, history.first))
            scores: mx.array = inner(logits, params, history, width)
            return scores

        monkeypatch.setattr(module, "scaled_scores", spy)

    spied(speculative, "target")
    spied(draft_model, "draft")
    sampling = SamplingParams(temperature=temperature, presence_penalty=0.5, frequency_penalty=0.3)
    events = fresh_answer(target(), draft(), PROMPT, sampling=sampling, max_tokens=20, lookahead=3)
    tokens, drafts = list(PROMPT), iter(seen["draft"])
    targets = iter(seen["target"])
    for each in rounds_of(events):
        guesses = [guess.token for guess in each.proposed]
        if each.index > 0:
            assert next(targets) == (tokens, guesses, 0)
            for i in range(len(guesses)):
                assert next(drafts) == (tokens, guesses[:i], i)
        tokens = [*tokens, *(token.token for token in each.emitted)]
    assert next(targets, None) is None


def test_d13_penalties_change_what_is_drafted_too() -> None:
    """A draft equal to its target stays right under penalties only if it has them as well."""
    events = fresh_answer(target(), target(), PROMPT, sampling=PENALISED, max_tokens=20)
    assert all(each.num_accepted == len(each.proposed) for each in rounds_of(events))

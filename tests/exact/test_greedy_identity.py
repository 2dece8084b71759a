"""Temperature 0: with any draft the text is the plain text, token for token."""

from __future__ import annotations

import functools
from typing import Any

from mlx_specdec.backend import mx
from mlx_specdec.request import GenerateRequest, SamplingParams
from tests.lanes import (
    PENALISED,
    RULES,
    VOCAB,
    counts_of,
    fresh_answer,
    planned_answer,
    rounds_of,
    tokens_of,
)
from tests.toymodels import perturbed, toy_model, widened

import numpy as np
import pytest

GREEDY = SamplingParams()


@functools.cache
def models(seed: int) -> tuple[Any, Any]:
    target = toy_model(VOCAB, layers=1 + seed % 2, seed=seed)
    return target, perturbed(target, seed=seed + 1)


@functools.cache
def prompt_of(length: int, seed: int = 0) -> tuple[int, ...]:
    rng = np.random.default_rng(1000 * seed + length)
    return tuple(int(token) for token in rng.integers(VOCAB, size=length))


@functools.cache
def plain(seed: int, length: int, sampling: SamplingParams, count: int) -> list[int]:
    return tokens_of(
        fresh_answer(
            models(seed)[0], None, prompt_of(length, seed), sampling=sampling, max_tokens=count
        )
    )


@pytest.mark.parametrize("lookahead", range(1, 9))
@pytest.mark.parametrize("sampling", [GREEDY, PENALISED], ids=["bare", "penalised"])
def test_a7_d13_any_prompt_and_lookahead(sampling: SamplingParams, lookahead: int) -> None:
    """A7, D13: random pairs, prompts of 1 to 40 tokens, one-token prompts among them."""
    proposed = accepted = 0
    for seed, length in ((0, 1), (1, 1), (2, 2), (3, 9), (0, 23), (1, 40)):
        target, draft = models(seed)
        events = fresh_answer(
            target,
            draft,
            prompt_of(length, seed),
            lookahead=lookahead,
            max_tokens=18,
            sampling=sampling,
        )
        assert tokens_of(events) == plain(seed, length, sampling, 18)
        more = counts_of(events)
        proposed, accepted = proposed + more[0], accepted + more[1]
    assert 0 < accepted < proposed  # hits and misses both were tried


@pytest.mark.parametrize("rule", RULES)
def test_at_temperature_zero_every_rule_is_the_same(rule: str) -> None:
    target, draft = models(3)
    events = fresh_answer(target, draft, prompt_of(9, 3), rule=rule, max_tokens=18)
    assert tokens_of(events) == plain(3, 9, GREEDY, 18)


def by_mlx_lm(model: Any, prompt: tuple[int, ...], count: int, sampling: SamplingParams) -> Any:
    """mlx-lm's own loop with its own processors."""
    from mlx_lm.generate import generate_step
    from mlx_lm.sample_utils import make_logits_processors

    processors = make_logits_processors(
        dict(sampling.logit_bias) or None,
        sampling.repetition_penalty if sampling.repetition_penalty != 1 else None,
        sampling.repetition_context_size,
        sampling.presence_penalty,
        sampling.presence_context_size,
        sampling.frequency_penalty,
        sampling.frequency_context_size,
    )
    step = generate_step(
        mx.array(prompt), model, max_tokens=count, logits_processors=processors or None
    )
    return [int(token) for token, _ in step]


@pytest.mark.parametrize(
    "sampling",
    [
        GREEDY,
        PENALISED,
        SamplingParams(repetition_penalty=1.5),
        SamplingParams(presence_penalty=2.0),
        SamplingParams(frequency_penalty=2.0, frequency_context_size=4),
        SamplingParams(logit_bias=((5, 30.0), (6, -2.0))),
    ],
    ids=["bare", "all", "repetition", "presence", "frequency", "bias"],
)
def test_d13_plain_and_speculative_equal_mlx_lm(sampling: SamplingParams) -> None:
    for seed, length in ((0, 1), (1, 5), (2, 30)):
        target, draft = models(seed)
        prompt = prompt_of(length, seed)
        expected = by_mlx_lm(target.model, prompt, 16, sampling)
        assert plain(seed, length, sampling, 16) == expected
        events = fresh_answer(target, draft, prompt, sampling=sampling, max_tokens=16)
        assert tokens_of(events) == expected


def test_the_penalties_of_these_tests_change_the_text() -> None:
    bare, penalised = plain(1, 40, GREEDY, 18), plain(1, 40, PENALISED, 18)
    assert bare != penalised


@pytest.mark.parametrize("lookahead", [1, 2, 4, 8])
@pytest.mark.parametrize("sampling", [GREEDY, PENALISED], ids=["bare", "penalised"])
def test_b1_b11_d15_a_draft_equal_to_its_target_is_always_right(
    lookahead: int, sampling: SamplingParams
) -> None:
    """To the last token, at any lookahead; the penalties see the same history on both sides."""
    target, _ = models(2)
    events = fresh_answer(
        target, target, prompt_of(9, 2), lookahead=lookahead, max_tokens=90, sampling=sampling
    )
    assert tokens_of(events) == plain(2, 9, sampling, 90)
    for each in rounds_of(events):
        assert each.num_accepted == len(each.proposed)
    full = rounds_of(events)[1:-1]
    assert full
    assert all(len(each.proposed) == lookahead for each in full)


def test_b1_acceptance_does_not_sink_over_a_long_answer() -> None:
    target, draft = models(0)
    events = fresh_answer(target, draft, prompt_of(9), lookahead=3, max_tokens=200)
    assert tokens_of(events) == plain(0, 9, GREEDY, 200)
    rounds = rounds_of(events)[1:]
    quarter = len(rounds) // 4
    first = sum(each.num_accepted for each in rounds[:quarter])
    last = sum(each.num_accepted for each in rounds[-quarter:])
    assert last >= 0.6 * first
    for each in rounds[1:]:  # it owes the last token, and its own last guess if all were right
        assert each.draft_tokens_read <= 2 + len(each.proposed) - 1


@pytest.mark.parametrize("lookahead", [1, 3, 8])
def test_a8_an_always_wrong_draft_accepts_nothing_and_changes_nothing(lookahead: int) -> None:
    target, _ = models(2)
    prompt, expected = prompt_of(9, 2), plain(2, 9, GREEDY, 18)

    def wrong(context: list[int], count: int) -> list[int]:
        done = len(context) - len(prompt)
        return [(token + 1) % VOCAB for token in expected[done : done + count]]

    request = GenerateRequest(prompt, max_tokens=18, lookahead=lookahead)
    events = planned_answer(target, wrong, request)
    assert tokens_of(events) == expected
    proposed, accepted = counts_of(events)
    assert proposed >= 16
    assert accepted == 0


def test_a9_high_acceptance_comes_with_the_plain_text() -> None:
    """A near copy is accepted often, and what it leads to is still the target's."""
    target, _ = models(0)
    close = perturbed(target, 0.02)
    events = fresh_answer(target, close, prompt_of(9), lookahead=4, max_tokens=40)
    proposed, accepted = counts_of(events)
    assert accepted > 0.7 * proposed
    assert tokens_of(events) == plain(0, 9, GREEDY, 40)


@pytest.mark.parametrize("target_width", [VOCAB, 320])
@pytest.mark.parametrize("draft_width", [VOCAB, 300, 352])
def test_e1_e4_padded_widths_equal_plain(target_width: int, draft_width: int) -> None:
    """The padding wins wherever it is not masked, in the target and in the draft."""
    bare, bare_draft = models(0)
    target = bare if target_width == VOCAB else widened(bare, target_width, scale=30)
    draft = bare_draft if draft_width == VOCAB else widened(bare_draft, draft_width, scale=30)
    for sampling in (GREEDY, PENALISED):
        events = fresh_answer(target, draft, prompt_of(9), max_tokens=18, sampling=sampling)
        assert all(token < VOCAB for token in tokens_of(events))
        assert all(guess.token < VOCAB for each in rounds_of(events) for guess in each.proposed)
        if target is bare:
            assert tokens_of(events) == plain(0, 9, sampling, 18)
        else:
            alone = fresh_answer(target, None, prompt_of(9), max_tokens=18, sampling=sampling)
            assert tokens_of(events) == tokens_of(alone)

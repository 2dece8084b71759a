"""The law of the text, by sampling, with the product's own keyed noise.

The oracle enumerates the law of the first tokens; chi-square compares it with what the product
emits. Seeds are fixed, so a run repeats; with fresh seeds each test would raise a false alarm
once in a million runs. Over 100,000 verdicts and draws go into it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from mlx_specdec import acceptance
from mlx_specdec.acceptance import TargetRows, rule_named
from mlx_specdec.backend import mx
from mlx_specdec.draws import draw_by_cdf
from mlx_specdec.forward import ModelRunner
from mlx_specdec.noise import KeyedNoise
from mlx_specdec.proposal import Proposal
from mlx_specdec.request import GenerateRequest, SamplingParams
from mlx_specdec.standard import StandardDecoder
from tests.lanes import drafted_rounds, generation_of, tokens_of
from tests.stats import chi_square, chi_square_limit
from tests.tables import PROMPT, after_prompt, table_model
from tests.toys import Table, Tokens, target_law

import numpy as np
import pytest

FALSE_ALARM = 1e-6
LOOKAHEAD = 2
LENGTH = 3
TEXTS = 40_000
TARGET, DRAFT = Table("target of the law"), Table("draft of the law")
WARM = SamplingParams(temperature=1.0)


def assert_law(texts: Counter[Tokens]) -> None:
    law = target_law(after_prompt(TARGET), LENGTH)
    keys = sorted(law)
    assert set(texts) <= set(keys), "a text that the target cannot write"
    statistic, freedom = chi_square([texts[key] for key in keys], [float(law[k]) for k in keys])
    assert statistic < chi_square_limit(freedom, FALSE_ALARM)


def logits_of(table: Table) -> mx.array:
    rows = [[[float(c) for c in table((a, b))] for b in range(3)] for a in range(3)]
    return mx.log(mx.array(rows))


class GivenNoise:
    """One round's numbers as arrays, so that a rule can be mapped over many texts at once."""

    def __init__(self, coins: mx.array, residual: mx.array) -> None:
        self._coins = coins
        self._residual = residual

    def round(self, index: int) -> Any:
        return self

    def coins(self, count: int) -> mx.array:
        return self._coins

    def residual(self) -> mx.array:
        return self._residual


def kept_as_array(values: Any) -> mx.array:
    """Stands in for the upload of host numbers."""
    return values if isinstance(values, mx.array) else mx.stack(values)


class ManyTexts:
    """Many texts side by side, each with a seed of its own; the rule judges all in one call."""

    def __init__(self, rule: str, seeds: range) -> None:
        self._rule = rule_named(rule, 1.0)
        self._target, self._draft = logits_of(TARGET), logits_of(DRAFT)
        self._noises = [KeyedNoise(seed) for seed in seeds]
        self.texts: list[Tokens] = [PROMPT] * len(seeds)
        self.verdicts = 0

    def advance(self, index: int) -> None:
        """One round for every text that is still short, with the product's own uniforms."""
        short = [i for i, text in enumerate(self.texts) if len(text) < 2 + LENGTH]
        rounds = [self._noises[i].round(index) for i in short]
        path = mx.array([self.texts[i][-2:] for i in short])
        uniforms = mx.array([each.draft(LOOKAHEAD) for each in rounds])
        laws = []
        for step in range(LOOKAHEAD):
            laws.append(self._draft[path[:, -2], path[:, -1]])
            token = draw_by_cdf(mx.exp(laws[-1]), uniforms[:, step]).astype(mx.int32)
            path = mx.concatenate([path, token[:, None]], axis=1)
        kept, following = mx.vmap(self._verdict)(
            self._target[path[:, :-1], path[:, 1:]],
            mx.stack(laws, axis=1),
            path[:, 2:],
            mx.array([each.coins(LOOKAHEAD) for each in rounds]),
            mx.array([each.residual() for each in rounds]),
        )
        self.verdicts += len(short)
        outcomes = zip(short, np.array(path), np.array(kept), np.array(following), strict=True)
        for i, drafted, count, last in outcomes:
            more = [*drafted[2 : 2 + count], last]
            self.texts[i] += tuple(int(token) for token in more)

    def _verdict(
        self,
        rows: mx.array,
        draft: mx.array,
        tokens: mx.array,
        coins: mx.array,
        residual: mx.array,
    ) -> tuple[mx.array, mx.array]:
        noise: Any = GivenNoise(coins, residual)
        proposal = Proposal(tokens, LOOKAHEAD, mx.exp(draft))
        decision = self._rule.decide(TargetRows(rows, 9), proposal, noise, 0)
        return decision.num_accepted, decision.next_token


@pytest.mark.parametrize("rule", ["rejection", "block"])
def test_d1_two_rounds_and_more_follow_the_targets_law(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys by (seed, round, stream): no stream may know of another, in one round or the next."""
    monkeypatch.setattr(acceptance, "uploaded", kept_as_array)
    many = ManyTexts(rule, range(TEXTS))
    for index in range(1, LENGTH + 1):
        many.advance(index)
    assert many.verdicts > 1.5 * TEXTS
    assert_law(Counter(text[2 : 2 + LENGTH] for text in many.texts))


@pytest.mark.parametrize("rule", ["rejection", "block", "coupled", "match"])
def test_d1_d9_the_whole_decoder_follows_the_targets_law(rule: str) -> None:
    """End to end: prefill, draft, check, rewind; the models know only what their caches hold."""
    target, draft = table_model(TARGET), table_model(DRAFT)
    texts: Counter[Tokens] = Counter()
    for seed in range(250):
        request = GenerateRequest(PROMPT, WARM, None, LENGTH, (), LOOKAHEAD, rule, seed)
        texts[tuple(tokens_of(drafted_rounds(target, draft, request, 3)))] += 1
    assert_law(texts)


def test_the_plain_decoder_follows_the_targets_law() -> None:
    target = table_model(TARGET)
    texts: Counter[Tokens] = Counter()
    for seed in range(500):
        request = GenerateRequest(PROMPT, WARM, max_tokens=LENGTH, seed=seed)
        decoder = StandardDecoder(ModelRunner(target))
        texts[tuple(tokens_of(decoder.generate(generation_of(request, 3))))] += 1
    assert_law(texts)


def test_noise_by_position_follows_a_law() -> None:
    """What plain decoding and the coupled rule draw with: 29,997 places, three at a time."""
    law = np.array([0.5, 0.3, 0.15, 0.04, 0.01])
    scores = mx.log(mx.array(law.astype(np.float32)))
    draws = []
    for seed in (1, 2, 3):
        noise = KeyedNoise(seed)
        rows = [noise.token_rows(place, 3, law.size) for place in range(0, 9_999, 3)]
        draws.append(np.array(mx.argmax(scores + mx.concatenate(rows), axis=-1)))
    seen = np.bincount(np.concatenate(draws), minlength=law.size).tolist()
    statistic, freedom = chi_square(seen, law.tolist())
    assert statistic < chi_square_limit(freedom, FALSE_ALARM)

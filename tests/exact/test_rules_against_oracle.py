"""The rules on the device against the oracle in fractions, with every coin injected."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from mlx_specdec.acceptance import Decision, TargetRows, rule_named
from mlx_specdec.backend import mx
from mlx_specdec.proposal import Proposal
from tests.toys import (
    ReferenceVerdict,
    block_chances,
    carried_products,
    drawn,
    law_of,
    one_hot,
    ratio,
    reference_verdict,
)

import numpy as np
import pytest

CLOSE = 1e-5  # float32 against fractions: nearer to a border than this, either side is right
VOCAB = 6
DRAWING_RULES = ("rejection", "block")

Rows = list[list[float]]


class InjectedNoise:
    """The coins it was given; ``own`` are the tokens that the target's Gumbel noise picks."""

    def __init__(
        self, coins: Sequence[float], residual: float = 0.0, own: Sequence[int] = (), first: int = 0
    ) -> None:
        self._coins = list(coins)
        self._residual = residual
        self._own = own
        self._first = first

    def round(self, index: int) -> InjectedNoise:
        return self

    def draft(self, count: int) -> list[float]:
        raise AssertionError("a rule has no business with the draft's noise")

    def coins(self, count: int) -> list[float]:
        return self._coins[:count]

    def residual(self) -> float:
        return self._residual

    def token_rows(self, first: int, count: int, width: int) -> mx.array:
        own = mx.array(list(self._own)[first - self._first :][:count])
        return 1000.0 * (mx.arange(width)[None, :] == own[:, None])


@dataclass(frozen=True)
class Instance:
    """One round: laws, drafted tokens and everything random."""

    target: Rows
    draft: Rows | None
    tokens: list[int]
    coins: list[float]
    residual: float

    def reference(self, rule: str) -> ReferenceVerdict:
        return reference_verdict(
            rule, self.target, self.draft, self.tokens, self.coins, self.residual
        )

    def chances(self, rule: str) -> list[float]:
        """What the rule asks of each token, from the oracle."""
        target = [law_of(*map(Fraction, row)) for row in self.target]
        tokens = tuple(self.tokens)
        if self.draft is None:
            draft = [one_hot(x, len(target[0])) for x in tokens]
        else:
            draft = [law_of(*map(Fraction, row)) for row in self.draft]
        if rule == "block":
            return [float(h) for h in block_chances(target, draft, tokens)]
        pairs = zip(target, draft, tokens, strict=False)
        return [float(ratio(p, q, x)) for p, q, x in pairs]

    def carried(self) -> list[float]:
        assert self.draft is not None
        target = [law_of(*map(Fraction, row)) for row in self.target]
        draft = [law_of(*map(Fraction, row)) for row in self.draft]
        return [float(p) for p in carried_products(target, draft, tuple(self.tokens))[1:]]

    def own_tokens(self) -> list[int]:
        """What the target says at each row, for the match rule, by the same uniforms."""
        uniforms = [*self.coins, self.residual]
        rows = [law_of(*map(Fraction, row)) for row in self.target]
        return [drawn(p, Fraction(u)) for p, u in zip(rows, uniforms, strict=True)]

    def decision(self, rule: str) -> Decision:
        """The product's verdict, still on the device."""
        laws = logs(self.draft) if self.draft else None
        tokens = mx.array(self.tokens, dtype=mx.int32)
        proposal = Proposal(tokens, len(self.tokens), None if laws is None else mx.exp(laws))
        own = self.own_tokens() if rule == "match" else ()
        noise = InjectedNoise(self.coins, self.residual, own, first=9)
        return rule_named(rule, 1.0).decide(TargetRows(logs(self.target), 9), proposal, noise, 1)


def logs(rows: Rows) -> mx.array:
    with np.errstate(divide="ignore"):
        return mx.array(np.log(np.array(rows)).astype(np.float32))


def random_law(rng: np.random.Generator, zeros: bool = True) -> list[float]:
    weights = rng.integers(0 if zeros else 1, 6, VOCAB).astype(float)
    weights[rng.integers(VOCAB)] += 1
    return [float(weight) for weight in weights / weights.sum()]


def random_instance(rng: np.random.Generator, count: int, one_hot_draft: bool) -> Instance:
    """Laws with zeros on both sides; the draft lacks the last ids altogether now and then."""
    target = [random_law(rng) for _ in range(count + 1)]
    draft = [random_law(rng, zeros=bool(rng.integers(2))) for _ in range(count)]
    for row in draft:
        if rng.integers(3) == 0 and sum(row[:-2]) > 0:
            kept = sum(row[:-2])
            row[:] = [weight / kept for weight in row[:-2]] + [0.0, 0.0]
    tokens = [int(rng.choice(VOCAB, p=row)) for row in draft]
    coins = [float(np.float32(coin)) for coin in rng.random(count)]
    if coins and rng.integers(4) == 0:
        coins[int(rng.integers(count))] = 0.0
    residual = float(np.float32(rng.random()))
    return Instance(target, None if one_hot_draft else draft, tokens, coins, residual)


def instances(seed: int, total: int, one_hot_draft: bool = False) -> list[Instance]:
    rng = np.random.default_rng(seed)
    return [random_instance(rng, number % 5, one_hot_draft) for number in range(total)]


def evaluated(cases: Iterable[Instance], rule: str) -> Iterator[tuple[Instance, Decision]]:
    pairs = [(case, case.decision(rule)) for case in cases]
    mx.eval([[d.num_accepted, d.next_token, d.asked, d.carried, d.margins] for _, d in pairs])
    return iter(pairs)


def is_near_a_border(case: Instance, rule: str, verdict: ReferenceVerdict) -> bool:
    edges = itertools.accumulate(verdict.law)
    near = any(abs(edge - case.residual) < CLOSE for edge in edges)
    if rule != "match":
        pairs = zip(case.chances(rule), case.coins, strict=True)
        near = near or any(abs(asked - coin) < CLOSE for asked, coin in pairs if coin)
    return near


@pytest.mark.parametrize("one_hot_draft", [False, True], ids=["law", "one-hot"])
@pytest.mark.parametrize("rule", ["rejection", "block", "match"])
def test_every_verdict_is_the_oracles(rule: str, one_hot_draft: bool) -> None:
    """Every count from 0 to 4, zeros in both laws, ids that the draft lacks, coins of 0 (D5)."""
    compared = 0
    for case, decision in evaluated(instances(1, 300, one_hot_draft), rule):
        verdict = case.reference(rule)
        if is_near_a_border(case, rule, verdict):
            continue
        compared += 1
        assert int(decision.num_accepted) == verdict.num_accepted, case
        assert int(decision.next_token) == verdict.token, case
        if rule != "match":
            asked = decision.asked.tolist()
            assert asked == pytest.approx(case.chances(rule), abs=CLOSE), case
    assert compared > 280


def test_the_carried_product_is_the_oracles() -> None:
    for case, decision in evaluated(instances(2, 200), "block"):
        assert decision.carried.tolist() == pytest.approx(case.carried(), abs=CLOSE)


@pytest.mark.parametrize("rule", DRAWING_RULES)
def test_the_replacement_has_the_oracles_intervals(rule: str) -> None:
    """A fine grid of residual uniforms: the borders between tokens lie where they should."""
    grid = [(step + 0.5) / 64 for step in range(64)]
    for case in instances(3, 20):
        swept = [Instance(case.target, case.draft, case.tokens, case.coins, u) for u in grid]
        for each, decision in evaluated(swept, rule):
            verdict = each.reference(rule)
            if not is_near_a_border(each, rule, verdict):
                assert int(decision.next_token) == verdict.token


def expected_kept(rule: str, target: Rows, draft: Rows) -> float:
    """Tokens kept on average over every proposal, from the chances that the product asks."""
    count = len(draft)
    proposals = [
        list(tokens)
        for tokens in itertools.product(range(len(draft[0])), repeat=count)
        if math.prod(draft[i][x] for i, x in enumerate(tokens)) > 0
    ]
    cases = [Instance(target, draft, tokens, [0.5] * count, 0.5) for tokens in proposals]
    total = 0.0
    for case, decision in evaluated(cases, rule):
        weight = math.prod(draft[i][x] for i, x in enumerate(case.tokens))
        asked = [float(a) for a in decision.asked.tolist()]  # type: ignore[arg-type,union-attr]
        if rule == "block":
            kept = sum(
                (i + 1) * h * math.prod(1 - later for later in asked[i + 1 :])
                for i, h in enumerate(asked)
            )
        else:
            kept = sum(math.prod(asked[: i + 1]) for i in range(count))
        total += weight * kept
    return total


def test_block_toy_ten_ninths_against_eleven_ninths() -> None:
    """Sun et al.'s example: two tokens, q = (2/3, 1/3), p = (1/3, 2/3), lookahead 2."""
    target, draft = [[1 / 3, 2 / 3]] * 3, [[2 / 3, 1 / 3]] * 2
    assert expected_kept("rejection", target, draft) == pytest.approx(10 / 9, abs=1e-6)
    assert expected_kept("block", target, draft) == pytest.approx(11 / 9, abs=1e-6)


def test_block_keeps_at_least_as_much_as_rejection() -> None:
    rng = np.random.default_rng(4)
    gains = []
    for _ in range(12):
        target = [random_law(rng)[:3] for _ in range(4)]
        draft = [random_law(rng, zeros=False)[:3] for _ in range(3)]
        laws = [
            [[w / sum(row) for w in row] for row in rows]
            for rows in ([row if sum(row) else [1.0, 1.0, 1.0] for row in target], draft)
        ]
        gains.append(expected_kept("block", *laws) - expected_kept("rejection", *laws))
    assert min(gains) > -1e-6
    assert max(gains) > 0.01

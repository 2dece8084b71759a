"""The three rules by exact enumeration: no error at all, and faults that must show.

Vocabulary 3, random laws that depend on the last two tokens, lookahead 0 to 3, two rounds, every
outcome with its fraction. A rule passes when the law of the text *equals* the target's.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate, pairwise, product

from tests.stats import chi_square, chi_square_limit, chi_square_p_value, total_variation
from tests.toys import (
    EXACT,
    ONE,
    ZERO,
    Drafts,
    Law,
    Model,
    Scheme,
    Table,
    Tokens,
    block,
    block_chances,
    continued,
    emitted_law,
    expected_kept,
    judged,
    law_of,
    left_over,
    match,
    one_hot,
    ratio,
    reference_verdict,
    rejection,
    sampled_drafts,
    target_law,
)

import pytest

NUM_TABLES = 50
LOOKAHEADS = (0, 1, 2, 3)
REJECTION, BLOCK, MATCH = EXACT


def pair(number: int) -> tuple[Table, Table]:
    """Target and draft; in every tenth pair they are equal."""
    return Table(f"target {number}"), Table(f"{'target' if number % 10 == 9 else 'draft'} {number}")


def is_exact(scheme: Scheme, target: Model, draft: Model, lookahead: int) -> bool:
    """Two rounds, compared over the most tokens that two rounds can emit."""
    length = 2 * (lookahead + 1)
    emitted = emitted_law(scheme, target, draft, lookahead, rounds=2, length=length)
    return emitted == target_law(target, length)


@pytest.mark.parametrize("scheme", EXACT, ids=lambda scheme: scheme.name)
def test_the_text_has_exactly_the_targets_law(scheme: Scheme) -> None:
    wrong = [
        (number, lookahead)
        for number in range(NUM_TABLES)
        for lookahead in LOOKAHEADS
        if not is_exact(scheme, *pair(number), lookahead)
    ]
    assert wrong == []


def arg_max_drafts(draft: Model, context: Tokens, lookahead: int) -> Drafts:
    tokens: Tokens = ()
    for _ in range(lookahead):
        law = draft(context + tokens)
        tokens = (*tokens, law.index(max(law)))
    return [(ONE, tokens)]


def low_dropped_drafts(draft: Model, context: Tokens, lookahead: int) -> Drafts:
    """A token already drawn is dropped, and drafting stops, where its own q is below 1/2."""
    shortened = []
    for weight, tokens in sampled_drafts(draft, context, lookahead):
        own = [draft(context + tokens[:i])[x] for i, x in enumerate(tokens)]
        low = [i for i, q in enumerate(own) if q < Fraction(1, 2)]
        shortened.append((weight, tokens[: low[0]] if low else tokens))
    return shortened


def unscaled_left_over(p: Law, q: Law) -> Law:
    """A draw from max(0, p - q) as if it summed to one: past its end lies the last token."""
    rest = [max(a - b, ZERO) for a, b in zip(p, q, strict=True)]
    return (*rest[:-1], ONE - sum(rest[:-1]))


FAULTY = (
    Scheme("arg-max draft with the ratio test", rejection, arg_max_drafts),
    Scheme("block with the plain residual", lambda p, q, x: block(p, q, x, scaled=False)),
    Scheme("sampled token dropped for its own low q", rejection, low_dropped_drafts),
    Scheme("residual not scaled to one", lambda p, q, x: rejection(p, q, x, unscaled_left_over)),
    Scheme("residual replaced by p", lambda p, q, x: rejection(p, q, x, lambda a, _: a)),
)


@pytest.mark.parametrize("scheme", FAULTY, ids=lambda scheme: scheme.name)
def test_a_faulty_scheme_is_found_out(scheme: Scheme) -> None:
    found = [
        number
        for number in range(NUM_TABLES)
        if any(not is_exact(scheme, *pair(number), lookahead) for lookahead in LOOKAHEADS[1:])
    ]
    print(f"\n{scheme.name}: wrong on {len(found)} of {NUM_TABLES} tables")
    assert len(found) > 0


def test_the_tables_hold_the_awkward_cases() -> None:
    contexts = list(product(range(3), repeat=2))
    laws = [(p(c), q(c)) for p, q in map(pair, range(NUM_TABLES)) for c in contexts]
    assert all(sum(p) == sum(q) == 1 for p, q in laws)
    assert any(p == q for p, q in laws)
    assert any(0 in p for p, _ in laws)
    assert any(1 in q for _, q in laws)


def test_the_block_toy_of_sun_et_al() -> None:
    def target(_: Tokens) -> Law:
        return law_of(1, 2)

    def draft(_: Tokens) -> Law:
        return law_of(2, 1)

    assert expected_kept(REJECTION, target, draft, 2) == Fraction(10, 9)
    assert expected_kept(BLOCK, target, draft, 2) == Fraction(11, 9)


def test_block_keeps_at_least_as_much() -> None:
    more = 0
    for number in range(200):
        target, draft = pair(number)
        by_token = expected_kept(REJECTION, target, draft, 2)
        as_block = expected_kept(BLOCK, target, draft, 2)
        assert as_block >= by_token
        more += as_block > by_token
    assert more > 100  # and it is not the same rule under another name


def test_the_left_over_of_the_founding_example() -> None:
    p = law_of(10, 70, 20)  # a, the, many
    q = law_of(70, 20, 10)
    assert [round(float(chance), 3) for chance in left_over(p, q)] == [0, 0.833, 0.167]


def test_acceptance_is_one_less_the_total_variation() -> None:
    def target(_: Tokens) -> Law:
        return law_of(50000, 42473, 7527)

    def draft(_: Tokens) -> Law:
        return law_of(57527, 42473, 0)

    alpha = expected_kept(REJECTION, target, draft, 1)
    apart = total_variation(list(map(float, target(()))), list(map(float, draft(()))))
    assert f"{float(alpha):.6f} + {apart:.6f}" == "0.924730 + 0.075270"
    for number in range(NUM_TABLES):
        p, q = (table(()) for table in pair(number))
        distance = sum((abs(a - b) for a, b in zip(p, q, strict=True)), ZERO) / 2
        assert expected_kept(REJECTION, *pair(number), 1) == 1 - distance
        assert expected_kept(MATCH, *pair(number), 1) == sum(
            (a * b for a, b in zip(p, q, strict=True)), ZERO
        )


def test_the_founding_target_is_met_with_up_to_four_drafts_a_pass_and_no_bonus() -> None:
    p, q = law_of(40, 25, 15, 10, 6, 4), law_of(30, 20, 20, 10, 10, 10)
    emitted: defaultdict[Tokens, Fraction] = defaultdict(Fraction)
    tokens_a_pass = ZERO
    for tokens, kept, weight, after in judged(REJECTION, lambda _: p, lambda _: q, (), 4):
        ends = {(*tokens[:kept], x): weight * chance for x, chance in enumerate(after)}
        for text, chance in ({tokens: weight} if kept == 4 else ends).items():
            emitted[text] += chance
            tokens_a_pass += chance * len(text)
    law = continued(dict(emitted), lambda _: p, 4)
    for place in range(4):
        for token, wanted in enumerate((0.4, 0.25, 0.15, 0.1, 0.06, 0.04)):
            seen = sum(float(chance) for text, chance in law.items() if text[place] == token)
            assert seen == pytest.approx(wanted, abs=0.001)
    alpha = sum(map(min, p, q), ZERO)
    assert tokens_a_pass == (1 - alpha**4) / (1 - alpha)


def test_an_empty_left_over_falls_back_to_the_target() -> None:
    # jaymody/speculative-sampling#5: max(0, p - q) sums to 0 where the laws are equal.
    p = law_of(1, 2, 3)
    assert left_over(p, p) == p
    row = [0.25, 0.25, 0.5]
    for rule in ("rejection", "block"):
        kept = reference_verdict(rule, [row, row], [row], [0], [1 - 2**-53], 0.6)
        assert kept == (1, row, 2)


@pytest.mark.parametrize("rule", ["rejection", "block", "match"])
@pytest.mark.parametrize("draft", [[[0.5, 0.5, 0.0]], None], ids=["sampled", "one-hot"])
def test_a_coin_of_zero_does_not_keep_what_the_target_rules_out(
    rule: str, draft: list[list[float]] | None
) -> None:
    # sgl-project/sglang#35771: a test of coin <= p/q keeps a token with p = 0.
    verdict = reference_verdict(rule, [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]], draft, [0], [0.0], 0.0)
    assert verdict.num_accepted == 0
    assert verdict.law[0] == 0
    assert verdict.token != 0


def coin_edges(rule: str, target: list[Law], draft: list[Law], x: Tokens) -> list[list[Fraction]]:
    """For each coin the edges in [0, 1] between which the verdict cannot change."""
    if rule == "match":
        return [[ZERO, *accumulate(p)] for p in target[:-1]]
    chances = block_chances(target, draft, x)
    if rule == "rejection":
        chances = [ratio(p, q, y) for p, q, y in zip(target, draft, x, strict=False)]
    return [sorted({ZERO, chance, ONE}) for chance in chances]


def coin_cells(edges: list[list[Fraction]]) -> Iterator[tuple[float, list[float]]]:
    """Every cell of the cube of coins: its volume and its middle."""
    for cell in product(*([(a, b) for a, b in pairwise(each) if a < b] for each in edges)):
        yield math.prod(float(b - a) for a, b in cell), [float(a + b) / 2 for a, b in cell]


@pytest.mark.parametrize("rule", EXACT, ids=lambda rule: rule.name)
def test_the_reference_with_given_coins_is_the_enumerated_rule(rule: Scheme) -> None:
    for number, tokens in product(range(5), product(range(3), repeat=2)):
        target, draft = pair(number)
        p_rows = [target(tokens[:i]) for i in range(3)]
        q_rows = [draft(tokens[:i]) for i in range(2)]
        p_floats, q_floats = [[[*map(float, row)] for row in rows] for rows in (p_rows, q_rows)]
        seen = [[0.0] * 3 for _ in range(3)]
        for volume, coins in coin_cells(coin_edges(rule.name, p_rows, q_rows, tokens)):
            verdict = reference_verdict(rule.name, p_floats, q_floats, tokens, coins, 0.5)
            sums = seen[verdict.num_accepted]
            sums[:] = [a + volume * b for a, b in zip(sums, verdict.law, strict=True)]
        for sums, (chance, law) in zip(seen, rule.judge(p_rows, q_rows, tokens), strict=True):
            assert sums == pytest.approx([float(chance * own) for own in law], abs=1e-9)


def test_chi_square_agrees_with_the_printed_tables() -> None:
    assert chi_square_limit(1, 0.05) == pytest.approx(3.8415, abs=5e-5)
    assert chi_square_limit(10, 0.01) == pytest.approx(23.2093, abs=5e-5)
    assert chi_square_limit(100, 0.001) == pytest.approx(149.4493, abs=5e-5)
    assert chi_square_limit(2, 1e-12) == pytest.approx(-2 * math.log(1e-12))
    assert chi_square_p_value(0.5, 2) == pytest.approx(math.exp(-0.25))


def test_chi_square_pools_thin_bins_and_sees_the_impossible() -> None:
    assert chi_square([50, 50], [0.5, 0.5]) == (0, 1)
    assert chi_square([60, 40], [0.5, 0.5]) == (4, 1)
    assert chi_square([48, 48, 3, 1], [0.48, 0.48, 0.02, 0.02])[1] == 2
    assert chi_square([99, 1], [1.0, 0.0])[0] == math.inf
    seen = random.Random(7).choices(range(4), (1, 2, 3, 4), k=20_000)
    statistic, freedom = chi_square([seen.count(i) for i in range(4)], [0.1, 0.2, 0.3, 0.4])
    assert statistic < chi_square_limit(freedom, 1e-6)
    assert statistic > 0


def test_one_hot_proposals_need_no_draft_law() -> None:
    rows = [[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]]
    assert reference_verdict("rejection", rows, None, [2], [0.49], 0.0).num_accepted == 1
    missed = reference_verdict("rejection", rows, None, [2], [0.51], 0.0)
    assert missed.num_accepted == 0
    assert missed.law == pytest.approx([0.4, 0.6, 0])
    assert match([law_of(2, 3, 5), law_of(1, 1, 1)], [], (2,)) == rejection(
        [law_of(2, 3, 5), law_of(1, 1, 1)], [one_hot(2, 3)], (2,)
    )

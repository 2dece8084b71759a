"""The overlap of two laws: its sums close, broken sums do not, and nothing is dropped."""

from __future__ import annotations

import random
from dataclasses import replace

from mlx_specdec.events import LawEntry, Proposed, RowDetail
from mlx_specdec.lesson.overlap import OTHERS, Overlap, OverlapEntry
from mlx_specdec.lesson.overlap_reading import overlap_of

import pytest
from hypothesis import given
from hypothesis import strategies as st

CLOSE = 1e-9


def overlap_from(target: list[float], draft: list[float], scale: float = 1.0) -> Overlap:
    entries = [
        OverlapEntry(i, f" w{i}", p, q, min(scale * p, q), max(scale * p - q, 0.0))
        for i, (p, q) in enumerate(zip(target, draft, strict=True))
    ]
    return Overlap(tuple(entries), scale)


@st.composite
def laws(draw: st.DrawFn, size: int = 6) -> list[float]:
    weights = draw(st.lists(st.integers(0, 50), min_size=size, max_size=size).filter(any))
    return [weight / sum(weights) for weight in weights]


@given(laws(), laws(), st.floats(0.01, 1.0))
def test_kept_and_replaced_make_the_targets_law(
    target: list[float], draft: list[float], scale: float
) -> None:
    overlap = overlap_from(target, draft, scale)
    for line, p in zip(overlap.proof(), target, strict=True):
        assert line.total == pytest.approx(scale * p, abs=CLOSE)
        assert line.wanted == pytest.approx(scale * p, abs=CLOSE)
    if scale == 1:
        assert overlap.acceptance + overlap.left_over == pytest.approx(1.0, abs=CLOSE)


@given(laws(), laws())
def test_broken_sums_are_wrong_unless_the_left_over_law_is_the_target(
    target: list[float], draft: list[float]
) -> None:
    overlap = overlap_from(target, draft)
    off = [abs(line.total - line.wanted) for line in overlap.broken_proof()]
    assert sum(line.total for line in overlap.broken_proof()) == pytest.approx(1.0, abs=CLOSE)
    shares = [overlap.share(entry) for entry in overlap.entries]
    differs = max(abs(share - p) for share, p in zip(shares, target, strict=True))
    expected = overlap.left_over * differs
    assert max(off) == pytest.approx(expected, abs=CLOSE)


def test_a_break_is_seen_in_the_fox_numbers() -> None:
    overlap = overlap_from([0.70, 0.10, 0.20], [0.20, 0.70, 0.10])
    assert [round(line.total, 2) for line in overlap.broken_proof()] == [0.62, 0.16, 0.22]


def test_equal_laws_leave_nothing_over_and_fall_back_to_the_target() -> None:
    overlap = overlap_from([0.25, 0.75], [0.25, 0.75])
    assert overlap.left_over == 0
    assert overlap.share(overlap.entries[1]) == 0.75
    assert [line.total for line in overlap.proof()] == [0.25, 0.75]


@given(laws(9), laws(9), st.integers(1, 9))
def test_a_shorter_list_has_the_same_sums(
    target: list[float], draft: list[float], rows: int
) -> None:
    whole = overlap_from(target, draft)
    for short in (whole.limited(rows, keep={7}), whole.without_dust(0.05, keep={7})):
        assert short.acceptance == pytest.approx(whole.acceptance, abs=CLOSE)
        assert short.left_over == pytest.approx(whole.left_over, abs=CLOSE)
        assert sum(entry.target for entry in short.entries) == pytest.approx(1.0, abs=CLOSE)
        assert sum(entry.draft for entry in short.entries) == pytest.approx(1.0, abs=CLOSE)
    assert len(whole.limited(rows, keep={7}).entries) <= rows
    if rows > 1:
        named = whole.limited(rows, keep={7}).entry(7)
        assert named is not None
        assert named.token == 7


def test_a_word_that_is_not_listed_is_among_the_others() -> None:
    overlap = overlap_from([0.5, 0.3, 0.2], [0.1, 0.1, 0.8]).limited(2, keep={0})
    rest = overlap.entry(1)
    assert rest is not None
    assert rest.text == OTHERS
    assert rest.draft == pytest.approx(0.9)


# ------------------------------------------------------------------ from a round's detail


def random_law(rng: random.Random, size: int) -> list[float]:
    weights = [rng.random() ** 6 for _ in range(size)]
    return [weight / sum(weights) for weight in weights]


def largest(law: list[float], count: int) -> tuple[LawEntry, ...]:
    order = sorted(range(len(law)), key=lambda i: -law[i])[:count]
    return tuple(LawEntry(i, f" w{i}", law[i]) for i in order if law[i] > 0)


def detail(p: list[float], q: list[float], count: int, scale: float = 1.0) -> RowDetail:
    rest = [max(scale * a - b, 0.0) for a, b in zip(p, q, strict=True)]
    total = sum(rest)
    shares = [each / total if total else 0.0 for each in rest]
    return RowDetail(largest(p, count), largest(q, count), largest(shares, count))


@pytest.mark.parametrize("scale", [1.0, 0.6])
@pytest.mark.parametrize("count", [3, 5, 40])
@pytest.mark.parametrize("has_sum", [True, False])
def test_the_listed_entries_give_the_sums_of_the_whole_row(
    count: int, scale: float, has_sum: bool
) -> None:
    for seed in range(60):
        rng = random.Random(seed)
        p, q = random_law(rng, 40), random_law(rng, 40)
        guess = rng.choices(range(40), q)[0]
        truth = sum(max(scale * a - b, 0.0) for a, b in zip(p, q, strict=True))
        row = detail(p, q, count, scale)
        row = replace(row, left_over_sum=truth) if has_sum else row
        overlap = overlap_of(row, Proposed(guess, f" w{guess}", p[guess], q[guess]), scale)
        assert sum(entry.target for entry in overlap.entries) == pytest.approx(1.0, abs=1e-3)
        assert sum(entry.draft for entry in overlap.entries) == pytest.approx(1.0, abs=1e-3)
        mine = overlap.entry(guess)
        assert mine is not None
        assert (mine.token, mine.target) == (guess, p[guess])
        close = 1e-9 if has_sum else 3e-3
        for entry in overlap.entries:
            if entry.token is not None:
                assert entry.target == pytest.approx(p[entry.token], abs=close)
                assert entry.draft == pytest.approx(q[entry.token], abs=close)
        assert overlap.is_exact or not has_sum
        if overlap.is_exact:
            assert overlap.left_over == pytest.approx(truth, abs=1e-6 if has_sum else 6e-3)
        else:
            assert overlap.left_over <= truth + 1e-9
        for line in overlap.proof():
            assert line.total == pytest.approx(line.wanted, abs=1e-9)


def test_a_copied_guess_has_all_of_the_drafts_law() -> None:
    row = RowDetail(
        (LawEntry(0, " a", 0.6), LawEntry(1, " b", 0.4)),
        (LawEntry(1, " b", 1.0),),
        (LawEntry(0, " a", 1.0),),
    )
    overlap = overlap_of(row, Proposed(1, " b", 0.4, None))
    assert overlap.acceptance == pytest.approx(0.4)
    assert [entry.text for entry in overlap.entries] == [" b", " a"]
    assert overlap.is_exact


def test_equal_rows_have_no_left_over_law_and_nothing_left_over() -> None:
    law = (LawEntry(0, " a", 0.5), LawEntry(1, " b", 0.3))
    overlap = overlap_of(RowDetail(law, law, ()), Proposed(0, " a", 0.5, 0.5))
    assert overlap.left_over == pytest.approx(0.0)
    assert overlap.acceptance == pytest.approx(1.0)

"""Lessons from recorded rounds of the built-in pair, and the same guesses under four rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mlx_specdec.events import Check, Emitted, Proposed, Round, Timings
from mlx_specdec.lesson.acceptance_arithmetic import carried_products
from mlx_specdec.lesson.fox import fox_lesson
from mlx_specdec.lesson.lesson import GREEDY, Lesson, Names, Verdict, lesson_of, lessons_of
from mlx_specdec.lesson.rule_comparison import compared_rules
from mlx_specdec.race.recording import Recording, RecordingHeader, read_recording_file

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
RECORDED = ("rejection", "block", "coupled", "match", "greedy")


def recorded(rule: str) -> Recording:
    return read_recording_file(GOLDEN / f"step_{rule}.jsonl")


@pytest.mark.parametrize("rule", RECORDED)
def test_a_lesson_says_what_the_round_said(rule: str) -> None:
    recording = recorded(rule)
    rounds = {e.index: e for e in recording.speculative if isinstance(e, Round)}
    lessons = lessons_of(recording)
    assert [lesson.index for lesson in lessons] == [i for i, e in rounds.items() if e.proposed]
    text = "".join(token.text for e in rounds.values() for token in e.emitted)
    for lesson in lessons:
        event = rounds[lesson.index]
        assert lesson.rule == (GREEDY if rule == "greedy" else rule)
        assert lesson.num_kept == event.num_accepted
        kept = "".join(guess.text for guess in lesson.guesses[: lesson.num_kept])
        assert text.startswith(lesson.before + kept)
        assert len(lesson.overlaps) == len(lesson.guesses)
        assert lesson.names == Names("the target", "the draft")
        for guess, overlap in zip(lesson.guesses, lesson.overlaps, strict=True):
            entry = overlap.entry(guess.token)
            assert entry is not None
            assert (entry.target, entry.draft) == (guess.target, guess.draft)


def test_recorded_rejection_coins_fall_as_the_verdicts_say() -> None:
    for lesson in lessons_of(recorded("rejection")):
        for guess in lesson.guesses:
            if guess.verdict is Verdict.LOST:
                assert guess.keep is None
                assert guess.coin is None
                continue
            assert guess.keep is not None
            assert guess.coin is not None
            assert guess.keep == pytest.approx(guess.ratio, rel=1e-4)
            assert guess.is_kept == (guess.coin < guess.keep)


def test_recorded_block_products_are_those_of_the_listed_odds() -> None:
    for lesson in lessons_of(recorded("block")):
        targets = [[guess.target] for guess in lesson.guesses]
        drafts = [[guess.draft or 0.0] for guess in lesson.guesses]
        products = carried_products(targets, drafts, [0] * len(targets))
        assert [guess.carried for guess in lesson.guesses] == pytest.approx(products, rel=1e-3)
        assert all(guess.coin is not None for guess in lesson.guesses)
        for place, overlap in enumerate(lesson.overlaps):
            assert overlap.scale == pytest.approx([1.0, *products][place], rel=1e-3)


@pytest.mark.parametrize("rule", ["coupled", "match", "greedy"])
def test_own_words_are_the_guesses_until_the_miss(rule: str) -> None:
    for lesson in lessons_of(recorded(rule)):
        for guess in lesson.guesses:
            if guess.is_kept:
                assert guess.own == guess.text
            elif guess.verdict is Verdict.MISS:
                assert lesson.drawn is not None
                assert guess.own == lesson.drawn.text != guess.text
            else:
                assert guess.own is None


def block_round(coins: tuple[float, ...], asked: tuple[float, ...], kept: int) -> Lesson:
    checks = tuple(
        Check(h, coin, i < kept, 0.5) for i, (h, coin) in enumerate(zip(asked, coins, strict=True))
    )
    proposed = tuple(Proposed(i, f" w{i}", 0.3, 0.6) for i in range(len(coins)))
    emitted = (Emitted(9, " next", "recovered", 0.1),)
    said = tuple(Emitted(p.token, p.text, "accepted", 0.1) for p in proposed[:kept])
    event = Round(1, 4, 3, proposed, checks, kept, said + emitted, Timings(), 0.1)
    return lesson_of(event, "block", 1.0, Names(), "")


def test_a_later_coin_rescues_an_earlier_guess() -> None:
    lesson = block_round((0.9, 0.2, 0.8), (0.5, 0.5, 0.5), kept=2)
    assert [guess.verdict for guess in lesson.guesses] == [
        Verdict.RESCUED,
        Verdict.KEPT,
        Verdict.MISS,
    ]
    assert lesson.overlap is None


def test_an_answer_that_ended_inside_a_round_has_no_next_word() -> None:
    event = Round(
        3,
        9,
        2,
        (Proposed(1, " a", 0.5, 0.5), Proposed(2, " b", 0.5, 0.5)),
        (Check(1.0, 0.1, True), Check(1.0, 0.2, True)),
        2,
        (Emitted(1, " a", "accepted", 0.9),),
        Timings(),
        0.1,
    )
    lesson = lesson_of(event, "rejection", 1.0, Names(), "")
    assert lesson.drawn is None
    assert lesson.num_emitted == 2


def test_names_are_sizes_where_they_tell_the_models_apart() -> None:
    header = RecordingHeader(target="x", draft="y", target_size="14B", draft_size="0.6B")
    assert Names.of(header) == Names("the 14B", "the 0.6B")
    assert Names.of(replace(header, draft_size="")) == Names("the 14B", "the draft")
    assert Names.of(replace(header, draft_size="14B")) == Names("the target", "the draft")
    assert Names.of(replace(header, is_toy=True)) == Names("the target", "the draft")
    assert Names.of(replace(header, draft="copy")) == Names("the 14B", "the copy")


def test_four_rules_on_the_fox() -> None:
    rows = {row.rule: row for row in compared_rules(fox_lesson())}
    assert rows["rejection"].expected == pytest.approx(3 + 2 / 7)
    assert rows["rejection"].with_coins == 3
    assert rows["block"].with_coins == 3
    assert rows["block"].chances == pytest.approx((1, 1, 1, 0, 6 / 35), abs=1e-9)
    assert rows["coupled"].chances[3] == pytest.approx(1 / 7)
    assert rows["match"].chances == (0.97, 0.90, 0.95, 0.10, 0.66)
    assert not any(row.is_about for row in rows.values())


def test_a_recorded_rule_keeps_with_its_own_coins_what_it_kept() -> None:
    for rule in ("rejection", "block"):
        for lesson in lessons_of(recorded(rule)):
            row = next(each for each in compared_rules(lesson) if each.rule == rule)
            assert row.with_coins == lesson.num_kept


def test_without_detail_two_rules_can_be_compared() -> None:
    lesson = replace(fox_lesson(), overlaps=())
    assert [row.rule for row in compared_rules(lesson)] == ["rejection", "match"]

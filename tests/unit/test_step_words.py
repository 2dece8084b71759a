"""Sentences from numbers: misses, full rounds, broken rules, second throws."""

from __future__ import annotations

from dataclasses import replace

from mlx_specdec.lesson.fox import fox_lesson
from mlx_specdec.lesson.lesson import Lesson, Verdict
from mlx_specdec.lesson.step_words import (
    bonus_words,
    break_words,
    counted,
    fate_words,
    odds,
    odds_apart,
    percent_words,
    rule_words,
    story,
    why_words,
)
from mlx_specdec.lesson.throw import Fate

import pytest


def all_kept(rule: str = "rejection") -> Lesson:
    """The fox when the coin had said .10 at "a"."""
    lesson = fox_lesson(rule)
    guesses = tuple(
        replace(guess, verdict=Verdict.KEPT, own=guess.text, coin=0.10, keep=guess.ratio)
        for guess in lesson.guesses
    )
    return replace(lesson, guesses=guesses)


def copied(rule: str) -> Lesson:
    """The fox under a rule that compares words, its guesses copied from the text."""
    lesson = fox_lesson(rule)
    guesses = tuple(replace(guess, draft=None) for guess in lesson.guesses)
    return replace(lesson, guesses=guesses, overlaps=fox_lesson("copied").overlaps, luck=())


def test_a_copied_guess_has_no_luck_of_its_own() -> None:
    lesson = copied("coupled")
    assert lesson.overlap is not None
    assert rule_words(lesson) == "coupled (the target draws its own word)"
    assert "draws a word of its own and looks whether it is the guess" in story(lesson)
    assert why_words(lesson, lesson.overlap) == (
        "Every word of the text is the 14B's own draw. The guess was copied: it is that word 10 % "
        "of the time here."
    )
    for told in (why_words, break_words):
        assert "luck" not in told(lesson, lesson.overlap)
    assert "luck" not in story(lesson)
    assert "one luck for both models" in rule_words(fox_lesson("coupled"))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0.7, ".70"), (1.0, "1.00"), (0.004, "<.01"), (0.0, "0"), (0.005, ".01")],
)
def test_chances_as_tables_write_them(value: float | None, shown: str) -> None:
    assert odds(value) == shown


def test_chances_that_differ_are_seen_to_differ() -> None:
    assert odds_apart(0.62, 0.70) == (".62", ".70")
    assert odds_apart(0.958, 0.963) == (".958", ".963")
    assert percent_words(0.001) == "under 1 %"
    assert counted(1, "token") == "one token"
    assert counted(14, "guess", "guesses") == "14 guesses"


def test_a_full_round_names_the_nearest_to_a_miss_and_the_bonus() -> None:
    lesson = all_kept()
    assert lesson.miss is None
    assert story(lesson) == (
        "All five lived. Nearest to a miss was “a”: it lives with 14 %, and its coin said .10. "
        "One pass bought six tokens."
    )
    assert bonus_words(lesson).endswith("already holds the odds for a sixth.")
    assert "own word was the guess" in story(all_kept("coupled"))


def test_a_single_guess_that_dies_costs_nothing() -> None:
    lesson = fox_lesson()
    first = replace(lesson.guesses[3])
    alone = replace(lesson, guesses=(first,), overlaps=lesson.overlaps[3:4])
    assert "a wasted guess changes nothing" in story(alone)
    assert "with it" not in story(alone)
    assert bonus_words(alone).startswith("only when the only guess is kept")


def test_an_answer_that_ended_here() -> None:
    assert story(replace(fox_lesson(), drawn=None)).endswith(
        "The answer ended here, with three guesses kept."
    )


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("rejection", "Draw from p instead of the rest, and “the” comes out at .62, not .70."),
        ("coupled", "Draw the luck again at a miss, and “the” comes out at .63, not .70."),
        ("match", "Draw again at a miss, and “a” comes out at .15, not .10."),
        ("greedy", "at temperature 0 there is nothing to average out"),
    ],
)
def test_breaking_a_rule_in_words(rule: str, words: str) -> None:
    lesson = fox_lesson(rule)
    assert lesson.overlap is not None
    assert words in break_words(lesson, lesson.overlap)


def test_breaking_changes_nothing_where_nothing_is_left_over() -> None:
    lesson = fox_lesson()
    overlap = lesson.overlaps[0]
    same = replace(
        overlap,
        entries=tuple(
            replace(e, draft=e.target, overlap=e.target, left_over=0.0) for e in overlap.entries
        ),
    )
    assert "changes nothing" in break_words(lesson, same)
    assert why_words(lesson, same).startswith("Both laws are the same here")


def test_the_block_says_what_its_product_asks_for() -> None:
    lesson = fox_lesson("block")
    assert lesson.overlap is not None
    assert why_words(lesson, replace(lesson.overlap, scale=0.5)).startswith(
        "The block came here with P = .50"
    )


def test_own_words_agree_no_more_than_the_overlap() -> None:
    lesson = fox_lesson("coupled")
    assert lesson.overlap is not None
    words = why_words(lesson, lesson.overlap)
    assert "39 % of the time" in words
    assert "overlap, 40 %" in words
    assert "about 39 %" not in words
    short = lesson.overlap.limited(2)
    assert "about" in why_words(lesson, short)


def test_another_fate_in_words() -> None:
    lesson = fox_lesson()
    assert fate_words(lesson, Fate(3, (0.12, 0.5), 5, " dog")) == (
        "The new coin says .12: “a” lives. Then this pass gives “fox jumps over a happy dog”: "
        "six tokens."
    )
    assert fate_words(lesson, Fate(3, (0.9,), 3, None)) == "The new coin says .90: “a” dies."
    own = fate_words(fox_lesson("match"), Fate(3, (), 3, " many"))
    assert own.startswith("Drawn anew, the 14B's own word is another word.")

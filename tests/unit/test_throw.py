"""The coin thrown again: other fates of the same guesses."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from mlx_specdec.lesson.fox import fox_lesson
from mlx_specdec.lesson.throw import can_throw, thrown_again

import pytest


def coins(*values: float) -> Callable[[], float]:
    return iter(values).__next__


def test_a_coin_below_the_chance_keeps_the_guess_and_goes_on() -> None:
    fate = thrown_again(fox_lesson(), coins(0.14, 0.3, 0.79))
    assert (fate.first, fate.coins, fate.num_kept) == (3, (0.14, 0.3), 5)
    assert fate.next_word == " dog"


def test_a_coin_above_it_draws_from_what_is_left_over() -> None:
    lesson = fox_lesson()
    assert thrown_again(lesson, coins(0.15, 0.83)).next_word == " the"
    fate = thrown_again(lesson, coins(0.15, 0.84))
    assert (fate.num_kept, fate.next_word) == (3, " many")


def test_a_block_throws_all_coins_and_keeps_up_to_the_last_that_falls_right() -> None:
    fate = thrown_again(fox_lesson("block"), coins(0.9, 0.9, 0.9, 0.9, 0.17, 0.0))
    assert (fate.first, fate.num_kept, fate.next_word) == (0, 5, " dog")
    fate = thrown_again(fox_lesson("block"), coins(0.9, 0.9, 0.9, 0.9, 0.18, 0.0))
    assert (fate.num_kept, fate.next_word) == (3, " the")


@pytest.mark.parametrize(("rule", "lives"), [("coupled", 1 / 7), ("match", 0.10)])
def test_own_words_drawn_anew_agree_as_often_as_they_should(rule: str, lives: float) -> None:
    lesson, rng = fox_lesson(rule), random.Random(3)
    fates = [thrown_again(lesson, rng.random) for _ in range(4000)]
    share = sum(fate.num_kept > 3 for fate in fates) / len(fates)
    assert share == pytest.approx(lives, abs=0.025)
    words = Counter(fate.next_word for fate in fates if fate.num_kept == 3)
    assert set(words) == {" the", " many"}


def test_at_temperature_0_and_without_known_laws_there_is_nothing_to_throw() -> None:
    assert not can_throw(fox_lesson("greedy"))
    assert not can_throw(replace(fox_lesson("coupled"), overlaps=()))
    with pytest.raises(ValueError, match="no coin"):
        thrown_again(fox_lesson("greedy"), random.random)


def test_without_detail_the_coin_falls_but_the_next_word_is_not_known() -> None:
    lesson = replace(fox_lesson(), overlaps=(), bonus=())
    assert thrown_again(lesson, coins(0.9, 0.5)).next_word is None
    assert thrown_again(lesson, coins(0.1, 0.5, 0.5)).next_word is None

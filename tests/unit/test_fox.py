"""The fox has the founding article's own numbers, under every rule."""

from __future__ import annotations

from mlx_specdec.errors import InvalidRequestError
from mlx_specdec.events import event_from_dict, event_to_dict
from mlx_specdec.lesson.closing_sums import closing_sums
from mlx_specdec.lesson.fox import FOX_RULES, fox_lesson, fox_round
from mlx_specdec.lesson.lesson import Verdict

import pytest

WORDS = ["fox", "jumps", "over", "a", "happy"]


def test_the_odds_and_coins_of_the_article() -> None:
    lesson = fox_lesson()
    assert [guess.word for guess in lesson.guesses] == WORDS
    assert [guess.draft for guess in lesson.guesses] == [0.94, 0.82, 0.93, 0.70, 0.55]
    assert [guess.target for guess in lesson.guesses[:4]] == [0.97, 0.90, 0.95, 0.10]
    keep = [guess.keep for guess in lesson.guesses[:4]]
    assert keep == pytest.approx([1.0, 1.0, 1.0, 1 / 7])
    assert [guess.coin for guess in lesson.guesses] == [0.37, 0.52, 0.08, 0.61, None]
    assert lesson.miss == 3
    assert lesson.drawn is not None
    assert lesson.drawn.text == " the"


def test_the_overlap_and_what_is_left_over() -> None:
    overlap = fox_lesson().overlap
    assert overlap is not None
    assert [entry.text for entry in overlap.entries] == [" the", " a", " many"]
    assert [entry.overlap for entry in overlap.entries] == pytest.approx([0.20, 0.10, 0.10])
    assert [entry.left_over for entry in overlap.entries] == pytest.approx([0.50, 0.0, 0.10])
    shares = [overlap.share(entry) for entry in overlap.entries]
    assert [round(share * 100) for share in shares] == [83, 0, 17]
    assert overlap.acceptance == pytest.approx(0.40)
    assert overlap.is_exact


def test_the_sums_close_and_break() -> None:
    lesson = fox_lesson()
    assert lesson.overlap is not None
    exact = [line.total for line in closing_sums(lesson, lesson.overlap)]
    broken = [line.total for line in closing_sums(lesson, lesson.overlap, is_broken=True)]
    assert exact == pytest.approx([0.70, 0.10, 0.20], abs=1e-9)
    assert broken == pytest.approx([0.62, 0.16, 0.22], abs=1e-9)


@pytest.mark.parametrize("rule", FOX_RULES)
def test_every_rule_keeps_three_and_says_the(rule: str) -> None:
    lesson = fox_lesson(rule)
    assert lesson.num_kept == 3
    assert lesson.guesses[3].verdict is Verdict.MISS
    assert lesson.guesses[4].verdict is Verdict.LOST
    assert lesson.num_emitted == 4
    assert lesson.is_copied == (rule == "copied")
    event = fox_round(rule)
    assert event_from_dict(event_to_dict(event)) == event
    for check, guess in zip(event.checks, event.proposed, strict=False):
        assert check.kept == (guess in event.proposed[:3])
        if rule in ("rejection", "copied"):
            assert check.kept == (check.drawn < check.asked)


def test_the_lucks_give_the_guesses_and_the_targets_words() -> None:
    lesson = fox_lesson("coupled")
    own = []
    for place, overlap in enumerate(lesson.overlaps):
        luck = lesson.luck[place]
        listed = [
            (entry, luck[entry.token]) for entry in overlap.entries if entry.token is not None
        ]
        guess = max(listed, key=lambda pair: pair[0].draft * pair[1])[0]
        assert guess.token == lesson.guesses[place].token
        own.append(max(listed, key=lambda pair: pair[0].target * pair[1])[0].text)
    assert own[:4] == [guess.own for guess in lesson.guesses[:4]]


def test_a_rule_that_the_fox_does_not_know() -> None:
    with pytest.raises(InvalidRequestError, match="no rule 'luck'") as caught:
        fox_lesson("luck")
    assert "rejection, block" in caught.value.hint

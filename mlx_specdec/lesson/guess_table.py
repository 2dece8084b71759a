"""The table of a lesson: a column a guess; what it was given, asked and told."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .lesson import Guess, Lesson, Phase, Verdict
from .step_words import odds
from .styled_lines import Line, Span, cut, line, padded, visible

__all__ = ["WIDE", "guess_table"]

WIDE = 100
"""From this width on labels are written out and bars are long."""


class _Row(NamedTuple):
    """``is_answer``: covered while the student predicts."""

    label: str
    value: Callable[[Guess], Span]
    is_answer: bool = False


def guess_table(
    lesson: Lesson, phase: Phase, width: int, covered_from: int | None = None
) -> list[Line]:
    """q, p, what the rule asked, what was drawn and the verdict of every guess.

    Args:
        phase: before CHECK only the draft's odds are there.
        width: cells; guesses that do not fit are left out around the decisive one, and counted.
        covered_from: predict first: the first place whose answers are covered.
    """
    label, column = (27, 14) if width >= WIDE else (24, 11)
    fit = max((width - label - 1) // column, 1)
    count = len(lesson.guesses)
    first = min(max(lesson.focus - fit + 2, 0), max(count - fit, 0))
    shown = lesson.guesses[first : first + fit]
    heads = [Span(padded(cut(guess.word, column - 1), column), "head") for guess in shown]
    lines = [line(" " * (label + 1), *heads)]
    for row in _rows(lesson, phase):
        cells = [Span(" " + padded(row.label, label))]
        for place, guess in enumerate(shown, first):
            text, style = row.value(guess)
            if row.is_answer and covered_from is not None and place >= covered_from:
                text, style = ("?" if place == covered_from else "", "dim")
            cells.append(Span(padded(text, column), style))
        lines.append(tuple(cells))
    if len(shown) < count:
        words = f" guesses {first + 1} to {first + len(shown)} of {count}"
        lines.append(line(Span(words, "dim")))
    return lines


def _rows(lesson: Lesson, phase: Phase) -> list[_Row]:
    names = lesson.names
    draft = _Row(
        f"q  {names.draft}'s odds",
        lambda guess: Span("copied" if guess.draft is None else odds(guess.draft)),
    )
    if phase is Phase.GUESS:
        return [draft]
    target = _Row(f"p  {names.target}'s odds", lambda guess: _target_odds(lesson, guess))
    verdict = _Row("", lambda guess: _verdict(lesson, guess), is_answer=True)
    return [draft, target, *_asked(lesson), verdict]


def _target_odds(lesson: Lesson, guess: Guess) -> Span:
    is_looked_at = guess.verdict is not Verdict.LOST or lesson.rule == "block"
    return Span(odds(guess.target) if is_looked_at else "–")


def _number(value: float | None) -> Span:
    return Span("" if value is None else odds(value))


def _asked(lesson: Lesson) -> list[_Row]:
    """What the rule asked and drew, in its own terms."""
    if lesson.compares_words:
        how = {"coupled": "own word", "match": "own draw"}
        label = f"{lesson.names.target}'s {how.get(lesson.rule, 'likeliest')}"
        return [
            _Row(
                label,
                lambda guess: Span("" if guess.own is None else visible(guess.own)),
                is_answer=True,
            )
        ]
    coin = _Row("coin", lambda guess: _number(guess.coin))
    if lesson.rule == "block":
        return [
            _Row("P  product of p/q", lambda guess: _number(guess.carried), is_answer=True),
            _Row("h  keep up to here", lambda guess: _number(guess.keep), is_answer=True),
            coin,
        ]
    terms = "p" if lesson.is_copied else "min(1, p/q)"
    return [_Row(f"keep with  {terms}", lambda guess: _number(guess.keep), is_answer=True), coin]


def _verdict(lesson: Lesson, guess: Guess) -> Span:
    if guess.verdict is Verdict.LOST:
        return Span("lost too" if lesson.rule == "block" else "unchecked", "dim")
    return Span(guess.verdict.value, "draft" if guess.is_kept else "miss")

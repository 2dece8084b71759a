"""The same guesses under four rules: the chance of each, guesses kept on average, these coins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .acceptance_arithmetic import block_chances, kept_by_block
from .agreement import both_say
from .lesson import Lesson

__all__ = ["RuleRow", "compared_rules"]


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule on these guesses.

    Args:
        chances: of each guess: to be kept once it is reached; block: h, to keep up to there.
        expected: guesses kept on average, given what was guessed.
        with_coins: guesses kept with the coins of this round; None where it has none.
        is_about: words outside the listed ones count as one, so the figure is near, not exact.
    """

    rule: str
    chances: tuple[float, ...]
    expected: float
    with_coins: int | None
    is_about: bool = False


def compared_rules(lesson: Lesson) -> tuple[RuleRow, ...]:
    """rejection, block, coupled and match; block and coupled only where both laws are known."""
    guesses, coins = lesson.guesses, lesson.coins
    ratios = tuple(guess.ratio for guess in guesses)
    matches = tuple(guess.target for guess in guesses)
    about = any(
        (rest := overlap.entry(None)) is not None and rest.token is None
        for overlap in lesson.overlaps
    )
    rows = [RuleRow("rejection", ratios, _in_turn(ratios), _kept_in_turn(ratios, coins))]
    if lesson.overlaps and len(lesson.overlaps) == len(guesses):
        chances = tuple(_block(lesson))
        kept = _kept_as_block(chances, coins)
        rows.append(RuleRow("block", chances, kept_by_block(chances), kept, about))
        agreed = tuple(_coupled(lesson))
        rows.append(RuleRow("coupled", agreed, _in_turn(agreed), None, about))
    rows.append(RuleRow("match", matches, _in_turn(matches), None))
    return tuple(rows)


def _in_turn(chances: Sequence[float]) -> float:
    """Guesses kept on average when each is asked only after the one before was kept."""
    expected, reached = 0.0, 1.0
    for chance in chances:
        reached *= chance
        expected += reached
    return expected


def _kept_in_turn(chances: Sequence[float], coins: Sequence[float]) -> int | None:
    for place, chance in enumerate(chances):
        if place == len(coins):
            return None
        if coins[place] >= chance:
            return place
    return len(chances)


def _kept_as_block(chances: Sequence[float], coins: Sequence[float]) -> int | None:
    if len(coins) < len(chances):
        return None
    kept = [i for i, (coin, h) in enumerate(zip(coins, chances, strict=False), 1) if coin < h]
    return max(kept, default=0)


def _block(lesson: Lesson) -> list[float]:
    recorded = [guess.keep for guess in lesson.guesses]
    if lesson.rule == "block" and None not in recorded:
        return [chance for chance in recorded if chance is not None]
    targets = [[entry.target for entry in each.entries] for each in lesson.overlaps]
    drafts = [[entry.draft for entry in each.entries] for each in lesson.overlaps]
    places = [
        next(i for i, entry in enumerate(each.entries) if entry.token == guess.token)
        for each, guess in zip(lesson.overlaps, lesson.guesses, strict=True)
    ]
    return block_chances(targets, drafts, places)


def _coupled(lesson: Lesson) -> list[float]:
    """P(the target says the guess, given that the draft did), one luck for both."""
    chances = []
    for overlap, guess in zip(lesson.overlaps, lesson.guesses, strict=True):
        entry = overlap.entry(guess.token)
        assert entry is not None
        both = both_say(overlap, entry, is_coupled=True)
        chances.append(both / entry.draft if entry.draft > 0 else 0.0)
    return chances

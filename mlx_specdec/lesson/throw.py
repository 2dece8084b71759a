"""The coin thrown again: another fate of the same round, with the same guesses.

Where the rule throws coins, the decisive one and all after it fall anew; what is drawn in place
of a miss is drawn anew with them. Own-word rules draw the target's word anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .agreement import joint_chance
from .lesson import GREEDY, Guess, Lesson
from .overlap import OTHERS, Overlap

__all__ = ["Fate", "can_throw", "thrown_again"]

Random = Callable[[], float]
"""Gives the next uniform in [0, 1)."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What a new throw led to.

    Args:
        first: the first place whose coin fell anew.
        coins: from that place on (empty for own-word rules).
        num_kept: guesses kept in all.
        next_word: the token's text after them; None where the odds there are not known.
    """

    first: int
    coins: tuple[float, ...]
    num_kept: int
    next_word: str | None


def can_throw(lesson: Lesson) -> bool:
    """Whether chance plays a part in this round that can be played again."""
    if lesson.rule == GREEDY:
        return False
    return bool(lesson.overlaps) if lesson.compares_words else True


def thrown_again(lesson: Lesson, random: Random) -> Fate:
    """Throw from the lesson's decisive place on (block: the whole block).

    Raises:
        ValueError: nothing was thrown; see can_throw.
    """
    if not can_throw(lesson):
        raise ValueError("no coin was thrown in this round")
    if lesson.rule == "block":
        return _block(lesson, random)
    if lesson.compares_words:
        return _own_words(lesson, random)
    place = lesson.focus
    coins: list[float] = []
    for kept in range(place, len(lesson.guesses)):
        coins.append(random())
        if coins[-1] >= lesson.guesses[kept].ratio:
            return Fate(place, tuple(coins), kept, _replacement(lesson, kept, random))
    count = len(lesson.guesses)
    return Fate(place, tuple(coins), count, _bonus(lesson, random))


def _block(lesson: Lesson, random: Random) -> Fate:
    coins = tuple(random() for _ in lesson.guesses)
    kept = 0
    for place, (guess, coin) in enumerate(zip(lesson.guesses, coins, strict=True), 1):
        if guess.keep is not None and coin < guess.keep:
            kept = place
    if kept == len(lesson.guesses):
        return Fate(0, coins, kept, _bonus(lesson, random))
    return Fate(0, coins, kept, _replacement(lesson, kept, random))


def _own_words(lesson: Lesson, random: Random) -> Fate:
    """The target's word at each place from the decisive one on, given the guess there."""
    place = lesson.focus
    for kept in range(place, len(lesson.guesses)):
        overlap, guess = lesson.overlaps[kept], lesson.guesses[kept]
        weights = _own_law(overlap, guess, lesson.rule == "coupled")
        index = _drawn(weights, random())
        if overlap.entries[index].token != guess.token:
            return Fate(place, (), kept, overlap.entries[index].text)
    return Fate(place, (), len(lesson.guesses), _bonus(lesson, random))


def _own_law(overlap: Overlap, guess: Guess, is_coupled: bool) -> list[float]:
    """Weights of the target's own word, given that the draft said ``guess``."""
    if not is_coupled or guess.draft is None:
        return [entry.target for entry in overlap.entries]
    return [joint_chance(overlap, entry, guess.token) for entry in overlap.entries]


def _replacement(lesson: Lesson, place: int, random: Random) -> str | None:
    coin = random()
    if not lesson.overlaps:
        return None
    overlap = lesson.overlaps[place]
    return overlap.entries[_drawn([overlap.share(e) for e in overlap.entries], coin)].text


def _bonus(lesson: Lesson, random: Random) -> str | None:
    coin = random()
    if not lesson.bonus:
        return None
    probs = [entry.prob for entry in lesson.bonus]
    texts = [entry.text for entry in lesson.bonus]
    rest = max(1.0 - sum(probs), 0.0)
    if rest > 1e-4:
        probs, texts = [*probs, rest], [*texts, OTHERS]
    return texts[_drawn(probs, coin)]


def _drawn(weights: Sequence[float], coin: float) -> int:
    """The first entry whose cumulative weight exceeds ``coin`` times the total."""
    place = coin * sum(weights)
    reached, last = 0.0, 0
    for index, weight in enumerate(weights):
        if weight > 0:
            last = index
            reached += weight
            if reached > place:
                return index
    return last

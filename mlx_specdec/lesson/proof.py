"""The proof at one place: the next word drawn with drafting, against the target's own odds.

Drawing many next words under the rejection rule needs both laws once and arithmetic. How far the
drawn shares lie from the target's law is their total variation distance; what chance alone allows
is bounded, so that a broken rule can be told from bad luck.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from .fox import fox_lesson
from .overlap import OTHERS

import numpy as np
import numpy.typing as npt

__all__ = [
    "DRAWS",
    "NextWordLaw",
    "ProofDraw",
    "ProofStep",
    "Way",
    "allowed_distance",
    "draw_words",
    "drawn_law",
    "fox_law",
]

Floats = npt.NDArray[np.float64]
Tokens = npt.NDArray[np.int64]
Way = Literal["exact", "redraw", "unsure"]
"""exact: the rejection rule; redraw: a miss draws from the target instead of what is left over;
unsure: a guess is dropped because its own q was low."""

DRAWS = 20_000
FALSE_ALARM = 1e-3
_LISTED = 1e-3  # a word with less in both laws goes under OTHERS
_UNSURE = 0.5  # of the draft's best: below it the draft counts as unsure
_STEPS = (20, 60, 200, 600, 2_000, 6_000, 20_000)


@dataclass(frozen=True, eq=False)
class NextWordLaw:
    """Both laws of the next word after ``prefix``.

    Args:
        target, draft: float [vocab] each, sum to 1.
        text_of: a token's text, asked for the listed ones only.
        prefix: the end of the text before it.
        source: what it is the law of, such as ``built-in example``.
        temperature: of both laws.
    """

    target: Floats
    draft: Floats
    text_of: Callable[[int], str]
    prefix: str
    source: str
    temperature: float = 1.0

    @cached_property
    def listed(self) -> tuple[int, ...]:
        """The words with a row of their own, the target's likeliest first."""
        kept = np.flatnonzero(np.maximum(self.target, self.draft) >= _LISTED)
        return tuple(int(token) for token in kept[np.argsort(-self.target[kept], kind="stable")])

    @property
    def names(self) -> tuple[str, ...]:
        """Of the groups that are compared: the listed words, then all others together."""
        return (*(self.text_of(token) for token in self.listed), OTHERS)

    def grouped(self, weights: Floats) -> Floats:
        """[vocab] -> [groups]: sums by listed word, the rest last."""
        own = weights[list(self.listed)]
        return np.append(own, max(float(weights.sum() - own.sum()), 0.0))


def fox_law() -> NextWordLaw:
    """The place of the miss in the built-in lesson."""
    lesson = fox_lesson()
    overlap = lesson.overlap
    assert overlap is not None
    kept = "".join(guess.text for guess in lesson.guesses[: lesson.num_kept])
    texts = [entry.text for entry in overlap.entries]
    return NextWordLaw(
        np.array([entry.target for entry in overlap.entries]),
        np.array([entry.draft for entry in overlap.entries]),
        texts.__getitem__,
        lesson.before + kept,
        "built-in example",
    )


@dataclass(frozen=True)
class ProofStep:
    """How it stood after ``num_draws``.

    Args:
        shares: of each group of the law, drawn.
        distance: total variation between them and the target's law over the same groups.
    """

    num_draws: int
    shares: tuple[float, ...]
    distance: float


@dataclass(frozen=True)
class ProofDraw:
    """What was drawn, and the verdict.

    Args:
        steps: as the draws went on, the last one all of them.
        allowed: what chance alone stays below, but for once in a thousand.
    """

    way: Way
    steps: tuple[ProofStep, ...]
    allowed: float

    @property
    def distance(self) -> float:
        return self.steps[-1].distance

    @property
    def is_same_law(self) -> bool:
        return self.distance <= self.allowed


def allowed_distance(law: Floats, num_draws: int, false_alarm: float = FALSE_ALARM) -> float:
    """The distance of ``num_draws`` honest draws from ``law`` exceeds this once in 1 / false_alarm.

    Its mean is at most half the sum of sqrt(p (1 - p) / n), since E|X| <= sqrt(E X^2) for each
    share. One draw moves the distance by at most 1/n, so that it exceeds its mean by t with a
    chance of at most exp(-2 n t^2) (McDiarmid 1989). No approximation is in it.
    """
    mean = 0.5 * float(np.sqrt(law * (1.0 - law) / num_draws).sum())
    return mean + math.sqrt(math.log(1.0 / false_alarm) / (2.0 * num_draws))


def draw_words(
    law: NextWordLaw, rng: np.random.Generator, way: Way = "exact", num_draws: int = DRAWS
) -> ProofDraw:
    """Draw the next word ``num_draws`` times, with drafting.

    Args:
        rng: where chance comes from.
        way: the rule, or the rule broken on purpose.
    """
    guesses = _drawn(law.draft, rng.random(num_draws))
    coins, spare = rng.random(num_draws), rng.random(num_draws)
    kept = coins * law.draft[guesses] < law.target[guesses]
    rest = law.target if way == "redraw" else _left_over(law)
    words = np.where(kept, guesses, _drawn(rest, spare))
    if way == "unsure":
        is_asked = law.draft[guesses] >= _UNSURE * law.draft.max()
        words = np.where(is_asked, words, _drawn(law.target, spare))
    return _judged(law, way, words)


def _left_over(law: NextWordLaw) -> Floats:
    """max(0, p - q), not scaled; p itself where nothing is left."""
    left = np.maximum(law.target - law.draft, 0.0)
    return left if left.sum() > 0 else law.target


def _drawn(weights: Floats, uniforms: Floats) -> Tokens:
    """One token a uniform, by the weights; an entry of weight 0 is never drawn."""
    entries = np.flatnonzero(weights > 0)
    sums = np.cumsum(weights[entries])
    places = np.searchsorted(sums, uniforms * sums[-1], side="right")
    return np.asarray(entries[np.minimum(places, len(entries) - 1)], dtype=np.int64)


def _judged(law: NextWordLaw, way: Way, words: Tokens) -> ProofDraw:
    target = law.grouped(law.target)
    size = len(words)

    def step(count: int) -> ProofStep:
        counts = np.bincount(words[:count], minlength=len(law.target)).astype(np.float64)
        shares = law.grouped(counts / count)
        distance = 0.5 * float(np.abs(shares - target).sum())
        return ProofStep(count, tuple(float(share) for share in shares), distance)

    counts = [*(count for count in _STEPS if count < size), size]
    return ProofDraw(way, tuple(map(step, counts)), allowed_distance(target, size))


def drawn_law(law: NextWordLaw, way: Way) -> Floats:
    """What a way draws in the long run, exactly: [vocab]."""
    both = np.minimum(law.target, law.draft)
    missed = 1.0 - both.sum()
    left = _left_over(law)
    if way == "exact":
        return np.asarray(both + missed * left / left.sum())
    if way == "redraw":
        return np.asarray(both + missed * law.target)
    asked = law.draft >= _UNSURE * law.draft.max()
    lost = float((law.draft - both)[asked].sum())
    skipped = float(law.draft[~asked].sum())
    return np.asarray(both * asked + lost * left / left.sum() + skipped * law.target)

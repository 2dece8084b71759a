"""The fox: the lesson with the founding article's own numbers, as a round like any other.

From the article: the guesses and their odds, "a" at .70 against .10, the left-over law of .50 and
.10 scaled to 83 and 17 %, the sums .70, .10 and .20. The other words at each place, the odds of
"happy", the coins and the lucks are made up so that every rule has its say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..errors import InvalidRequestError
from ..events import Check, Emitted, LawEntry, Proposed, Round, RowDetail, Timings
from .acceptance_arithmetic import block_chances, carried_products
from .lesson import GREEDY, OWN_WORD_RULES, Lesson, Names, lesson_of

__all__ = ["COPIED", "FOX_RULES", "fox_lesson", "fox_round"]

COPIED = "copied"
"""The rejection rule with guesses that were copied and have no odds of their own."""
FOX_RULES = ("rejection", "block", "coupled", "match", GREEDY, COPIED)
BEFORE = "The quick brown"
NAMES = Names("the 14B", "the 0.6B")


@dataclass(frozen=True, slots=True)
class _Place:
    """The three words at one place: q, p, and the luck that both share there."""

    words: tuple[str, str, str]
    draft: tuple[float, float, float]
    target: tuple[float, float, float]
    luck: tuple[float, float, float]


_PLACES = (
    _Place(("fox", "dog", "bear"), (0.94, 0.04, 0.02), (0.97, 0.02, 0.01), (1.3, 4.2, 0.9)),
    _Place(("jumps", "runs", "leaps"), (0.82, 0.12, 0.06), (0.90, 0.06, 0.04), (0.8, 2.4, 1.1)),
    _Place(("over", "on", "and"), (0.93, 0.05, 0.02), (0.95, 0.03, 0.02), (2.9, 0.7, 6.0)),
    _Place(("a", "the", "many"), (0.70, 0.20, 0.10), (0.10, 0.70, 0.20), (1.5, 3.0, 0.8)),
    _Place(("happy", "lazy", "sleepy"), (0.55, 0.25, 0.20), (0.66, 0.20, 0.14), (1.2, 0.6, 1.9)),
)
_BONUS = (("dog", 0.80), ("cat", 0.15), ("hen", 0.05))
_COINS = (0.37, 0.52, 0.08, 0.61, 0.83)
_MISS = 3
_WORDS = tuple(
    dict.fromkeys([word for place in _PLACES for word in place.words] + [w for w, _ in _BONUS])
)


def _token(word: str) -> int:
    return _WORDS.index(word)


def _law(words: Sequence[str], probs: Sequence[float]) -> tuple[LawEntry, ...]:
    entries = [LawEntry(_token(w), f" {w}", p) for w, p in zip(words, probs, strict=True) if p > 0]
    return tuple(sorted(entries, key=lambda entry: -entry.prob))


def _row(place: _Place, scale: float, is_copied: bool) -> RowDetail:
    draft = (1.0, 0.0, 0.0) if is_copied else place.draft
    rest = [max(scale * p - q, 0.0) for p, q in zip(place.target, draft, strict=True)]
    total = sum(rest)
    return RowDetail(
        _law(place.words, place.target),
        _law(place.words, draft),
        _law(place.words, [each / total if total else 0.0 for each in rest]),
    )


def _checks(rule: str) -> tuple[Check, ...]:
    """One per guess that the rule looked at; the guess is the first word of its place."""
    if rule in OWN_WORD_RULES:
        own = ["fox", "jumps", "over", "the"]
        return tuple(
            Check(_token(word), _token(place.words[0]), word == place.words[0])
            for word, place in zip(own, _PLACES, strict=False)
        )
    targets = [place.target for place in _PLACES]
    drafts = [place.draft for place in _PLACES]
    firsts = [0] * len(_PLACES)
    if rule == "block":
        carried = carried_products(targets, drafts, firsts)
        chances = block_chances(targets, drafts, firsts)
        return tuple(
            Check(asked, coin, i < _MISS, product)
            for i, (asked, coin, product) in enumerate(zip(chances, _COINS, carried, strict=True))
        )
    ratios = [
        p[0] if rule == COPIED else min(1.0, p[0] / q[0])
        for p, q in zip(targets, drafts, strict=True)
    ]
    return tuple(
        Check(ratio, coin, coin < ratio)
        for ratio, coin in zip(ratios[: _MISS + 1], _COINS, strict=False)
    )


def fox_round(rule: str = "rejection") -> Round:
    """The round as a decoder would have told it, with detail.

    Raises:
        InvalidRequestError: the fox has no lesson of that name.
    """
    if rule not in FOX_RULES:
        raise InvalidRequestError(
            f"The lesson has no rule {rule!r}.", f"Take one of {', '.join(FOX_RULES)}."
        )
    checks = _checks(rule)
    is_copied = rule == COPIED
    scales = [1.0, *(check.carried for check in checks)] if rule == "block" else [1.0] * 6
    detail = tuple(
        _row(place, scale, is_copied) for place, scale in zip(_PLACES, scales, strict=False)
    )
    bonus = _law([word for word, _ in _BONUS], [prob for _, prob in _BONUS])
    last = RowDetail(bonus, (), bonus)
    proposed = tuple(
        Proposed(
            _token(p.words[0]), f" {p.words[0]}", p.target[0], None if is_copied else p.draft[0]
        )
        for p in _PLACES
    )
    kind = "copied" if is_copied else "accepted"
    emitted = tuple(Emitted(p.token, p.text, kind, 0.5) for p in proposed[:_MISS])
    return Round(
        index=1,
        position=3,
        lookahead=len(_PLACES),
        proposed=proposed,
        checks=checks,
        num_accepted=_MISS,
        emitted=(*emitted, Emitted(_token("the"), " the", "recovered", 0.33)),
        timings=Timings(),
        at=0.0,
        detail=(*detail, last),
    )


def fox_lesson(rule: str = "rejection") -> Lesson:
    """The fox under one of FOX_RULES.

    Raises:
        InvalidRequestError: the fox has no lesson of that name.
    """
    kind = "rejection" if rule == COPIED else rule
    temperature = 0.0 if rule == GREEDY else 1.0
    lesson = lesson_of(fox_round(rule), kind, temperature, NAMES, BEFORE)
    luck: tuple[dict[int, float], ...] = ()
    if rule == "coupled":
        luck = tuple(
            {_token(w): value for w, value in zip(place.words, place.luck, strict=True)}
            for place in _PLACES
        )
    coins = () if rule in OWN_WORD_RULES else _COINS
    return replace(lesson, title="the fox", luck=luck, coins=coins)

"""From a round's detail to overlaps: the k largest entries of three laws, put together.

A word may be among the largest of one law and not of the others. Its missing odds follow from the
left-over law where they can: left_over = (P p - q) / L, with one L for the whole row. What is not
known stays together under OTHERS, with its mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..events import LawEntry, Proposed, RowDetail
from .overlap import OTHERS, Overlap, OverlapEntry

__all__ = ["overlap_of"]

_WHOLE = 1e-4  # a law whose listed entries miss less than this is listed whole
_SURE = 5e-3  # L known to this is shown without "about"
_SMALLEST_SHARE = 1e-3  # of the left-over law, to divide by


@dataclass(frozen=True)
class _Law:
    """The listed part of one law: a lookup that knows what it does not know.

    Nothing outside the list is above ``least``.
    """

    probs: dict[int, float]
    is_whole: bool
    least: float

    @classmethod
    def of(cls, entries: Sequence[LawEntry]) -> _Law:
        probs = {entry.token: entry.prob for entry in entries}
        is_whole = sum(probs.values()) > 1 - _WHOLE
        return cls(probs, is_whole, 0.0 if is_whole else min(probs.values(), default=1.0))

    def get(self, token: int) -> float | None:
        return self.probs.get(token, 0.0 if self.is_whole else None)


def overlap_of(row: RowDetail, guess: Proposed, scale: float = 1.0) -> Overlap:
    """The overlap at the place of ``guess``.

    Args:
        row: the largest entries of the target's, the draft's and the left-over law there.
        guess: the proposed token, whose own odds are always known.
        scale: the block rule's product P before this place.
    """
    target, draft, rest = (_Law.of(law) for law in (row.target, row.draft, row.left_over))
    target.probs[guess.token] = guess.target_prob
    draft.probs[guess.token] = 1.0 if guess.draft_prob is None else guess.draft_prob
    texts = {guess.token: guess.text}
    for law in (row.target, row.draft, row.left_over):
        texts.update((entry.token, entry.text) for entry in law)
    total, is_exact = row.left_over_sum, True
    if total is None:
        total, is_exact = _left_over_total(target, draft, rest, scale)
    entries = []
    for token, text in texts.items():
        odds = _odds(token, target, draft, rest, scale, total)
        if odds is not None:
            entries.append(_entry(token, text, *odds, scale))
    entries.sort(key=lambda entry: (-max(entry.target, entry.draft), -entry.target, entry.text))
    others = _others(entries, scale, total)
    return Overlap((*entries, *others), scale, is_exact)


def _entry(token: int, text: str, target: float, draft: float, scale: float) -> OverlapEntry:
    wanted = scale * target
    return OverlapEntry(token, text, target, draft, min(wanted, draft), max(wanted - draft, 0.0))


def _odds(
    token: int, target: _Law, draft: _Law, rest: _Law, scale: float, total: float | None
) -> tuple[float, float] | None:
    """p and q of a token, the one from the other where the left-over law tells."""
    p, q, share = target.get(token), draft.get(token), rest.get(token)
    if p is not None and q is not None:
        return p, q
    if total is None or not share:
        return None
    if p is not None:
        return p, max(scale * p - share * total, 0.0)
    if q is not None and scale > 0:
        return (q + share * total) / scale, q
    return None


def _left_over_total(
    target: _Law, draft: _Law, rest: _Law, scale: float
) -> tuple[float | None, bool]:
    """L, the sum of max(0, P p - q) over the whole row, and whether it is known for sure."""
    low, high = max(scale - 1.0, 0.0), scale
    if not rest.probs:  # nothing is left over: p == q
        return 0.0, True
    for token, share in rest.probs.items():
        p, q = target.get(token), draft.get(token)
        if p is None or share < _SMALLEST_SHARE:
            continue
        if q is not None:
            if scale * p > q:
                exact = (scale * p - q) / share
                return min(exact, scale), True
            continue
        low = max(low, (scale * p - draft.least) / share)
        high = min(high, scale * p / share)
    if target.is_whole and draft.is_whole:
        whole = {*target.probs, *draft.probs}
        sums = (scale * (target.get(x) or 0.0) - (draft.get(x) or 0.0) for x in whole)
        return sum(max(each, 0.0) for each in sums), True
    if high - low < _SURE:
        return (low + high) / 2, True
    return None, False


def _others(
    entries: Sequence[OverlapEntry], scale: float, total: float | None
) -> tuple[OverlapEntry, ...]:
    target = max(1.0 - sum(entry.target for entry in entries), 0.0)
    draft = max(1.0 - sum(entry.draft for entry in entries), 0.0)
    if max(target, draft) < _WHOLE:
        return ()
    wanted = scale * target
    left = max(wanted - draft, 0.0)
    if total is not None:
        left = max(total - sum(entry.left_over for entry in entries), left)
    left = min(left, wanted)
    return (OverlapEntry(None, OTHERS, target, draft, wanted - left, left),)

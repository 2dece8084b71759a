"""The sums that close the proof at one place: kept + miss x share = the target's own odds."""

from __future__ import annotations

from .agreement import agreement
from .lesson import GREEDY, Lesson
from .overlap import Overlap, ProofLine

__all__ = ["closing_sums"]


def closing_sums(
    lesson: Lesson, overlap: Overlap, is_broken: bool = False
) -> tuple[ProofLine, ...]:
    """One line a word, in the rule's own terms; none at temperature 0.

    Args:
        is_broken: a miss draws from p itself (own-word rules: draws once more).
    """
    if lesson.rule == GREEDY:
        return ()
    if lesson.compares_words:
        agreed = agreement(overlap, lesson.rule == "coupled")
        return agreed.broken_proof() if is_broken else agreed.proof()
    return overlap.broken_proof() if is_broken else overlap.proof()

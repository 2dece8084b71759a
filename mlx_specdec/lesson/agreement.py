"""How often a guess equals the target's own word: under luck shared with the draft, and without.

coupled (Daliri, Musco and Suresh 2024): both take the word with the largest odds x luck, one luck
per word for both. The lucks are 1/E with E exponential, so that word x wins both races with
1 / sum_y max(p_y/p_x, q_y/q_x). match: two independent draws are equal with sum p q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from .overlap import Overlap, OverlapEntry, ProofLine

__all__ = ["Agreement", "agreement", "both_say", "joint_chance"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The chance that both say a word, by entry of an overlap; ``total`` is their sum."""

    by_entry: tuple[float, ...]
    overlap: Overlap

    @property
    def total(self) -> float:
        return sum(self.by_entry)

    def proof(self) -> tuple[ProofLine, ...]:
        """agreed + the target's own word where they differ = p."""
        apart = 1.0 - self.total
        return tuple(
            ProofLine(
                entry.token,
                entry.text,
                both,
                apart,
                (entry.target - both) / apart if apart > 0 else 0.0,
                entry.target,
            )
            for entry, both in self._pairs()
        )

    def broken_proof(self) -> tuple[ProofLine, ...]:
        """The same with the word drawn afresh wherever they differ: wrong."""
        apart = 1.0 - self.total
        return tuple(
            ProofLine(entry.token, entry.text, both, apart, entry.target, entry.target)
            for entry, both in self._pairs()
        )

    def _pairs(self) -> zip[tuple[OverlapEntry, float]]:
        return zip(self.overlap.entries, self.by_entry, strict=True)


def both_say(overlap: Overlap, entry: OverlapEntry, is_coupled: bool) -> float:
    """The chance that the guess and the target's own word are both this entry.

    Of OTHERS little is known: no more than their overlap for coupled, and nothing for match.
    """
    p, q = entry.target, entry.draft
    if p <= 0 or q <= 0:
        return 0.0
    if not is_coupled:
        return 0.0 if entry.token is None else p * q
    both = 1.0 / sum(max(each.target / p, each.draft / q) for each in overlap.entries)
    return min(both, entry.overlap) if entry.token is None else both


def joint_chance(overlap: Overlap, own: OverlapEntry, guessed: int) -> float:
    """P(the target says ``own`` and the draft token ``guessed``) under shared luck.

    With E the arrival times, own = y and guessed = x when E_x q_y / q_x < E_y < E_x p_y / p_x and
    every other z comes later than max(E_y p_z / p_y, E_x q_z / q_x). In t = E_y / E_x that is
    the integral of 1 / (1 + t + sum_z max(t p_z / p_y, q_z / q_x))^2, a sum over linear pieces.
    """
    x = next(entry for entry in overlap.entries if entry.token == guessed)
    if own is x:
        return both_say(overlap, x, is_coupled=True)
    low = own.draft / x.draft if x.draft > 0 else math.inf
    high = own.target / x.target if x.target > 0 else math.inf
    if own.target <= 0 or low >= high:
        return 0.0
    # (slope in t, constant) of every other word: the larger of the two counts.
    rest = [
        (z.target / own.target, z.draft / x.draft)
        for z in overlap.entries
        if z is not x and z is not own
    ]
    turns = {flat / slope for slope, flat in rest if slope > 0}
    edges = [low, *sorted(t for t in turns if low < t < high), high]
    total = 0.0
    for start, end in pairwise(edges):
        middle = start + 1.0 if end == math.inf else (start + end) / 2
        slope = 1.0 + sum(s for s, f in rest if s * middle > f)
        flat = 1.0 + sum(f for s, f in rest if s * middle <= f)
        total += (1.0 / (flat + slope * start) - 1.0 / (flat + slope * end)) / slope
    return total


def agreement(overlap: Overlap, is_coupled: bool) -> Agreement:
    """How often both say the same word at one place."""
    return Agreement(
        tuple(both_say(overlap, entry, is_coupled) for entry in overlap.entries), overlap
    )

"""The overlap of two laws at one place: what is kept of a guess, and what is left over.

Leviathan et al. 2023 and Chen et al. 2023: a guess drawn from q is kept with min(1, p/q), so that
the chance of "drawn and kept" is min(p, q), the overlap; a miss draws from max(0, p - q), what is
left over. min(p, q) + max(0, p - q) = p: the two together are the target's own law. Under block
verification (Sun et al., ICLR 2025) p carries a factor P, the running product of the block.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

__all__ = ["OTHERS", "Overlap", "OverlapEntry", "ProofLine"]

OTHERS = "(others)"


@dataclass(frozen=True, slots=True)
class OverlapEntry:
    """One word at one place, or all the words not listed (``token`` None, text OTHERS).

    Args:
        target, draft: the word's odds p and q.
        overlap: min(P p, q), the chance that it is guessed and kept.
        left_over: max(0, P p - q), not yet scaled to 1.
    """

    token: int | None
    text: str
    target: float
    draft: float
    overlap: float
    left_over: float


@dataclass(frozen=True, slots=True)
class ProofLine:
    """How one word comes out: kept + miss x share.

    ``total`` is what drafting yields, ``wanted`` the target's own odds (times P under block).
    """

    token: int | None
    text: str
    kept: float
    miss: float
    share: float
    wanted: float

    @property
    def replaced(self) -> float:
        return self.miss * self.share

    @property
    def total(self) -> float:
        return self.kept + self.replaced


@dataclass(frozen=True, slots=True)
class Overlap:
    """Both laws at one place, word by word, the rest of them under OTHERS.

    Args:
        entries: what is known, OTHERS last.
        scale: P of the block rule, else 1.
        is_exact: False where the listed words did not give the mass left over among the others,
            and the least that is possible stands there.
    """

    entries: tuple[OverlapEntry, ...]
    scale: float = 1.0
    is_exact: bool = True

    @property
    def acceptance(self) -> float:
        """The sum of the overlap: how often a guess drawn here is kept."""
        return sum(entry.overlap for entry in self.entries)

    @property
    def left_over(self) -> float:
        """The sum of what is left over; with P = 1 the chance of a miss."""
        return sum(entry.left_over for entry in self.entries)

    def entry(self, token: int | None) -> OverlapEntry | None:
        """The entry of a token; OTHERS for one that is not listed."""
        rest = None
        for each in self.entries:
            if each.token == token:
                return each
            rest = each if each.token is None else rest
        return rest

    def share(self, entry: OverlapEntry) -> float:
        """A word's part of what is left over, scaled to 1; where nothing is left, p itself."""
        total = self.left_over
        return entry.left_over / total if total > 0 else entry.target

    def proof(self) -> tuple[ProofLine, ...]:
        """kept + miss x share = p, for every entry."""
        miss = self.left_over
        return tuple(
            ProofLine(
                entry.token,
                entry.text,
                entry.overlap,
                miss,
                self.share(entry) if miss > 0 else 0.0,
                self.scale * entry.target,
            )
            for entry in self.entries
        )

    def broken_proof(self) -> tuple[ProofLine, ...]:
        """The same with a miss drawn from p itself: wrong wherever something is left over."""
        return tuple(
            replace(line, share=entry.target)
            for line, entry in zip(self.proof(), self.entries, strict=True)
        )

    def limited(self, count: int, keep: Collection[int] = ()) -> Overlap:
        """At most ``count`` rows, OTHERS among them; ``keep`` names tokens that must stay.

        Words of which most is left over go first, then those with the most overlap.
        """
        if len(self.entries) <= count:
            return self
        listed = [entry for entry in self.entries if entry.token is not None]
        rest = [entry for entry in self.entries if entry.token is None]
        wanted = sorted(listed, key=lambda e: (e.token not in keep, -e.left_over, -e.overlap))
        shown = wanted[: count - 1]
        dropped = wanted[count - 1 :] + rest
        return replace(
            self, entries=(*(entry for entry in listed if entry in shown), _together(dropped))
        )

    def without_dust(self, least: float, keep: Collection[int] = ()) -> Overlap:
        """Words that both laws give less than ``least`` go under OTHERS; nothing is dropped."""
        rows = [
            entry
            for entry in self.entries
            if entry.token is not None
            and (entry.token in keep or max(entry.target, entry.draft) >= least)
        ]
        rest = [entry for entry in self.entries if entry not in rows]
        return replace(self, entries=(*rows, *([_together(rest)] if rest else [])))


def _together(entries: Collection[OverlapEntry]) -> OverlapEntry:
    return OverlapEntry(
        None,
        OTHERS,
        sum(entry.target for entry in entries),
        sum(entry.draft for entry in entries),
        sum(entry.overlap for entry in entries),
        sum(entry.left_over for entry in entries),
    )

"""What the proof screen shows: a law, what was drawn from it, what broke it, the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlx_specdec.lesson.proof import NextWordLaw, ProofDraw, ProofStep, Way

__all__ = ["BREAKS", "ProofView"]

BREAKS: tuple[tuple[str, Way | None, str], ...] = (
    ("1", "redraw", "redraw from the target instead of what is left over"),
    ("2", None, "rewind one token too few"),
    ("3", "unsure", "skip a guess because the draft itself was unsure"),
)
"""Key, way and words; way None needs real rounds."""


@dataclass(frozen=True)
class ProofView:
    """The screen at one moment.

    Args:
        law: whose next word is drawn.
        draws: the last draw of each way.
        way: of the draw that is shown.
        step: how far it is shown, an index into its steps; -1 is the whole.
        rewind: what became of the second break, in words.
        audit: the line about the whole audit.
        note: what is going on, or went wrong.
    """

    law: NextWordLaw
    draws: Mapping[Way, ProofDraw] = field(default_factory=dict)
    way: Way = "exact"
    step: int = -1
    rewind: str = "not tried yet"
    audit: str = ""
    note: str = ""

    @property
    def draw(self) -> ProofDraw | None:
        return self.draws.get(self.way)

    @property
    def shown(self) -> ProofStep | None:
        """The moment of the draw that is shown."""
        return None if self.draw is None else self.draw.steps[self.step]

    @property
    def is_whole(self) -> bool:
        """Whether the draw is shown to its end."""
        return self.draw is not None and self.step in (-1, len(self.draw.steps) - 1)

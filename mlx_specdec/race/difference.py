"""Where two answers part: the first token that differs, and how close the choice was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..events import Emitted

__all__ = ["Difference", "first_difference", "num_equal"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two texts part: token ``index`` (from 0), what each lane has there, and how close
    the standard lane's choice was (the gap between its two best scores)."""

    index: int
    standard: str
    speculative: str
    margin: float


def num_equal(standard: Sequence[Emitted], speculative: Sequence[Emitted]) -> int:
    """How many leading tokens two answers share."""
    count = 0
    for one, other in zip(standard, speculative, strict=False):
        if one.token != other.token:
            break
        count += 1
    return count


def first_difference(
    standard: Sequence[Emitted], speculative: Sequence[Emitted]
) -> Difference | None:
    """Where two answers part, None when they hold the same tokens."""
    index = num_equal(standard, speculative)
    if index == len(standard) == len(speculative):
        return None
    texts = [lane[index].text if index < len(lane) else "" for lane in (standard, speculative)]
    margin = standard[index].margin if index < len(standard) else 0.0
    return Difference(index, texts[0], texts[1], margin)

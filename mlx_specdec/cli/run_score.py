"""The score of a command's forecast of its own run, for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..forecast.prediction import Score

__all__ = ["score_fields"]


def score_fields(item: Score | None) -> dict[str, Any] | None:
    """What was said beside what was measured; None without a forecast."""
    if item is None:
        return None
    said = item.prediction
    return {
        "speedup": said.speedup,
        "measured": item.measured,
        "error": item.error,
        "lookahead": said.lookahead,
        "acceptance": said.acceptance,
        "acceptance_from": said.acceptance_from,
        "prices": said.words,
    }

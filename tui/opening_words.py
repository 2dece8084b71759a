"""How far the models are, in one line."""

from __future__ import annotations

from mlx_specdec.figures import pair_names
from mlx_specdec.memory import bytes_text
from tui.opening import Opening

__all__ = ["opening_words"]


def opening_words(opening: Opening, seconds: float) -> str:
    """What is being loaded or fetched; empty once there is nothing to wait for.

    Args:
        seconds: since the pair was asked for.
    """
    names = pair_names(opening.pair) if opening.pair else "the models"
    size = f", {bytes_text(opening.stored_bytes)}" if opening.stored_bytes else ""
    if opening.phase == "looking":
        return f"looking for {names} on this disk"
    if opening.phase == "loading":
        return f"loading {names}{size}: {max(seconds, 0):.0f} s so far"
    if opening.phase == "asking":
        return f"{names}{size}: not on this disk yet"
    if opening.phase == "downloading":
        return f"downloading {names}{_progress(opening)}"
    if opening.phase == "failed" and opening.failure is not None:
        return f"{names}: {opening.failure.title.lower()}. m chooses other models"
    if opening.phase == "cancelled":
        return "no models loaded: m chooses some"
    return ""


def _progress(opening: Opening) -> str:
    progress = opening.progress
    if progress is None:
        return ""
    if progress.phase == "check":
        return ": checking what has arrived"
    done = f"{bytes_text(progress.bytes_done)} of {bytes_text(progress.bytes_total)}"
    left = progress.seconds_left
    if left is None:
        return f": {done}"
    time_left = f"{left:.0f} s" if left < 90 else f"{left / 60:.0f} minutes"
    return f": {done}, {progress.share:.0%}, about {time_left} left"

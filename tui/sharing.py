"""Sharing a race: both cards beside each other in the folder one stands in, and the line."""

from __future__ import annotations

from pathlib import Path

from mlx_specdec.costs.prices import Prices
from mlx_specdec.errors import SpecdecError
from mlx_specdec.race.recording import Recording
from tui.messages import Notice, ShareLine

__all__ = ["shared_notice"]


def shared_notice(
    recording: Recording, rate: float, prices: Prices | None, folder: Path | None = None
) -> tuple[Notice, ShareLine | None]:
    """Save the cards, and say what was saved and what there is to copy.

    Args:
        rate: race seconds a second of a replay; 1 for a race as it ran.
        folder: where to; None takes the folder one stands in.
    """
    from mlx_specdec.cards.share import save_share

    try:
        shared = save_share(recording, folder or Path.cwd(), rate, prices)
    except SpecdecError as error:
        return Notice(error.title, error.message, error.hint, is_error=True), None
    where = "\n".join(f"  {path}" for path in shared.paths)
    text = f"{shared.words or shared.why_not}\n\nA card, and one that moves:\n{where}"
    hint = "The line is printed when you leave as well." if shared.words else ""
    line = ShareLine(shared.words) if shared.words else None
    return Notice("To share", text, hint), line

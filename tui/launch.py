"""From the command line to the app."""

from __future__ import annotations

from tui.collector import begin_rounds, hold_all_rounds
from tui.opening import AppOpening

__all__ = ["launch"]


def launch(opening: AppOpening) -> int:
    """Run the app until the person leaves; its exit code, as ``run_app`` has it."""
    hold_all_rounds()  # before what the app imports
    try:
        from tui.app import run_app

        return run_app(opening)
    finally:
        begin_rounds()

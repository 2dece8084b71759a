"""What the app leaves for ``mlx-specdec ledger``: the last race that ran here, else a reply."""

from __future__ import annotations

from datetime import UTC, datetime

from mlx_specdec.events import Round
from mlx_specdec.ledger.last_run import remember_run
from mlx_specdec.prompts import Prompt
from mlx_specdec.race.header import race_header
from mlx_specdec.race.recording import Recording
from tui.state import AppState

__all__ = ["remember_last"]


def remember_last(state: AppState, is_replay: bool = False) -> None:
    """Keep the figures of what ran last; no words, and never in the way of leaving.

    Args:
        is_replay: the race was read from a file, so it is not a run of today.
    """
    recording = state.recording
    if recording is not None and not is_replay and not recording.header.retimed:
        remember_run(recording)
        return
    replies = [
        events
        for events in state.replies
        if any(isinstance(event, Round) and event.index > 0 for event in events)
    ]
    if not replies or state.pair is None:
        return
    header = race_header(
        state.pair,
        state.settings,
        Prompt("", "own", ""),
        machine=state.machine,
        power=state.power,
        versions=state.versions,
        date=datetime.now(UTC),
    )
    remember_run(Recording(header, (), tuple(replies[-1])))

"""What the passes of the race on the screen cost, and where that is known from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlx_specdec.race.recording import RecordingHeader
from mlx_specdec.request import COPY
from tui.state import AppState

if TYPE_CHECKING:
    from mlx_specdec.costs.prices import Prices

__all__ = ["is_of_this_machine", "prices_for"]


def prices_for(header: RecordingHeader, state: AppState) -> Prices | None:
    """What is known here where the race is of this machine, else of the machine it names."""
    if state.prices is not None and is_of_this_machine(header, state):
        return state.prices
    from mlx_specdec.race.recorded_prices import known_of

    return known_of(header)


def is_of_this_machine(header: RecordingHeader, state: AppState) -> bool:
    """Whether the app's prices hold for a race: one replayed or re-timed may be of another."""
    if state.pair is None or header.retimed or (header.draft == COPY) != state.pair.copies:
        return False
    return header.target == state.pair.target.alias and header.machine == state.machine

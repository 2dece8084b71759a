"""What the passes of the race on the screen cost, and where that is known from."""

from __future__ import annotations

from dataclasses import dataclass

from mlx_specdec.costs.machines import Chip, chip_of
from mlx_specdec.costs.prices import Prices, known_prices
from mlx_specdec.errors import SpecdecError
from mlx_specdec.race.recording import RecordingHeader
from mlx_specdec.registry import Registry
from tui.state import AppState

__all__ = ["prices_for"]


@dataclass(frozen=True)
class _Machine:
    chip: Chip | None


def prices_for(header: RecordingHeader, state: AppState) -> Prices | None:
    """What is known here where the race is of this machine, else its chip's published figures."""
    pair, is_here = state.pair, header.machine == state.machine and not header.retimed
    if is_here and pair is not None and pair.target.alias == header.target and state.prices:
        return state.prices
    try:
        pair = Registry.load().resolve_pair(header.target, header.draft or "none")
    except SpecdecError:
        return None
    return known_prices(pair, _Machine(chip_of(header.chip)))

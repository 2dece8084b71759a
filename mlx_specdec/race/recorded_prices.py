"""Prices for a run that is read from a file: of the machine that it names, not of this one."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ..costs.machines import Chip, chip_of
from ..costs.prices import Prices, known_prices, run_prices
from ..costs.store import calibration_of
from ..errors import SpecdecError
from ..ledger.account import ModelNames
from ..model_spec import PairSpec
from ..registry import Registry
from .recording import Recording, RecordingHeader

__all__ = ["names_in", "recorded_prices"]


@dataclass(frozen=True, slots=True)
class _Machine:
    chip: Chip | None


def recorded_prices(recording: Recording) -> Prices | None:
    """A calibration of the recording's own machine, else its chip's published figures, else its
    own totals, else None.

    A recording that was re-timed has the prices of the chip it was re-timed for.
    """
    known = _known(recording.header)
    return known or run_prices(recording.standard, recording.speculative)


def _known(header: RecordingHeader) -> Prices | None:
    pair = _pair(header)
    if pair is None:
        return None
    chip = chip_of(header.retimed or header.chip or header.machine)
    calibration = None
    if not header.retimed:
        mlx_version = header.versions.get("mlx", "")
        calibration = calibration_of(pair, header.machine, mlx_version)
    if header.is_toy and calibration is None:
        return None  # the tables are of models a thousand times as large
    return known_prices(pair, _Machine(chip), calibration, time.time())


def _pair(header: RecordingHeader) -> PairSpec | None:
    try:
        return Registry.load().resolve_pair(header.target, header.draft or "none")
    except SpecdecError:
        return None


def names_in(header: RecordingHeader) -> ModelNames:
    """Sizes, where the models have one worth a word."""
    if header.is_toy:
        return ModelNames()
    return ModelNames(header.target_size or "target", header.draft_size or "draft")

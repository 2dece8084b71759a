"""Prices for a run that is read from a file: of the machine that it names, not of this one."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from ..costs.machines import Chip, chip_of
from ..costs.prices import Prices, known_prices, run_prices
from ..costs.store import calibration_of
from ..figures import pair_names
from ..ledger.account import ModelNames
from ..registry import Registry
from ..request import COPY
from .header import pair_of
from .recording import Recording, RecordingHeader
from .retiming import TABLE_PAIR

__all__ = ["known_of", "names_in", "race_prices", "recorded_prices"]


@dataclass(frozen=True, slots=True)
class _Machine:
    chip: Chip | None


def recorded_prices(recording: Recording) -> Prices | None:
    """A calibration of the recording's own machine, else its chip's published figures, else its
    own totals, else None.

    A recording that was re-timed has the prices of the chip it was re-timed for.
    """
    known = known_of(recording.header)
    return known or race_prices(recording)


def race_prices(recording: Recording) -> Prices | None:
    """A race's own totals, without the rounds next to a switch of lanes; None while it has too
    few others."""
    return run_prices(
        recording.standard,
        recording.speculative,
        0.0 if recording.header.draft == COPY else None,
        standard_edges=recording.standard_edges,
        speculative_edges=recording.speculative_edges,
    )


def known_of(header: RecordingHeader) -> Prices | None:
    """What is known of the machine that a header names, without the run itself."""
    pair = pair_of(header)
    if header.retimed and header.is_toy:  # its clock is that of the pair which stands in for it
        pair = Registry.load().resolve_pair(*TABLE_PAIR).as_drafted(header.draft)
    if pair is None:
        return None
    chip = chip_of(header.retimed or header.chip or header.machine)
    calibration = None
    if not header.retimed:
        mlx_version = header.versions.get("mlx", "")
        calibration = calibration_of(pair, header.machine, mlx_version)
    if header.is_toy and calibration is None and not header.retimed:
        return None  # the tables are of models a thousand times as large
    known = known_prices(pair, _Machine(chip), calibration, time.time())
    if known is not None and header.retimed and header.is_toy:
        return replace(known, words=f"{known.words} with {pair_names(pair, ' and ')}")
    return known


def names_in(header: RecordingHeader) -> ModelNames:
    """Sizes, where the models have one worth a word; ``copying`` where no model drafted."""
    target = "" if header.is_toy else header.target_size
    if header.draft == COPY:
        return ModelNames(target or "target", "copying")
    draft = "" if header.is_toy else header.draft_size
    return ModelNames(target or "target", draft or "draft")

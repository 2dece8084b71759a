"""What is known of a pair's prices on this machine without running anything."""

from __future__ import annotations

import time
from dataclasses import replace

from ..downloads.question import Machine
from ..forecast.log import ForecastLog
from ..forecast.prediction import Priced
from ..model_spec import PairSpec
from ..this_machine import machine_label, versions
from .calibration import Calibration, age_words
from .prices import known_prices
from .store import calibration_of, load_calibration, save_calibration

__all__ = ["keep_if_better", "prices_here", "shapes_key"]

CONTEXT = 4096
_DAY = 86400.0


def prices_here(
    pair: PairSpec, machine: Machine, context: int = CONTEXT, log: ForecastLog | None = None
) -> Priced | None:
    """The best that is known: a calibration of this machine, its shapes timed by ``forecast``, the
    published table of its chip; None when there is none of them."""
    calibration = calibration_of(pair, machine_label(), versions()["mlx"])
    if calibration is None:
        kept = (log or ForecastLog()).prices(pair.name, shapes_key(machine))
        if kept is not None:
            return replace(kept, words=f"{kept.words} {age_words(time.time() - kept.at)}")
    return known_prices(pair, machine, calibration, time.time(), context)


def shapes_key(machine: Machine) -> str:
    """What timed shapes hold for: this machine with this MLX."""
    return f"{machine.name}, mlx {versions()['mlx']}"


def keep_if_better(calibration: Calibration) -> bool:
    """Keep a calibration for later, unless it is too wide to decide by or one of the last day is
    better known; whether it was."""
    if not calibration.is_usable:
        return False
    before = load_calibration(calibration.key)
    is_recent = before is not None and calibration.measured_at - before.measured_at < _DAY
    if before is not None and is_recent and calibration.widest_share > before.widest_share:
        return False
    save_calibration(calibration)
    return True

"""Calibration: what was measured of a pair on this machine, how well, and for what it holds."""

from __future__ import annotations

from dataclasses import dataclass

from .pair_costs import PairCosts
from .prices import Prices

__all__ = ["Calibration", "CalibrationKey", "Spread", "age_words"]

_USABLE_SHARE = 0.15
_UNITS = ((86400 * 365, "year"), (86400, "day"), (3600, "h"), (60, "min"))


@dataclass(frozen=True, slots=True)
class CalibrationKey:
    """What a calibration holds for; it is stale when any of it changes.

    ``target`` and ``draft`` name the models with their quantisation as they lie in memory.
    """

    machine: str
    mlx_version: str
    target: str
    draft: str


@dataclass(frozen=True, slots=True)
class Spread:
    """How well one figure is known: its name, seconds, half its interval as a share, repeats."""

    name: str
    seconds: float
    share: float
    num_repeats: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """The measured costs of a pair.

    Args:
        key: for what they hold.
        costs: by context length.
        measured_at: seconds since the epoch.
        stopped: ``interval`` (every figure within the wanted share) or ``time``.
        spreads: of each figure.
        power: the power source then; empty where the system does not say.
    """

    key: CalibrationKey
    costs: PairCosts
    measured_at: float
    stopped: str
    spreads: tuple[Spread, ...] = ()
    power: str = ""

    @property
    def is_usable(self) -> bool:
        """Whether decisions should rest on it: something else may have had the machine."""
        return self.widest_share <= _USABLE_SHARE

    @property
    def widest_share(self) -> float:
        """Half the widest interval, as a share of its figure; 0 when nothing was repeated."""
        return max((spread.share for spread in self.spreads), default=0.0)

    def prices(self, now: float | None = None, context: int = 0) -> Prices:
        """What rounds cost at a context length; ``now`` in seconds since the epoch."""
        moment = self.measured_at if now is None else now
        return Prices(self.costs.at(context), "measured", self.words(moment), self.costs)

    def words(self, now: float) -> str:
        """``passes measured on this machine 4 min ago``; says when its time was too short."""
        words = f"passes measured on this machine {age_words(now - self.measured_at)}"
        if self.stopped != "interval" and self.widest_share > 0:
            words += f" (to {self.widest_share:.0%}: the time was short)"
        return words


def age_words(seconds: float) -> str:
    """``just now``, ``4 min ago``, ``2 h ago``, ``3 days ago``."""
    for size, unit in _UNITS:
        count = int(seconds // size)
        if count >= 1:
            plural = "s" if count > 1 and unit in ("year", "day") else ""
            return f"{count} {unit}{plural} ago"
    return "just now"

"""Playhead: the race clock. Live, paused, slowed, replayed, scrubbed, stepped; pure.

Lanes say how far they have come; the playhead says which race second is shown. It never passes
what both lanes have reached, and while they run it stays a little behind them, so that the slices
in which one device serves two lanes cannot be seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..errors import InvalidRequestError

__all__ = ["SLICE_SECONDS", "Playhead"]

SLICE_SECONDS = 0.25
"""About how long one lane has the device before the other's turn comes."""

_LAG = 2 * SLICE_SECONDS


class Playhead:
    """Which second of the race is shown.

    Args:
        clock: seconds of the wall, any origin.
        rate: race seconds a wall second.
        lag: race seconds behind the lanes below which a running race is shown slower, so that
            it never stands still for want of a slice; a race that is over is shown at ``rate``.
    """

    def __init__(self, clock: Callable[[], float], rate: float = 1.0, *, lag: float = _LAG) -> None:
        self._clock = clock
        self._rate = _checked(rate)
        self._lag = lag
        self._limit = 0.0
        self._is_final = False
        self._is_paused = False
        self._position = 0.0
        self._read_at = clock()

    @property
    def rate(self) -> float:
        return self._rate

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    @property
    def limit(self) -> float:
        """Race seconds that both lanes have reached, as they were fed."""
        return self._limit

    @property
    def is_final(self) -> bool:
        """Whether both lanes are at their end, so that the limit will not move."""
        return self._is_final

    @property
    def is_at_end(self) -> bool:
        """Whether the last second of a finished race is shown."""
        return self._is_final and self.now() >= self._limit

    def feed(self, limit: float, is_final: bool) -> None:
        """Say how far both lanes have come; an earlier limit never takes a later one back."""
        self._advance()
        self._limit = max(self._limit, limit)
        self._is_final = self._is_final or is_final

    def now(self) -> float:
        """The race second to show; never falls while the race runs."""
        self._advance()
        return self._position

    def set_rate(self, rate: float) -> None:
        """Race seconds a wall second, from now on.

        Raises:
            InvalidRequestError: not above 0.
        """
        self._advance()
        self._rate = _checked(rate)

    def pause(self) -> None:
        self._advance()
        self._is_paused = True

    def resume(self) -> None:
        self._advance()
        self._is_paused = False

    def seek(self, at: float) -> None:
        """Show second ``at``, or the nearest that there is; paused or running as before."""
        self._advance()
        self._position = min(max(at, 0.0), self._limit)

    def step(self, to: float) -> None:
        """Pause, and show second ``to``: the end of a round, say (LaneTrack.round_after)."""
        self.pause()
        self.seek(to)

    def _advance(self) -> None:
        read = self._clock()
        elapsed = max(read - self._read_at, 0.0)  # a clock that is set back loses nothing
        self._read_at = read
        if self._is_paused or elapsed == 0.0:
            return
        self._position = min(self._moved(elapsed), self._limit)

    def _moved(self, elapsed: float) -> float:
        """The position after ``elapsed`` wall seconds at an unchanged limit.

        Linear while at least ``lag`` away from a limit that still moves; within it the speed
        falls with the distance d, d' = -rate * d / lag, so d shrinks exponentially.
        """
        if self._is_final or self._lag <= 0:
            return self._position + self._rate * elapsed
        distance = self._limit - self._position
        free = max(distance - self._lag, 0.0) / self._rate  # wall seconds at full speed
        if elapsed <= free:
            return self._position + self._rate * elapsed
        within = min(distance, self._lag)
        left = within * math.exp(-(elapsed - free) * self._rate / self._lag)
        return max(self._position, self._limit - left)


def _checked(rate: float) -> float:
    if not 0 < rate < math.inf:
        raise InvalidRequestError(
            f"A speed of {rate} is not usable.", "Take a number above 0; 1 is true speed."
        )
    return rate

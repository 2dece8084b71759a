"""RoundMeter: what a round took, where that can be said; cost tables are corrected with it."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["RoundMeter"]

_LONGEST_PAUSE = 0.3  # of a round: a reader that takes longer lets the device run dry


class RoundMeter:
    """Seconds from one read to the next in the same loop.

    A round at an edge has none: the first after a switch between the loops, and one that was
    handed to a reader who came back late, or in whose middle the lane stood still.

    Args:
        wall: seconds that run on while a lane's own clock is stopped.
    """

    def __init__(self, wall: Callable[[], float] = time.perf_counter) -> None:
        self._wall = wall
        self._last: float | None = None
        self._left_at = 0.0
        self._away = 0.0
        self._is_pipelined = False
        self._is_unusual = False

    def switch(self, *, is_pipelined: bool = False) -> None:
        """Another loop takes over.

        Args:
            is_pipelined: it queues each pass behind the one before, so that after a pause the
                second round is no usual one either: it had nothing to be queued behind.
        """
        self._last = None
        self._is_pipelined, self._is_unusual = is_pipelined, False

    def read(self, at: float) -> float | None:
        """The host has a round's tokens; ``at`` on the lane's clock. Its seconds, or None."""
        seconds = None if self._last is None else at - self._last
        if seconds is not None and self._away > _LONGEST_PAUSE * seconds:
            seconds, self._is_unusual = None, self._is_pipelined
        elif self._is_unusual:
            seconds, self._is_unusual = None, False
        self._last, self._away = at, 0.0
        return seconds

    def leave(self) -> None:
        """The round is handed out."""
        self._left_at = self._wall()

    def come_back(self) -> None:
        """The reader wants the next."""
        self._away += self._wall() - self._left_at

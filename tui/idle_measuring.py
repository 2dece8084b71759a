"""IdleMeasuring: timing the loaded pair's passes by itself, while nobody wants anything."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Literal

from tui.bridge import Bridge
from tui.measuring import measured_prices
from tui.state import AppState

if TYPE_CHECKING:
    from mlx_specdec.costs.prices import Prices
    from mlx_specdec.session import Session

__all__ = ["QUIET_SECONDS", "IdleMeasuring", "measured_when_idle"]

QUIET_SECONDS = 20.0  # without a key, and with nothing under way
SECONDS = 20.0
LONGEST_STEP = 0.25  # whoever comes back waits for one step at most
_MOST_TRIES = 3  # that came to nothing because something else had the machine
_WORDS = "Timing what passes cost here while it is quiet; any key stops it."

Outcome = Literal["stopped", "unusable"]


class IdleMeasuring:
    """Measures once a pair that was never measured here, when nobody has pressed a key for a while.

    Args:
        say: shows a line.
        tell: tells the screens that something in the state is new.
        clock: seconds.
        is_wanted: False never measures.
    """

    def __init__(
        self,
        state: AppState,
        bridge: Bridge,
        say: Callable[[str], None],
        tell: Callable[[], None],
        clock: Callable[[], float],
        *,
        is_wanted: bool = True,
    ) -> None:
        self._state = state
        self._bridge = bridge
        self._say = say
        self._tell = tell
        self._clock = clock
        self._is_wanted = is_wanted
        self._quiet_since = clock()
        self._pair = state.pair
        self._tries_left = _MOST_TRIES
        self._found: Future[Prices | Outcome] | None = None

    def come_back(self) -> None:
        """Somebody is here: what is under way stops at once, what is finished is taken first."""
        found = self._found
        if found is not None and found.done() and self._state.pair is self._pair:
            self._take(found)
        self._stop()

    def _stop(self) -> None:
        self._quiet_since = self._clock()
        if self._found is not None:
            self._found = None
            self._bridge.stop_idle()

    def look(self, is_moving: bool = False) -> None:
        """Begin if it is quiet, and take what was found; to be called about once a second.

        Args:
            is_moving: something plays on the screen, which measuring would disturb.
        """
        if self._state.pair is not self._pair:
            self._pair, self._tries_left = self._state.pair, _MOST_TRIES
            self._stop()
        if self._found is not None:
            if self._found.done():
                self._take(self._found)
        elif is_moving:
            self._quiet_since = self._clock()
        elif self._may_begin():
            self._found = self._bridge.when_idle(measured_when_idle)
            self._say(_WORDS)

    def _may_begin(self) -> bool:
        state = self._state
        if not (self._is_wanted and self._tries_left and state.is_ready and state.wants_measuring):
            return False
        if not saves_no_power(state.power):
            return False
        if self._clock() - self._quiet_since < QUIET_SECONDS:
            return False
        if not self._bridge.is_quiet:
            self._quiet_since = self._clock()
            return False
        return True

    def _take(self, future: Future[Prices | Outcome]) -> None:
        self._found, self._quiet_since = None, self._clock()
        failed = not future.cancelled() and future.exception() is not None
        found = "stopped" if future.cancelled() else "unusable" if failed else future.result()
        if isinstance(found, str):
            self._tries_left -= found == "unusable"
            return
        self._state.prices, self._state.wants_measuring = found, False
        self._tell()


def saves_no_power(power: str) -> bool:
    """Whether a machine may work for nobody: not on battery, nor in low power mode.

    Args:
        power: see ``this_machine.power_source``; empty where the system does not say.
    """
    return power in ("", "mains")


def measured_when_idle(session: Session, is_cancelled: Callable[[], bool]) -> Prices | Outcome:
    """On the engine's thread: as ``measured_prices``, unless power should be saved by now."""
    from mlx_specdec.forward import Cancelled
    from mlx_specdec.this_machine import power_source

    if not saves_no_power(power_source()):
        return "unusable"
    try:
        prices = measured_prices(session, SECONDS, is_cancelled, LONGEST_STEP)
    except Cancelled:
        return "stopped"
    return "unusable" if prices is None else prices

"""Measuring: timing the loaded pair's passes on the engine's thread, at a key of the ledger."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from mlx_specdec.errors import SpecdecError
from tui.bridge import Bridge
from tui.state import AppState

if TYPE_CHECKING:
    from mlx_specdec.costs.prices import Prices
    from mlx_specdec.session import Session

__all__ = ["SECONDS", "Measuring", "measured_prices"]

SECONDS = 8.0


class Measuring:
    """One measurement at a time; what it finds becomes the app's prices.

    Args:
        run: begins a coroutine, such as ``App.run_worker``.
        say: shows a line.
        tell: tells the screens that something in the state is new.
    """

    def __init__(
        self,
        state: AppState,
        bridge: Bridge,
        run: Callable[[Coroutine[Any, Any, None]], object],
        say: Callable[[str], None],
        tell: Callable[[], None],
    ) -> None:
        self._state = state
        self._bridge = bridge
        self._run = run
        self._say = say
        self._tell = tell
        self._is_running = False

    def start(self) -> None:
        """Begin; races and replies wait until it is over."""
        if self._is_running:
            self._say("The passes are being timed already.")
        elif not self._state.is_ready or self._state.pair is None:
            self._say("The models are not loaded yet.")
        else:
            self._is_running = True
            self._say(f"Timing passes for about {SECONDS:.0f} s; races and replies wait.")
            self._run(self._measure())

    async def _measure(self) -> None:
        pair = self._state.pair
        try:
            prices = await asyncio.wrap_future(self._bridge.conversation_call(measured_prices))
        except SpecdecError as error:
            self._say(str(error))
            return
        finally:
            self._is_running = False
        if prices is None or self._state.pair is not pair:
            self._say("Something else had the machine: nothing was changed. Try m again.")
            return
        self._state.prices, self._state.wants_measuring = prices, False
        self._say("Timed: the ledger shows it now.")
        self._tell()


def measured_prices(
    session: Session,
    seconds: float = SECONDS,
    is_cancelled: Callable[[], bool] = lambda: False,
    longest_step: float = math.inf,
) -> Prices | None:
    """On the engine's thread: time the session's pair, keep it and decide by it from now on.

    None when the result is not good enough to rest a decision on.

    Args:
        is_cancelled, longest_step: see ``measured_calibration``.

    Raises:
        Cancelled: asked for on the way.
    """
    from mlx_specdec.costs.calibrate import measured_calibration
    from mlx_specdec.costs.known_costs import calibration_key
    from mlx_specdec.costs.prices_here import keep_if_better

    key = calibration_key(session.pair, session.kv_bits)
    calibration = measured_calibration(
        session, key, seconds, is_cancelled=is_cancelled, longest_step=longest_step
    )
    if not calibration.is_usable:
        return None
    session.take_costs(calibration.costs)
    keep_if_better(calibration)
    return calibration.prices(time.time(), 0)

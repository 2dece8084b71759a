"""Ctrl-C in a chat: the first stops the reply, a second within two seconds quits."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interrupts"]

WITHIN_SECONDS = 2.0


class Interrupts:
    """Remembers when Ctrl-C was pressed last.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = float("-inf")

    def is_second(self) -> bool:
        """Note a Ctrl-C; whether it came soon enough after another to mean "quit"."""
        now = self._clock()
        soon, self._last = now - self._last <= WITHIN_SECONDS, now
        return soon

    def leave(self) -> None:
        """From now on Ctrl-C does nothing: one more press must not spoil a clean end."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Within it, Ctrl-C calls ``stop``; a second one raises KeyboardInterrupt.

        A handler and no exception for the first one: what the engine has said so far is not torn.
        """

        def on_signal(number: int, frame: FrameType | None) -> None:
            if self.is_second():
                raise KeyboardInterrupt
            stop()

        before = signal.signal(signal.SIGINT, on_signal)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

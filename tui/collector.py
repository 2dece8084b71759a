"""Python's garbage collector, held back where it costs frames: at the start and in a stream."""

from __future__ import annotations

import gc

__all__ = ["begin_rounds", "hold_all_rounds", "hold_full_rounds", "release_full_rounds"]

_NEVER = 1_000_000
_USUAL = gc.get_threshold()


def hold_all_rounds() -> None:
    """For the start: what imports make stays, so a tenth of the time to the first frame would go
    to rounds that find nothing."""
    gc.disable()


def begin_rounds() -> None:
    """The end of the start; what is there by now is not looked at again."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def hold_full_rounds() -> None:
    """Only young objects are looked at from now on."""
    gc.set_threshold(*_USUAL[:2], _NEVER)


def release_full_rounds() -> None:
    """Full rounds again, whenever Python thinks it time."""
    gc.set_threshold(*_USUAL)

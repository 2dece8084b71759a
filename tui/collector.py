"""Python's garbage collector, held back while text streams: a full round outlasts a frame."""

from __future__ import annotations

import gc

__all__ = ["hold_full_rounds", "release_full_rounds"]

_NEVER = 1_000_000
_USUAL = gc.get_threshold()


def hold_full_rounds() -> None:
    """Only young objects are looked at from now on."""
    gc.set_threshold(*_USUAL[:2], _NEVER)


def release_full_rounds() -> None:
    """Full rounds again, whenever Python thinks it time."""
    gc.set_threshold(*_USUAL)

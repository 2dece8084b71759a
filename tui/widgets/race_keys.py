"""The race's last row: the keys that are worth a word, by room and by what is on the screen."""

from __future__ import annotations

__all__ = ["race_keys"]

WIDE_COLUMNS = 100

_WIDE = (
    ("space", "pause"),
    ("enter", "again"),
    ("p", "prompt"),
    ("- +", "lookahead"),
    ("s", "step"),
    ("x", "share"),
    ("?", "all keys"),
    ("q", "quit"),
)
_PARKED = (*_WIDE[:3], ("w", "weights"), ("c", "copying"), ("f", "force"), *_WIDE[5:])
_NARROW_PARKED = (*_PARKED[:4], ("c", "copy"), *_PARKED[5:-2], ("?", ""), ("q", ""))


def race_keys(width: int, is_parked: bool) -> tuple[tuple[str, str], ...]:
    """The keys of a row so wide; a race without guesses has no passes to step into."""
    if width >= WIDE_COLUMNS:
        return _PARKED if is_parked else _WIDE
    return _NARROW_PARKED if is_parked else (*_WIDE[:-2], ("?", "keys"), ("q", ""))

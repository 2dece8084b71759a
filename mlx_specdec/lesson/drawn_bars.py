"""Bars of block characters, for chances."""

from __future__ import annotations

__all__ = ["bar"]


def bar(value: float, per_unit: int) -> str:
    """A bar of whole and half blocks, ``per_unit`` cells for 1; what is not nothing is seen."""
    halves = round(max(value, 0.0) * per_unit * 2)
    text = "█" * (halves // 2) + "▌" * (halves % 2)
    return text or ("▏" if value > 0.001 else "")

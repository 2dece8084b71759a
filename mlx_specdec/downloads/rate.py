"""The rate of the last large download, for the question before the next one."""

from __future__ import annotations

import json
from pathlib import Path

from ..blas import cache_folder
from ..small_file import replace_file

__all__ = ["read_download_rate", "remember_download_rate"]

# Less says more of the connection's beginning than of its rate.
LEAST_BYTES = 20_000_000


def _file() -> Path:
    return cache_folder() / "download-rate.json"


def read_download_rate() -> float | None:
    """Bytes a second; None before the first download."""
    try:
        kept = json.loads(_file().read_text(encoding="utf-8"))
        rate = float(kept["bytes_per_second"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return rate if rate > 0 else None


def remember_download_rate(num_bytes: int, seconds: float) -> None:
    """Keep the rate for the next time; nothing of a small download, or on a read-only disk."""
    if num_bytes < LEAST_BYTES or seconds <= 0:
        return
    text = json.dumps({"schema": 1, "bytes_per_second": num_bytes / seconds})
    replace_file(_file(), text)

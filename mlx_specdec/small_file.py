"""Small files that are replaced as a whole, so that a reader never sees half of one."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: Path, text: str) -> bool:
    """Write ``text`` in the place of what was there; False where the disk does not take it, which
    is no error: what is kept this way is kept for convenience."""
    half = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        half.write_text(text, encoding="utf-8", errors="replace")
        half.replace(path)
    except OSError:
        with contextlib.suppress(OSError):  # what should be its folder may be a file
            half.unlink(missing_ok=True)
        return False
    return True

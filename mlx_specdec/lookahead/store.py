"""What guesses of a pair are usually worth, on the disk: one small file a pair beside the
calibrations, so that a program that answers once need not begin from nothing."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from ..costs.store import calibrations_dir
from ..small_file import replace_file
from .belief import CarriedBelief

__all__ = ["load_usual", "save_usual", "usual_dir"]

SCHEMA = 1


def usual_dir() -> Path:
    """The folder the files lie in."""
    return calibrations_dir().parent / "acceptance"


def save_usual(
    target: str, draft: str, carried: CarriedBelief, folder: Path | None = None
) -> Path | None:
    """Keep it in place of what was kept before; None when there is nothing to keep, or on a
    read-only disk.

    Args:
        target, draft: the models with their quantisation, as in ``CalibrationKey``.
    """
    if not carried:
        return None
    document = {"schema": SCHEMA, "target": target, "draft": draft, "stretches": carried}
    path = _path(target, draft, folder)
    return path if replace_file(path, f"{json.dumps(document)}\n") else None


def load_usual(target: str, draft: str, folder: Path | None = None) -> CarriedBelief:
    """What was kept of exactly this pair; empty when there is none, or none that can be read."""
    try:
        document = json.loads(_path(target, draft, folder).read_text(encoding="utf-8"))
        if (document["schema"], document["target"], document["draft"]) != (SCHEMA, target, draft):
            return ()
        return tuple((float(chance), float(weight)) for chance, weight in document["stretches"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return ()  # damaged, or of another version: it is learned again


def _path(target: str, draft: str, folder: Path | None) -> Path:
    digest = hashlib.blake2b(json.dumps([target, draft]).encode(), digest_size=12).hexdigest()
    return (folder or usual_dir()) / f"{digest}.json"

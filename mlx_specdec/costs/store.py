"""Calibrations on the disk: one small file each in the user's cache folder, stale when anything
that they hold for has changed."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import SpecdecError
from ..ledger.latency import LatencyModel
from ..model_spec import PairSpec
from ..small_file import replace_file
from .calibration import Calibration, CalibrationKey, Spread
from .pair_costs import PairCosts

__all__ = [
    "calibration_of",
    "calibrations_dir",
    "load_calibration",
    "save_calibration",
    "stored_calibrations",
]

SCHEMA = 1


def calibrations_dir(environ: Mapping[str, str] | None = None) -> Path:
    """The folder they lie in: of the system's caches, or XDG_CACHE_HOME."""
    env = os.environ if environ is None else environ
    base = env.get("XDG_CACHE_HOME", "")
    if base:
        root = Path(base)
    elif platform.system() == "Darwin":
        root = Path.home() / "Library" / "Caches"
    else:
        root = Path.home() / ".cache"
    return root / "mlx-specdec" / "calibrations"


def save_calibration(calibration: Calibration, folder: Path | None = None) -> Path | None:
    """Keep it, in place of an earlier one for the same key; None on a read-only disk."""
    path = _path(calibration.key, folder)
    text = json.dumps(_document(calibration), indent=1)
    return path if replace_file(path, f"{text}\n") else None


def load_calibration(key: CalibrationKey, folder: Path | None = None) -> Calibration | None:
    """The calibration for exactly this key; None when there is none, or none that can be read."""
    found = _read(_path(key, folder))
    return found if found is not None and found.key == key else None


def calibration_of(
    pair: PairSpec, machine: str, mlx_version: str, folder: Path | None = None
) -> Calibration | None:
    """The newest one of a pair that is not loaded, by its models' short names; None if none fits,
    or none is known well enough to decide by.

    Whether the weights are still the same only ``load_calibration`` can say.
    """
    names = [spec.alias if spec is not None else "" for spec in (pair.target, pair.draft)]
    for found in stored_calibrations(folder):
        key = found.key
        models = [text.partition(" (")[0] for text in (key.target, key.draft)]
        is_its = (key.machine, key.mlx_version, models) == (machine, mlx_version, names)
        if is_its and found.is_usable:
            return found
    return None


def stored_calibrations(folder: Path | None = None) -> list[Calibration]:
    """All that can be read, the newest first; what they hold for is in their keys."""
    paths = sorted((folder or calibrations_dir()).glob("*.json"))
    found = [calibration for path in paths if (calibration := _read(path)) is not None]
    return sorted(found, key=lambda each: -each.measured_at)


def _path(key: CalibrationKey, folder: Path | None) -> Path:
    digest = hashlib.blake2b(json.dumps(asdict(key)).encode(), digest_size=12).hexdigest()
    return (folder or calibrations_dir()) / f"{digest}.json"


def _document(calibration: Calibration) -> dict[str, Any]:
    costs = calibration.costs
    return {
        "schema": SCHEMA,
        "key": asdict(calibration.key),
        "measured_at": calibration.measured_at,
        "stopped": calibration.stopped,
        "power": calibration.power,
        "draft_prefill_seconds": costs.draft_prefill_seconds,
        "target_prefill_seconds": costs.target_prefill_seconds,
        "draft_catch_up_seconds": costs.draft_catch_up_seconds,
        "by_context": [
            {
                "context": context,
                "seconds_by_rows": model.seconds_by_rows,
                "draft_seconds": model.draft_seconds(1),
                "overhead_seconds": model.overhead_seconds,
            }
            for context, model in costs.by_context
        ],
        "spreads": [asdict(spread) for spread in calibration.spreads],
    }


def _read(path: Path) -> Calibration | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return _calibration(document) if document["schema"] == SCHEMA else None
    except (
        *(OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError),
        SpecdecError,
    ):
        return None  # damaged, or of another version: it is measured again


def _calibration(document: dict[str, Any]) -> Calibration:
    entries = tuple(
        (
            int(entry["context"]),
            LatencyModel.measured(
                [(int(rows), float(seconds)) for rows, seconds in entry["seconds_by_rows"]],
                float(entry["draft_seconds"]),
                float(entry["overhead_seconds"]),
            ),
        )
        for entry in document["by_context"]
    )
    catch_up = document.get("draft_catch_up_seconds")  # earlier versions did not keep it
    costs = PairCosts(
        entries,
        float(document["draft_prefill_seconds"]),
        float(document["target_prefill_seconds"]),
        None if catch_up is None else float(catch_up),
    )
    return Calibration(
        CalibrationKey(**document["key"]),
        costs,
        float(document["measured_at"]),
        str(document["stopped"]),
        tuple(Spread(**spread) for spread in document["spreads"]),
        str(document["power"]),
    )

"""Weight files of a folder: which must be there, and is each as long as its header says?"""

from __future__ import annotations

import json
import re
from pathlib import Path

__all__ = ["fault_of", "missing_weight_files", "weight_files"]

INDEX = "model.safetensors.index.json"
_PART = re.compile(r"(.*-)(\d+)-of-(\d+)\.safetensors")
_MAX_HEADER = 100_000_000


def weight_files(folder: Path) -> set[str]:
    """Names of the weight files that a complete folder has.

    From the index when there is one (its own name when it cannot be read), else from the
    numbering of the parts that are there, else the usual single file.
    """
    index = folder / INDEX
    if index.is_file():
        try:
            shards = json.loads(index.read_bytes()).get("weight_map")
        except (ValueError, AttributeError):
            shards = None
        return {str(name) for name in shards.values()} if isinstance(shards, dict) else {INDEX}
    names = {file.name for file in folder.glob("model*.safetensors") if file.is_file()}
    for name in list(names):
        part = _PART.fullmatch(name)
        if part:
            width = len(part[2])
            numbers = range(1, int(part[3]) + 1)
            names |= {f"{part[1]}{i:0{width}d}-of-{part[3]}.safetensors" for i in numbers}
    return names or {"model.safetensors"}


def missing_weight_files(folder: Path) -> list[str]:
    """Those of ``weight_files`` that are not there; a dangling link is not."""
    return sorted(
        name for name in weight_files(folder) if name == INDEX or not (folder / name).is_file()
    )


def fault_of(file: Path) -> str:
    """What is wrong with a safetensors file, in words; empty when its length is as promised.

    Only the header is read, whatever the size.
    """
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = stream.read(length) if 2 <= length <= min(_MAX_HEADER, size - 8) else b""
    try:
        entries = json.loads(header)
        ends = [entry["data_offsets"][1] for key, entry in entries.items() if key != "__metadata__"]
        promised = 8 + length + max(ends, default=0)
    except (ValueError, LookupError, TypeError, AttributeError):
        return "damaged: it has no safetensors header"
    if size < promised:
        return f"cut short: {size:,} of {promised:,} bytes"
    return "damaged: it is longer than its header says" if size > promised else ""

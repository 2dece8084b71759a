"""Where a model is on this disk, and whether all of it is there. No network, ever.

Looked at, in this order: the package itself, a folder the user named, the Hugging Face cache
(HF_HOME and HF_HUB_CACHE honoured), the folders of LM Studio. A complete model is preferred to a
half one wherever it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .model_spec import ModelSpec
from .registry import builtin_folder
from .weight_files import fault_of, missing_weight_files, weight_files

__all__ = [
    "Found",
    "Origin",
    "Quantisation",
    "hub_cache_folder",
    "inspect_folder",
    "lm_studio_folders",
    "lm_studio_models",
    "locate",
    "locate_all",
]

Origin = Literal["built-in", "folder", "Hugging Face cache", "LM Studio"]

_LM_STUDIO_VARIABLE = "MLX_SPECDEC_LMSTUDIO_DIR"
# Each line is a set of files that is a tokenizer on its own.
_TOKENIZERS = (("tokenizer.json",), ("tokenizer.model",), ("vocab.json", "merges.txt"))


@dataclass(frozen=True, slots=True)
class Quantisation:
    """How weights are stored: ``bits`` each, in groups of ``group_size``."""

    bits: int
    group_size: int
    mode: str = "affine"


@dataclass(frozen=True, slots=True)
class Found:
    """A model's folder on this disk.

    Args:
        path: the folder with config.json.
        origin: where we found it, in the words that are shown.
        complete: nothing that loading needs is missing or cut short.
        bytes_on_disk: of the folder's files; what an unfinished download holds is not counted.
        missing: names of files that are not there or are cut short.
        quantisation: from config.json; None when the weights are not quantised.
        model_type: from config.json; empty when there is none.
    """

    path: Path
    origin: Origin
    complete: bool
    bytes_on_disk: int
    missing: tuple[str, ...]
    quantisation: Quantisation | None
    model_type: str


def locate(spec: ModelSpec) -> Found | None:
    """The best place: complete before incomplete, then in the order above; None when nowhere."""
    return next(iter(locate_all(spec)), None)


def locate_all(spec: ModelSpec) -> list[Found]:
    """Every place where the model, or a part of it, is; the best one first."""
    if spec.built_in:
        found = [inspect_folder(builtin_folder(spec.built_in), "built-in")]
    elif spec.path is not None:
        found = [inspect_folder(spec.path, "folder")]
    else:
        cached = [inspect_folder(path, "Hugging Face cache") for path in _snapshots(spec.repo)]
        folders = [folder.joinpath(*spec.repo.split("/")) for folder in lm_studio_folders()]
        studio = [inspect_folder(path, "LM Studio") for path in folders if path.is_dir()]
        found = cached + studio
    return sorted((f for f in found if f.path.is_dir()), key=lambda f: not f.complete)


def hub_cache_folder(repo: str) -> Path:
    """The folder of a repository in the Hugging Face cache; it need not exist."""
    from huggingface_hub import constants

    name = constants.REPO_ID_SEPARATOR.join(["models", *repo.split("/")])
    return Path(constants.HF_HUB_CACHE) / name


def _snapshots(repo: str) -> list[Path]:
    """The snapshots of a repository: the one that ``main`` names first, then newest first."""
    folder = hub_cache_folder(repo)
    try:
        main = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        main = ""
    try:
        paths = [path for path in (folder / "snapshots").iterdir() if path.is_dir()]
    except OSError:
        return []
    return sorted(paths, key=lambda path: (path.name != main, -path.stat().st_mtime))


def lm_studio_folders() -> list[Path]:
    """LM Studio's model folders on this machine: PUBLISHER/MODEL is below each."""
    override = os.environ.get(_LM_STUDIO_VARIABLE)
    if override is not None:
        candidates = [Path(override)] if override else []
    else:
        home = Path.home()
        candidates = [home / ".lmstudio" / "models", home / ".cache" / "lm-studio" / "models"]
        try:
            moved = (home / ".lmstudio-home-pointer").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            moved = ""
        if moved:
            candidates.insert(0, Path(moved).expanduser() / "models")
    unique = dict.fromkeys(candidate.expanduser() for candidate in candidates)
    return [folder for folder in unique if folder.is_dir()]


def lm_studio_models() -> Iterator[tuple[str, Found]]:
    """Each model in LM Studio's folders that we could load, as PUBLISHER/MODEL (no GGUF)."""
    seen = set()
    for folder in lm_studio_folders():
        for config in sorted(folder.glob("*/*/config.json")):
            name = "/".join(config.parent.parts[-2:])
            found = inspect_folder(config.parent, "LM Studio")
            if found.complete and name not in seen:
                seen.add(name)
                yield name, found


def inspect_folder(path: Path, origin: Origin = "folder") -> Found:
    """Look at a folder: is everything there, and as long as it says it is?

    Each safetensors file is held against its own header, which finds a download that was cut
    short; the weights themselves are not read.
    """
    names = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    present = {name for name in names if (path / name).is_file()}  # a dangling link is not there
    config = _read_json(path / "config.json") if "config.json" in present else None
    missing = [] if config is not None else ["config.json"]
    if not any(set(group) <= present for group in _TOKENIZERS) and not any(
        name.endswith(".tiktoken") for name in present
    ):
        missing.append("tokenizer.json")
    absent = missing_weight_files(path)
    there = sorted(weight_files(path) - set(absent))
    missing += [*absent, *(name for name in there if fault_of(path / name))]
    return Found(
        path=path,
        origin=origin,
        complete=not missing,
        bytes_on_disk=sum((path / name).stat().st_size for name in present),
        missing=tuple(missing),
        quantisation=_quantisation(config or {}),
        model_type=str((config or {}).get("model_type", "")),
    )


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _quantisation(config: dict[str, Any]) -> Quantisation | None:
    details = config.get("quantization") or config.get("quantization_config")
    if not isinstance(details, dict) or not isinstance(details.get("bits"), int):
        return None
    group = details.get("group_size")
    size = group if isinstance(group, int) else 0
    return Quantisation(details["bits"], size, str(details.get("mode", "affine")))

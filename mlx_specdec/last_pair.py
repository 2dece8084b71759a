"""The pair a person talked with last: one small file beside the user's own settings."""

from __future__ import annotations

import json
from pathlib import Path

from .model_spec import ModelSpec, PairSpec
from .registry import config_dir
from .small_file import replace_file

__all__ = ["read_last_pair", "remember_pair", "spec_name"]


def _file() -> Path:
    return config_dir() / "last-pair.json"


def read_last_pair() -> tuple[str, str] | None:
    """Names of the target and the draft (or ``none``); None when nothing usable is kept."""
    try:
        kept = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(kept, dict):
        return None
    names = kept.get("target"), kept.get("draft")
    if not all(isinstance(name, str) and name for name in names):
        return None
    return str(names[0]), str(names[1])


def remember_pair(pair: PairSpec) -> None:
    """Keep the pair for the next time; a toy is not kept, nor is anything on a read-only disk."""
    if pair.target.built_in:
        return
    draft = spec_name(pair.draft) if pair.draft is not None else "none"
    text = json.dumps({"schema": 1, "target": spec_name(pair.target), "draft": draft}, indent=2)
    replace_file(_file(), f"{text}\n")


def spec_name(spec: ModelSpec) -> str:
    """A model as ``--target`` and ``--draft`` take it: the folder, else the alias."""
    return str(spec.path) if spec.path is not None and not spec.repo else spec.alias

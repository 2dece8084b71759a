"""The pair a person talked with last: one small file beside the user's own settings."""

from __future__ import annotations

import json
from pathlib import Path

from .model_spec import ModelSpec, PairSpec
from .registry import config_dir
from .request import COPY
from .small_file import replace_file

__all__ = ["draft_name", "read_last_pair", "remember_pair", "spec_name"]


def _file() -> Path:
    return config_dir() / "last-pair.json"


def read_last_pair() -> tuple[str, str] | None:
    """Names of the target and the draft (``copy`` and ``none`` are two); None when nothing is kept
    that can be used."""
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
    kept = {"schema": 1, "target": spec_name(pair.target), "draft": draft_name(pair)}
    text = json.dumps(kept, indent=2)
    replace_file(_file(), f"{text}\n")


def spec_name(spec: ModelSpec) -> str:
    """A model as ``--target`` and ``--draft`` take it: the folder, else the alias."""
    return str(spec.path) if spec.path is not None and not spec.repo else spec.alias


def draft_name(pair: PairSpec) -> str:
    """What drafts, as ``--draft`` takes it: a model, ``copy`` or ``none``."""
    if pair.copies:
        return COPY
    return spec_name(pair.draft) if pair.draft is not None else "none"

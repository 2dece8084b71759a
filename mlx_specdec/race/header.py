"""The header of a race: what its figures depend on, from the pair and the settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..errors import SpecdecError
from ..figures import pair_label
from ..model_spec import ModelSpec, PairSpec
from ..prompts import Prompt
from ..request import COPY
from ..settings import Settings
from .recording import RecordingHeader

__all__ = ["header_names", "pair_of", "race_header", "share_name", "size_word"]

_SIZE_IN_NAME = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?![a-z])")


def size_word(spec: ModelSpec) -> str:
    """``14B``, ``0.6B``, ``10M``: the size in a model's name, else of its parameters, else ""."""
    found = _SIZE_IN_NAME.search(f"{spec.alias} {spec.repo}".lower())
    if found:
        return f"{found[1]}B"
    if not spec.params:
        return ""
    return f"{spec.params / 1e9:.2g}B" if spec.params >= 1e9 else f"{spec.params / 1e6:.3g}M"


def header_names(header: RecordingHeader) -> str:
    """Both models in short: ``qwen3-14b + qwen3-0.6b``; of a folder its own name, not its path."""
    names = (name.rstrip("/").rpartition("/")[2] for name in (header.target, header.draft))
    return " + ".join(name for name in names if name)


def pair_of(header: RecordingHeader) -> PairSpec | None:
    """The pair that a header names, as far as it is known here."""
    from ..registry import Registry  # reads the list of models, which a first frame does without

    try:
        return Registry.load().resolve_pair(header.target, header.draft or "none")
    except SpecdecError:
        return None


def share_name(header: RecordingHeader) -> str:
    """The pair as a shared line names it: ``Qwen3-14B-4bit + 0.6B``; by the header's own names
    where the models are not known here. A toy pair says so."""
    pair = pair_of(header)
    if pair is not None:
        return pair_label(pair)
    names = header_names(header)
    return f"toy pair {names}" if header.is_toy else names


def race_header(
    pair: PairSpec,
    settings: Settings,
    prompt: Prompt,
    *,
    machine: str = "",
    power: str = "",
    versions: Mapping[str, str] | None = None,
    date: datetime | None = None,
) -> RecordingHeader:
    """Where and how a race is run.

    Args:
        machine, power, versions: as in ``this_machine``; empty where they are not known.
        date: when; None leaves it out.
    """
    from ..costs.machines import chip_of

    pair = pair.as_drafted(settings.draft)
    target, draft = pair.target, pair.draft
    chip = chip_of(machine)
    facts: dict[str, Any] = {
        "draft_size": size_word(draft) if draft is not None else "",
        "quantization": f"{target.bits}-bit" if 0 < target.bits < 16 else "",
        "machine": machine,
        "chip": chip.name if chip is not None else "",
        "power": power,
        "versions": dict(versions or {}),
        "date": date.isoformat(timespec="seconds") if date is not None else "",
    }
    return RecordingHeader(
        target=target.alias,
        draft=COPY if pair.copies else draft.alias if draft is not None else "",
        target_size=size_word(target),
        prompt_id=prompt.id,
        prompt=prompt.text,
        temperature=settings.sampling.temperature,
        rule=settings.rule,
        lookahead=str(settings.lookahead) if settings.draft else "0",
        seed=settings.seed,
        max_tokens=settings.max_tokens,
        is_toy=bool(target.built_in),
        **facts,
    )

"""``mlx-specdec models``: the known models, and which of them are on this disk."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ..errors import BackendMissingError
from ..forecast.outlook import Outlook, outlook_of, pays_words, source_lines
from ..locate import Found, lm_studio_models, locate
from ..memory import MemoryNeed, bytes_text, fits, gpu_limit_bytes, physical_memory_bytes
from ..model_spec import ModelSpec, PairSpec
from ..registry import Registry

__all__ = ["add_arguments", "run"]

CONTEXT = 4096
_SHORT_ORIGINS = {"Hugging Face cache": "hub cache"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``models``."""
    parser.add_argument(
        "--fits",
        action="store_true",
        help="only what fits this machine's memory with its draft and 4k tokens of context",
    )
    parser.add_argument("--on-disk", action="store_true", help="only what is on this disk")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """List the models on standard output; 0."""
    registry = Registry.load()
    limit = gpu_limit_bytes(physical_memory_bytes())
    pays = _pays_here(registry, limit)
    rows = []
    for spec in registry:
        found = locate(spec)
        draft = registry.models.get(spec.default_draft)
        need = fits(spec, draft, min(CONTEXT, spec.context_length or CONTEXT), limit)
        if (args.fits and not need.can_run) or (args.on_disk and found is None):
            continue
        rows.append((spec, found, need))
    known = {spec.repo.lower() for spec in registry}
    others = [(name, found) for name, found in lm_studio_models() if name.lower() not in known]
    if args.json:
        document = {
            "schema": 1,
            "memory_limit_bytes": limit,
            "models": [_fields(*row, pays.get(row[0].alias)) for row in rows],
            "others": [_found_fields(found) | {"repo": name} for name, found in others],
        }
        json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
    else:
        sys.stdout.write("\n".join(_table(rows, others, pays)) + "\n")
    return 0


def _pays_here(registry: Registry, limit: int) -> dict[str, Outlook]:
    """By target: what is known of it with its usual draft; nothing where MLX is missing."""
    try:
        from ..costs.prices_here import prices_here
        from ..this_machine import this_machine

        machine = this_machine()
    except BackendMissingError:
        return {}
    found = {}
    for spec in registry:
        draft = registry.models.get(spec.default_draft)
        pair = PairSpec(spec, draft)
        if draft is None or (prices := prices_here(pair, machine)) is None:
            continue
        if not spec.built_in or prices.source != "published":  # a chip's table knows no toys
            found[spec.alias] = outlook_of(pair, limit, prices)
    return found


def _table(
    rows: list[tuple[ModelSpec, Found | None, MemoryNeed]],
    others: list[tuple[str, Found]],
    pays: dict[str, Outlook],
) -> list[str]:
    cells = [("NAME", "SIZE", "WEIGHTS", "DRAFT", "PAYS HERE?", "ON DISK")]
    for spec, found, _ in rows:
        size = found.bytes_on_disk if found and found.complete else spec.weight_bytes
        draft = spec.default_draft or "-"
        cells.append(
            (
                spec.alias,
                bytes_text(size) if size else "?",
                _bits(spec, found),
                draft,
                pays_words(pays[spec.alias]) if spec.alias in pays else "",
                _where(found),
            )
        )
    for name, found in others:
        bits = f"{found.quantisation.bits}-bit" if found.quantisation else "16-bit"
        cells.append((name, bytes_text(found.bytes_on_disk), bits, "-", "", _where(found)))
    if len(cells) == 1:
        return ["None of the known models does. Without options, `models` lists them all."]
    widths = [max(len(row[column]) for row in cells) for column in range(5)]
    lines = []
    for row in cells:
        left = f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:<{widths[2]}}"
        right = f"{row[3]:<{widths[3]}}  {row[4]:<{widths[4]}}  {row[5]}"
        lines.append(f"{left}  {right}".rstrip())
    sources = source_lines(pays.values())
    if sources:
        lines += ["", *sources]
    return lines


def _bits(spec: ModelSpec, found: Found | None) -> str:
    if found is not None and found.complete:
        return f"{found.quantisation.bits}-bit" if found.quantisation else "16-bit"
    return f"{spec.bits}-bit" if spec.bits else "?"


def _where(found: Found | None) -> str:
    if found is None:
        return "-"
    origin = _SHORT_ORIGINS.get(found.origin, found.origin)
    return origin if found.complete else f"{origin}, incomplete"


def _found_fields(found: Found) -> dict[str, Any]:
    how = found.quantisation
    return {
        "origin": found.origin,
        "path": str(found.path),
        "complete": found.complete,
        "bytes_on_disk": found.bytes_on_disk,
        "missing": list(found.missing),
        "quantization": {"bits": how.bits, "group_size": how.group_size} if how else None,
    }


def _fields(
    spec: ModelSpec, found: Found | None, need: MemoryNeed, outlook: Outlook | None
) -> dict[str, Any]:
    return {
        "name": spec.alias,
        "repo": spec.repo,
        "kind": spec.kind,
        "params": spec.params,
        "active_params": spec.active_params,
        "weight_bytes": spec.weight_bytes,
        "bits": spec.bits,
        "group_size": spec.group_size,
        "context_length": spec.context_length,
        "default_draft": spec.default_draft or None,
        "notes": spec.notes,
        "memory_bytes": need.total_bytes,
        "fits": need.verdict,
        "pays_here": None
        if outlook is None
        else {
            "speedup": outlook.speedup,
            "lookahead": outlook.lookahead,
            "plain_tokens_per_second": outlook.plain_tokens_per_second,
            "source": outlook.source,
        },
        "on_disk": _found_fields(found) if found is not None else None,
    }

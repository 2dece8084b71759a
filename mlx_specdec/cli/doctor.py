"""``mlx-specdec doctor``: health in two seconds; with a target the same as ``forecast``."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from . import forecast as forecast_command
from .report import SCHEMA, print_json
from .terminal import Terminal

if TYPE_CHECKING:
    from ..doctor import Check, Findings
    from ..forecast.outlook import Outlook
    from ..registry import Registry

__all__ = ["add_arguments", "run"]

WIDTH = 80
_NAMES = 10
_INDENT = _NAMES + 8
_MARKS = {"ok": "ok", "note": "note", "broken": "BROKEN"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``doctor``."""
    add = parser.add_argument
    add("target", metavar="TARGET", nargs="?", help="its forecast instead, as of `forecast`")
    add("draft", metavar="DRAFT", nargs="?", help="its draft (default: the target's own; none)")
    add("--json", action="store_true", help="print JSON")
    group = parser.add_argument_group("with a target")
    forecast_command.add_forecast_options(group, with_json=False)


def run(args: argparse.Namespace) -> int:
    """Print the state of this machine; 1 when something is broken, each with its fix, else 0.

    Raises:
        SpecdecError: with a target, as ``forecast``.
    """
    if args.target is not None or args.history:
        return forecast_command.run(args)
    from ..doctor import checks, is_broken
    from ..doctor_probes import examine

    terminal = Terminal.of(args)
    found, registry = examine()
    results = checks(found)
    pairs = _pairs(found, registry) if registry is not None and found.backend else []
    if args.json:
        print_json(terminal, _document(found, results, pairs))
    else:
        _show(terminal, results, pairs)
    return 1 if is_broken(results) else 0


def _pairs(found: Findings, registry: Registry) -> list[Outlook]:
    from ..costs.prices_here import prices_here
    from ..forecast.outlook import outlooks
    from ..this_machine import can_run, this_machine

    machine = this_machine()
    return outlooks(
        registry,
        found.limit_bytes,
        lambda pair: prices_here(pair, machine),
        can_run,
        found.memory_bytes if found.backend == "cpu" else 0,
    )


def _show(terminal: Terminal, results: list[Check], pairs: list[Outlook]) -> None:
    from ..forecast.outlook import outlook_rows

    for check in results:
        words = _wrapped(check.words, WIDTH - _INDENT) or [""]
        head = f" {check.name:<{_NAMES}}{_MARKS[check.state]:<7}{words[0]}"
        terminal.line(head, "bold" if check.state == "broken" else "")
        for line in words[1:]:
            terminal.line(f"{'':{_INDENT}}{line}")
        for number, line in enumerate(_wrapped(check.fix, WIDTH - _INDENT - 2)):
            terminal.line(f"{'':{_INDENT}}{'  ' if number else '→ '}{line}")
    if pairs:
        terminal.line()
        for line in outlook_rows(pairs):
            terminal.line(line, "dim" if line.startswith(" pair") else "")
    terminal.line()
    broken = [check.name for check in results if check.state == "broken"]
    if broken:
        things = f"{len(broken)} thing{'s' * (len(broken) > 1)} to mend"
        terminal.line(f" {things}: {', '.join(broken)}.", "bold")
    else:
        terminal.line(" All is well.")


def _wrapped(text: str, width: int) -> list[str]:
    """Lines; a path stays whole, to be copied, even where it is longer than one."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _document(found: Findings, results: list[Check], pairs: list[Outlook]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "healthy": all(check.state != "broken" for check in results),
        "checks": [asdict(check) for check in results],
        "machine": {
            "system": found.system,
            "system_version": found.system_version,
            "device": found.device,
            "backend": found.backend or None,
            "gpu_generation": found.gpu_generation,
            "memory_bytes": found.memory_bytes,
            "limit_bytes": found.limit_bytes,
            "power": found.power or None,
            "versions": found.versions,
        },
        "models": [asdict(model) for model in found.models],
        "pairs": [
            {
                "target": item.pair.target.alias,
                "draft": item.pair.draft.alias if item.pair.draft else None,
                "memory_bytes": item.need.total_bytes,
                "fits": item.need.verdict,
                "plain_tokens_per_second": item.plain_tokens_per_second,
                "speedup": item.speedup,
                "lookahead": item.lookahead,
                "source": item.source or None,
            }
            for item in pairs
        ],
    }

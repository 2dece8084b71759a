"""What ``demo`` prints: sentences, both texts, figures, and the line to share; or JSON."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..prompts import Prompt
from ..settings import Settings
from .report import SCHEMA, lane_fields, model_fields, settings_fields
from .terminal import Terminal

if TYPE_CHECKING:
    from ..demo import DemoResult, Lane
    from ..demo_words import Circumstances
    from ..events import Emitted
    from ..loaded import Pair

__all__ = ["demo_document", "show_demo"]

WIDTH = 80


def show_demo(
    terminal: Terminal,
    result: DemoResult,
    settings: Settings,
    prompt: Prompt,
    where: Circumstances,
) -> None:
    """Print the whole result as text."""
    from ..demo_words import headline, result_lines, share_line

    for line in headline(result, settings, where.is_toy):
        terminal.line(textwrap.fill(line, WIDTH), "bold")
    terminal.line()
    first, *rest = prompt.text.splitlines()
    terminal.line(textwrap.indent("\n".join([f"› {first}", *(f"  {x}" for x in rest)]), " "), "dim")
    terminal.line()
    if result.identical:
        _text(terminal, f"both lanes{_legend(terminal)}", result.speculative)
    else:
        _text(terminal, "standard", result.standard)
        _text(terminal, f"speculative{_legend(terminal)}", result.speculative)
    for line in result_lines(result, settings, where.runs):
        terminal.line(line)
    shared = share_line(result, settings, where)
    terminal.line()
    terminal.line(shared or "No line to share: it takes an answer of at least 100 tokens.")


def _legend(terminal: Terminal) -> str:
    if terminal.paints_colours:
        return ", green = drafted and kept"
    return ", underlined = written by the target itself" if terminal.paints else ""


def _text(terminal: Terminal, title: str, lane: Lane) -> None:
    terminal.line(f"── {title} " + "─" * max(0, WIDTH - len(title) - 4), "dim")
    for style, tokens in groupby(lane.emitted, lambda token: _style(terminal, token)):
        terminal.write("".join(token.text for token in tokens), style)
    shown = sum(len(token.text) for token in lane.emitted)
    terminal.write(lane.text[shown:])
    terminal.write("\n" if lane.text.endswith("\n") else "\n\n")


def _style(terminal: Terminal, token: Emitted) -> str:
    drafted = token.kind in ("accepted", "copied")
    if terminal.paints_colours:
        return "green" if drafted else ""
    return "" if drafted else "underline"


def demo_document(
    result: DemoResult, settings: Settings, prompt: Prompt, where: Circumstances, pair: Pair
) -> dict[str, Any]:
    """The whole result for JSON."""
    from .. import __version__
    from ..demo_words import share_line

    found = result.difference
    return {
        "schema": SCHEMA,
        "version": __version__,
        "models": model_fields(where.pair, pair),
        "machine": where.machine,
        "power": where.power or None,
        "mlx": where.mlx_version,
        "toy": where.is_toy,
        "prompt": {"id": prompt.id or None, "text": prompt.text},
        "settings": settings_fields(settings),
        "runs": where.runs,
        "standard": lane_fields(result.standard),
        "speculative": lane_fields(result.speculative),
        "speedup": result.speedup,
        "end_to_end_speedup": result.end_to_end_speedup,
        "speedups": list(result.speedups),
        "identical": result.identical,
        "difference": None
        if found is None
        else {
            "index": found.index,
            "standard": found.standard,
            "speculative": found.speculative,
            "margin": found.margin,
        },
        "share": share_line(result, settings, where) or None,
    }

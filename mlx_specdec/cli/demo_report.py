"""What ``demo`` prints: sentences, both texts, figures, and the line to share; or JSON."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from ..prompts import Prompt
from ..settings import Settings
from .lane_text import show_prompt, show_texts
from .race_report import race_lines
from .report import SCHEMA, lane_fields, model_fields, settings_fields
from .run_score import score_fields
from .terminal import Terminal

if TYPE_CHECKING:
    from ..loaded import Pair
    from ..race.demo_result import DemoResult
    from ..race.demo_words import Circumstances

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
    from ..race.demo_words import forecast_lines, headline, result_lines, share_line, why_no_line

    lines = headline(result, settings, where.is_toy)
    if where.retimed and result.race is not None:
        lines[:1] = race_lines(result.race)
    for line in lines:
        terminal.line(textwrap.fill(line, WIDTH), "bold")
    terminal.line()
    show_prompt(terminal, prompt.text)
    show_texts(terminal, result)
    for line in [*result_lines(result, settings, where.runs), *forecast_lines(where)]:
        terminal.line(line)
    terminal.line()
    terminal.line(share_line(result, settings, where) or why_no_line(result, where))


def demo_document(
    result: DemoResult, settings: Settings, prompt: Prompt, where: Circumstances, pair: Pair
) -> dict[str, Any]:
    """The whole result for JSON."""
    from .. import __version__
    from ..race.demo_words import share_line

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
        "clock": where.retimed or None,
        "forecast": score_fields(where.forecast),
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

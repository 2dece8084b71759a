"""The prompt and the texts of both lanes as text, with what was drafted marked."""

from __future__ import annotations

import textwrap
from itertools import groupby

from ..events import Emitted
from ..race.demo_result import DemoResult, Lane
from .terminal import Terminal

__all__ = ["show_prompt", "show_texts"]

WIDTH = 80


def show_prompt(terminal: Terminal, prompt: str) -> None:
    """What was asked, and a blank line."""
    first, *rest = prompt.splitlines() or [""]
    terminal.line(textwrap.indent("\n".join([f"› {first}", *(f"  {x}" for x in rest)]), " "), "dim")
    terminal.line()


def show_texts(terminal: Terminal, result: DemoResult) -> None:
    """Both texts, or the one when they are identical."""
    if result.identical:
        _text(terminal, f"both lanes{_legend(terminal)}", result.speculative)
    else:
        _text(terminal, "standard", result.standard)
        _text(terminal, f"speculative{_legend(terminal)}", result.speculative)


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

"""Terminal: standard output and error as this run may use them: colours, notes, widths."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import TextIO

from ..safe_text import safe_text

__all__ = ["Terminal"]

_CODES = {"green": "32", "dim": "2", "bold": "1", "underline": "4"}


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


class Terminal:
    """Where a command prints. Text goes to ``out``, everything said about it to ``err``.

    ``paints`` allows control codes on ``out``, ``paints_colours`` colours among them (NO_COLOR
    leaves underline and dim).
    """

    def __init__(
        self,
        color: str = "auto",
        quiet: bool = False,
        verbose: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        env = os.environ if environ is None else environ
        self.out, self.err = sys.stdout, sys.stderr
        self.quiet, self.verbose = quiet, verbose
        self.out_is_terminal = _is_terminal(self.out)
        self.err_is_terminal = _is_terminal(self.err)
        able = self.out_is_terminal and env.get("TERM", "") != "dumb"
        self.paints = color == "always" or (color == "auto" and able)
        self.paints_colours = self.paints and (color == "always" or not env.get("NO_COLOR"))

    @classmethod
    def of(cls, args: argparse.Namespace) -> Terminal:
        return cls(args.color, args.quiet, args.verbose)

    def paint(self, text: str, style: str) -> str:
        """``text`` in a style, or as it is where this output may not have it."""
        if not text or not self.paints or (style == "green" and not self.paints_colours):
            return text
        # A style that spans lines would colour the margin of some terminals.
        code = _CODES[style]
        return "\n".join(
            f"\x1b[{code}m{line}\x1b[0m" if line else line for line in text.split("\n")
        )

    def write(self, text: str, style: str = "") -> None:
        """Text of a model, made harmless, at once."""
        shown = safe_text(text)
        self.out.write(self.paint(shown, style) if style else shown)
        self.out.flush()

    def line(self, text: str = "", style: str = "") -> None:
        """A line of our own on standard output."""
        self.write(f"{text}\n", style)

    def note(self, text: str, always: bool = False) -> None:
        """A line on standard error; only where a person reads it, unless ``always``."""
        if not self.quiet and (always or self.err_is_terminal or self.verbose):
            self._say(f"{text}\n")

    def warn(self, text: str) -> None:
        """A line on standard error that is said whatever happens."""
        self._say(f"{text}\n")

    def begin(self, text: str) -> None:
        """The beginning of a note that ``note`` ends."""
        if not self.quiet and self.err_is_terminal:
            self._say(text)

    def _say(self, text: str) -> None:
        self.err.write(safe_text(text))
        self.err.flush()

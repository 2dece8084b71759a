"""When an app breaks off: one sentence for the terminal, and where the log with the rest lies."""

from __future__ import annotations

import sys

from mlx_specdec.safe_text import safe_text

from textual.app import App

__all__ = ["TellingApp", "crash_words"]


class TellingApp(App[None]):
    """An app that gives the terminal back after an error that nobody foresaw, and says so in words
    in place of a traceback."""

    crash_line = ""

    def _fatal_error(self) -> None:
        """Textual's own prints the traceback with every local value."""
        self.crash_line = crash_words(self._exception)
        self.panic()

    def tell_crash(self) -> None:
        """Once the terminal is the person's own again."""
        if self.crash_line:
            sys.stderr.write(f"{self.crash_line}\n")
            sys.stderr.flush()


def crash_words(error: BaseException | None) -> str:
    """What happened and where the log is; the traceback is written there."""
    from mlx_specdec.cli.log import log_unforeseen

    path = log_unforeseen(error) if error is not None else None
    words = " ".join(f"{type(error).__name__}: {error}".split())
    where = f"The log is {path}." if path is not None else "Its log could not be written."
    return safe_text(f"Something unexpected went wrong: {words} {where}")

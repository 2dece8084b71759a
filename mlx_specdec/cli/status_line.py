"""StatusLine: one line on standard error that rewrites itself while a person waits."""

from __future__ import annotations

import shutil

from .terminal import Terminal

__all__ = ["StatusLine"]


class StatusLine:
    """Shown on a terminal only, and not with ``--quiet``."""

    def __init__(self, terminal: Terminal) -> None:
        self._stream = terminal.err
        self._is_shown = terminal.err_is_terminal and not terminal.quiet
        self._width = 0

    def show(self, words: str) -> None:
        """Put ``words`` in the place of what stood there, cut to the terminal's width."""
        if not self._is_shown:
            return
        words = words[: max(20, shutil.get_terminal_size().columns - 1)]
        self._stream.write(f"\r{words:<{self._width}}")
        self._stream.flush()
        self._width = len(words)

    def clear(self) -> None:
        """Leave nothing behind."""
        if self._width:
            self._stream.write(f"\r{'':<{self._width}}\r")
            self._stream.flush()
            self._width = 0

"""A command in a terminal of its own: what it shows is read, keys are pressed, its end awaited."""

from __future__ import annotations

import codecs
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from types import TracebackType

DEADLINE_SECONDS = 120.0  # only fails a test that hangs; nothing is measured with it
REPEAT_SECONDS = 0.5

CTRL_C, CTRL_D = "\x03", "\x04"


class TerminalRun:
    """``python -m mlx_specdec ...`` with a terminal for all three streams, or for two of them.

    Args:
        words: after the program's name.
        environ: what changes in the environment.
    """

    def __init__(self, *words: str, environ: Mapping[str, str] | None = None) -> None:
        self.shown = ""
        self._place = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._until = time.monotonic() + DEADLINE_SECONDS
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, "mlx_specdec", *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24", **(environ or {})},
            start_new_session=True,
        )
        os.close(slave)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, *texts: str) -> str:
        """Read on until one of the texts has appeared after what was waited for last."""
        while True:
            found = [(self.shown.find(t, self._place), t) for t in texts]
            places = sorted((place + len(t), t) for place, t in found if place >= 0)
            if places:
                self._place, text = places[0]
                return text
            assert self._read(), f"the program ended without {texts}:\n{self.shown}"

    def press_to_the_end(self, keys: str) -> int:
        """Press again whenever nothing happens, until the program has ended; its exit code.

        A signal that comes between a prompt and the wait for a key is only noticed with the next
        key: that is how Python's readline waits.
        """
        self.press(keys)
        while True:
            ready, _, _ = select.select([self._master], [], [], REPEAT_SECONDS)
            if not ready:
                assert time.monotonic() < self._until, f"it does not end:\n{self.shown}"
                self.press(keys)
            elif not self._read():
                return self.exit_code()

    def wait_for_output(self) -> None:
        """Read on until anything at all has appeared."""
        before = len(self.shown)
        while len(self.shown) == before:
            assert self._read(), f"the program ended:\n{self.shown}"

    def exit_code(self) -> int:
        """Read to the end."""
        while self._read():
            pass
        return self.process.wait(max(1.0, self._until - time.monotonic()))

    def _read(self) -> bool:
        left = self._until - time.monotonic()
        assert left > 0, f"nothing more in time:\n{self.shown}"
        ready, _, _ = select.select([self._master], [], [], left)
        if not ready:
            return self._read()
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux says so when the last one that had the terminal is gone
            return False
        self.shown += self._decoder.decode(data).replace("\r\n", "\n")
        return bool(data)

    def __enter__(self) -> TerminalRun:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self._master)


# Takes the terminal as its own, so that Ctrl-C becomes a signal, then becomes the program.
_CHILD = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", *sys.argv[1:]])
"""

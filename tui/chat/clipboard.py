"""The clipboard: the system's own program where one is at hand, else the terminal's (OSC 52).

Terminal.app ignores OSC 52, so ``pbcopy`` comes first; over SSH a program would fill the
clipboard of the wrong machine, so the terminal is asked.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence

__all__ = ["BY_TERMINAL", "copy_by_program", "is_remote"]

Runner = Callable[[Sequence[str], str], bool]
"""Runs a program with a text as its input; whether it went well."""

BY_TERMINAL = "the terminal (OSC 52)"
_TIMEOUT_SECONDS = 2.0


def is_remote(environ: Mapping[str, str]) -> bool:
    """Whether the terminal is on another machine."""
    return any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"))


def programs(environ: Mapping[str, str], system: str) -> list[list[str]]:
    """The commands that may fill this machine's clipboard, the likeliest first."""
    if system == "Darwin":
        return [["pbcopy"]]
    found = []
    if environ.get("WAYLAND_DISPLAY"):
        found.append(["wl-copy"])
    if environ.get("DISPLAY"):
        found += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    return found


def run(command: Sequence[str], text: str) -> bool:
    """Run a clipboard program; False when it is not there or fails."""
    if shutil.which(command[0]) is None:
        return False
    try:
        done = subprocess.run(
            list(command),
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,  # xclip stays behind and would keep a pipe open
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def copy_by_program(
    text: str,
    *,
    environ: Mapping[str, str] | None = None,
    system: str | None = None,
    runner: Runner = run,
) -> str:
    """Copy with a program of this machine; its name, or empty where the terminal must do it.

    Args:
        system: as ``platform.system()`` says it.
    """
    env = os.environ if environ is None else environ
    if is_remote(env):
        return ""
    commands = programs(env, platform.system() if system is None else system)
    return next((command[0] for command in commands if runner(command, text)), "")

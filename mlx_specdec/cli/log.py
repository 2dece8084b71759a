"""The log of ``--debug``, and what is said of an error that nobody foresaw."""

from __future__ import annotations

import logging
import os
import platform
import sys
import time
from pathlib import Path
from types import TracebackType

from ..errors import SpecdecError, UsageError
from ..safe_text import safe_text

__all__ = ["LOGGER", "describe", "log_unforeseen", "open_log", "report_unforeseen"]

LOGGER = logging.getLogger("mlx_specdec")
LOGGER.addHandler(logging.NullHandler())


def open_log() -> Path:
    """Begin a log file in the user's state folder; its path."""
    base = os.environ.get("XDG_STATE_HOME")
    folder = (Path(base) if base else Path.home() / ".local" / "state") / "mlx-specdec"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / time.strftime(f"log-%Y%m%d-%H%M%S-{os.getpid()}.txt")
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    LOGGER.setLevel(logging.DEBUG)
    logging.captureWarnings(True)
    LOGGER.info("python %s on %s", platform.python_version(), platform.platform())
    return path


def describe(error: SpecdecError) -> str:
    """An error and its fix in one line; a slip in the words of a command needs no title."""
    title = "mlx-specdec" if error.exit_code == UsageError.exit_code else error.title
    return safe_text(" ".join(f"{title}: {error}".split()))


def log_unforeseen(error: BaseException) -> Path | None:
    """Write an error's traceback to the log of ``--debug``, or to one begun for it; its path, None
    where the disk takes no file."""
    files = (each for each in logging.getLogger().handlers if type(each) is logging.FileHandler)
    path = next((Path(each.baseFilename) for each in files), None)
    try:
        path = path or open_log()
    except OSError:
        return None
    LOGGER.error("unforeseen", exc_info=(type(error), error, error.__traceback__))
    return path


def report_unforeseen(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """One line for the terminal, the traceback for the log: an excepthook."""
    LOGGER.error("unforeseen", exc_info=(kind, error, trace))
    words = " ".join(f"{kind.__name__}: {error}".split())
    sys.stderr.write(
        safe_text(f"Something unexpected went wrong: {words} Try --debug and look at its log.\n")
    )

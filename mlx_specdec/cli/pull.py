"""``mlx-specdec pull``: download a model or a pair; what is there already is not fetched again."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TextIO

from ..downloads.download import Progress, download, download_plan
from ..memory import bytes_text
from ..registry import Registry

__all__ = ["ProgressLine", "add_arguments", "run"]

INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``pull``."""
    parser.add_argument(
        "name",
        metavar="NAME|PAIR",
        help="a name of `models`, org/name of the hub, or a pair such as qwen3-14b+qwen3-0.6b",
    )
    parser.add_argument("--with-draft", action="store_true", help="the model's usual draft as well")


def run(args: argparse.Namespace) -> int:
    """Fetch what is missing; prints each model's folder on standard output.

    Returns 0, or 130 after Ctrl-C; what has arrived is kept and the next run goes on from there.

    Raises:
        SpecdecError: an unknown name, or why it cannot be downloaded.
    """
    registry = Registry.load()
    draft = None if args.with_draft or "+" in args.name else "none"
    pair = registry.resolve_pair(args.name, draft)
    line = ProgressLine(sys.stderr)
    try:
        plan = download_plan(pair.specs)
        for model in plan.models:
            if model.complete and model.found is not None:
                line.say(f"{model.spec.alias}: already here ({model.found.origin}).")
            else:
                size = bytes_text(model.fetch_bytes)
                line.say(f"{model.spec.alias}: {size} from {model.spec.repo}")
        found = download(plan, line.show)
    except KeyboardInterrupt:
        line.end()
        line.say("Stopped. The same command goes on from here.")
        return INTERRUPTED
    line.end()
    for item in found:
        sys.stdout.write(f"{item.path}\n")
    return 0


class ProgressLine:
    """Progress as one line that rewrites itself on a terminal, else as a line every tenth."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rewrites = stream.isatty()
        self._tenth = -1
        self._shown = 0

    def show(self, progress: Progress) -> None:
        """Show where a download is."""
        text = progress_text(progress)
        if self._rewrites:
            text = text[: max(20, shutil.get_terminal_size().columns - 1)]
            self._stream.write(f"\r{text:<{self._shown}}")
            self._shown = len(text)
        elif int(progress.share * 10) > self._tenth:
            self._tenth = int(progress.share * 10)
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def say(self, text: str) -> None:
        """A line of its own."""
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def end(self) -> None:
        """Leave the line that rewrites itself."""
        if self._shown:
            self._stream.write("\n")
            self._shown = 0


def progress_text(progress: Progress) -> str:
    """Such as ``qwen3-14b   62 %  5.2 GB of 8.3 GB  11.0 MB/s  5 min left``."""
    parts = [
        f"{progress.spec.alias} {progress.share:5.0%}",
        f"{bytes_text(progress.bytes_done)} of {bytes_text(progress.bytes_total)}",
    ]
    if progress.phase == "check":
        parts.append("checking")
    elif progress.bytes_per_second:
        parts.append(f"{bytes_text(progress.bytes_per_second)}/s")
        left = progress.seconds_left or 0.0
        parts.append(f"{left / 60:.0f} min left" if left >= 90 else f"{left:.0f} s left")
    return "  ".join(parts)

"""The command line: ``mlx-specdec COMMAND``. Only the command's own module is imported."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from .. import __version__
from ..errors import SpecdecError
from .commands import command_named, overview
from .log import LOGGER, describe, open_log, report_unforeseen
from .parser import CommandParser

__all__ = ["main"]

INTERRUPTED = 130
BROKEN_PIPE = 141
_ASKING = frozenset({"-h", "--help", "--help-all", "--version"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code: 0, 1 (an error, or a check that failed), 2 (usage), 3
    (an audit that could not run), 130 (Ctrl-C), 141 (closed pipe).

    Args:
        argv: the words after the program's name; None takes this process's own, and then ends
            the process where MLX must not be torn down under a running pass.
    """
    is_process = argv is None
    if is_process:
        sys.excepthook = _unforeseen
    words = list(sys.argv[1:] if argv is None else argv)
    code = INTERRUPTED
    try:
        code = _run(words)
    except SpecdecError as error:
        LOGGER.debug("ended by an error", exc_info=error)
        sys.stderr.write(f"{describe(error)}\n")
        code = error.exit_code
    except BrokenPipeError:
        _close_pipe()
        code = BROKEN_PIPE
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            sys.stderr.write("\n")
    code = _flushed(code)
    if is_process:
        _leave_at_once_if_busy(code)
    return code


def _run(words: list[str]) -> int:
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    leading, rest = _split(words)
    if not rest and not _ASKING & {*leading} and _is_at_terminal():
        rest = ["demo"]
    if not rest:
        if "--version" in leading:
            sys.stdout.write(_versions())
        else:
            sys.stdout.write(overview(is_full=bool({"-h", "--help", "--help-all"} & {*leading})))
        return 0
    command = command_named(rest[0])
    module = import_module(f".{command.name}", __package__)
    parser = CommandParser(command)
    module.add_arguments(parser)
    _add_global_options(parser)
    try:
        args = parser.parse([*leading, *rest[1:]])
    except SystemExit:  # --help
        return 0
    if args.version:
        sys.stdout.write(_versions())
        return 0
    if args.debug:
        path = open_log()
        sys.stderr.write(f"log: {path}\n")
        LOGGER.info("mlx-specdec %s %s", __version__, " ".join(words))
    code: int = module.run(args)
    return code


def _is_at_terminal() -> bool:
    """Whether a person sits there: alone, the program opens its app then."""
    able = sys.stdin.isatty() and sys.stdout.isatty()
    return able and os.environ.get("TERM", "") not in ("", "dumb")


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Options before the command, and the rest from the command on."""
    leading: list[str] = []
    rest = list(words)
    while rest and rest[0].startswith("-"):
        leading.append(rest.pop(0))
        if leading[-1] == "--color" and rest:
            leading.append(rest.pop(0))
    return leading, rest


def _add_global_options(parser: CommandParser) -> None:
    group = parser.add_argument_group("everywhere")
    group.add_argument("-q", "--quiet", action="store_true", help="no figures and no notes")
    group.add_argument("-v", "--verbose", action="store_true", help="more notes, in pipes as well")
    group.add_argument("--debug", action="store_true", help="keep a log; its path is printed")
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="auto: on a terminal, and NO_COLOR is honoured",
    )
    group.add_argument("--version", action="store_true", help="versions, and nothing else")


def _versions() -> str:
    from importlib import metadata  # reads mail, of all things: only where it is asked for

    lines = [f"mlx-specdec {__version__}"]
    for name in ("mlx", "mlx-lm"):
        try:
            lines.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            lines.append(f"{name} is not installed")
    return "\n".join([*lines, f"python {sys.version.split()[0]}"]) + "\n"


def _close_pipe() -> None:
    """Send what is still buffered to nowhere, or the interpreter's own end would complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _close_pipe()
        return BROKEN_PIPE
    return code


def _leave_at_once_if_busy(code: int) -> None:
    """End the process where an engine is still in a pass: MLX aborts when torn down under it."""
    service = sys.modules.get(f"{__package__.rpartition('.')[0]}.service")
    if service is not None and service.is_any_running():
        sys.stderr.flush()
        os._exit(code)


def _unforeseen(kind: type[BaseException], error: BaseException, trace: object) -> None:
    report_unforeseen(kind, error, error.__traceback__)
    _leave_at_once_if_busy(1)

"""``mlx-specdec audit``: does drafting change what the target says? Tried here; it can fail."""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import TYPE_CHECKING, cast

from ..errors import AuditStoppedError, SpecdecError, UsageError
from ..events import Failed
from ..figures import pair_names
from ..registry import Registry
from .interrupts import Interrupts
from .log import LOGGER, describe
from .opening import go_offline_if_asked, open_engine, tell_blas, wanted_pair
from .parser import CommandParser
from .report import SCHEMA, print_json
from .status_line import StatusLine
from .terminal import Terminal

if TYPE_CHECKING:
    from ..audit.job import AuditOptions
    from ..audit.report import AuditProgress, AuditReport, CheckResult
    from ..engine import Engine

__all__ = ["add_arguments", "run"]

COULD_NOT_RUN = AuditStoppedError.exit_code
INTERRUPTED = 130
_WIDTH = 80
_FAULTS = ("residual", "rewind", "temperature", "low-q")  # of faults.py, which needs MLX


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``audit``."""
    add = parser.add_argument
    add("--target", metavar="NAME", help="model that answers: a name, org/name, a folder (tiny)")
    add("--draft", metavar="NAME", help="model that guesses ahead (default: the target's own)")
    add("--quick", action="store_true", help="fewer prompts and tokens: sees larger shifts only")
    add("--json", action="store_true", help="all checks as JSON")
    own = cast(CommandParser, parser)
    own.synonym("--model", dest="target", metavar="NAME")
    own.synonym("--draft-model", dest="draft", metavar="NAME")
    add = parser.add_argument_group("expert").add_argument
    add(
        "--inject",
        choices=_FAULTS,
        metavar="|".join(_FAULTS),
        help="break the decoder on purpose, to see the audit fail",
    )
    add("--only", metavar="LIST", help="checks whose names begin so: identity,law-block,rewind")
    add("--seed", type=int, default=0, metavar="N", help="of all that is drawn (0)")
    add("--kv-bits", type=int, metavar="N", help="quantise both caches")
    add("--kv-group-size", type=int, default=64, metavar="N", help="numbers that share a scale")
    add("--trust-remote-code", action="store_true", help="run Python code that a model brings")
    add("--yes", "-y", action="store_true", help="download without asking")
    add("--offline", action="store_true", help="never ask the hub")
    add("--force", action="store_true", help="run what this machine is too slow for")
    parser.set_defaults(extra_eos_token=None)


def run(args: argparse.Namespace) -> int:
    """Audit and print: 0 all well, 1 a check failed, 3 it could not run, 130 after Ctrl-C.

    Raises:
        UsageError: the words of the command are off.
    """
    try:
        return _run(args, Terminal.of(args))
    except UsageError:
        raise
    except SpecdecError as error:  # 1 would say that a check failed
        LOGGER.debug("ended by an error", exc_info=error)
        sys.stderr.write(f"{describe(error)}\n")
        return COULD_NOT_RUN


def _run(args: argparse.Namespace, terminal: Terminal) -> int:
    registry = Registry.load()
    args.target = args.target or "tiny"
    pair = wanted_pair(args, registry)
    if pair.copies:
        raise UsageError(
            "An audit compares a draft's law with its target's, and a copy has none.",
            "Name a draft, or leave --draft out.",
        )
    if pair.draft is None:
        raise UsageError(
            f"An audit checks drafting, and {pair.target.alias} has no draft here.",
            "Name one: --draft NAME, of the same family.",
        )
    go_offline_if_asked(args)
    engine, pair = open_engine(args, terminal, pair, registry)
    with engine:
        if not args.json:
            how = "quick audit" if args.quick else "audit"
            terminal.line(
                f"{how} of {pair_names(pair)}: does drafting change what the target says?"
            )
            if args.inject:
                for text in textwrap.wrap(_injected_words(args.inject), _WIDTH):
                    terminal.line(text)
            terminal.line()
        report, was_interrupted = _audit(args, terminal, engine)
        tell_blas(terminal)
    if args.json:
        print_json(terminal, {"schema": SCHEMA, "injected": args.inject, **report.document()})
    else:
        _close(terminal, report, args.inject, is_whole=not args.only)
    return INTERRUPTED if was_interrupted else report.exit_code


def _options(args: argparse.Namespace) -> AuditOptions:
    from ..audit.job import AuditOptions
    from ..parts import Parts

    parts = Parts()
    if args.inject is not None:
        from ..faults import FAULTS

        parts = FAULTS[args.inject].parts
    only = tuple(word.strip() for word in (args.only or "").split(",") if word.strip())
    is_whole = args.inject is None and not only
    return AuditOptions(args.quick, args.seed, parts, keeps=is_whole, only=only)


def _injected_words(name: str) -> str:
    from ..faults import FAULTS

    return f"injected on purpose, {name}: {FAULTS[name].words}"


def _audit(
    args: argparse.Namespace, terminal: Terminal, engine: Engine
) -> tuple[AuditReport, bool]:
    """The report, and whether Ctrl-C ended it early."""
    from ..audit.job import audit_job
    from ..audit.report import AuditReport

    interrupts = Interrupts()
    line = StatusLine(terminal)
    handle = engine.thread.submit(audit_job(engine.session, _options(args)))
    try:
        with interrupts.stopping(handle.cancel):
            for item in handle:
                if isinstance(item, Failed):
                    raise _error(item, handle.error)
                if isinstance(item, AuditReport):
                    return item, item.is_cancelled
                _tell(args, terminal, line, cast("AuditProgress", item))
    finally:
        line.clear()
    raise AuditStoppedError("The audit ended without a result.", "Run it again with --debug.")


def _error(failed: Failed, cause: BaseException | None) -> SpecdecError:
    if isinstance(cause, SpecdecError):
        return cause
    error = AuditStoppedError(failed.message, failed.hint)
    error.__cause__ = cause
    return error


def _tell(
    args: argparse.Namespace, terminal: Terminal, line: StatusLine, progress: AuditProgress
) -> None:
    if progress.finished is not None and not args.json:
        line.clear()
        _show(terminal, progress.finished)
    left = ""
    if progress.seconds_left is not None:
        seconds = progress.seconds_left
        left = f", about {seconds:.0f} s left" if seconds < 90 else f", {seconds / 60:.0f} min left"
    line.show(f"{progress.share * 100:3.0f} %{left}: {progress.doing}")


def _show(terminal: Terminal, check: CheckResult) -> None:
    """A check: verdict and what was checked, then figure and bound, then what they mean."""
    verdict = "ok    " if check.is_passed else "FAILED"
    terminal.line(f"{verdict}  {check.title}", "" if check.is_passed else "bold")
    _indented(terminal, f"{check.figure} (needed: {check.bound})")
    if check.note:
        _indented(terminal, check.note)
    if check.reason:
        _indented(terminal, check.reason)


def _indented(terminal: Terminal, words: str) -> None:
    for text in textwrap.wrap(words, _WIDTH - 8, break_on_hyphens=False):
        terminal.line(f"        {text}", "dim")


def _close(terminal: Terminal, report: AuditReport, injected: str | None, is_whole: bool) -> None:
    terminal.line()
    for text in _closing_words(report, injected, is_whole):
        for part in textwrap.wrap(text, _WIDTH, break_on_hyphens=False):
            terminal.line(part)


def _closing_words(report: AuditReport, injected: str | None, is_whole: bool) -> list[str]:
    count = len(report.checks)
    lines: list[str] = []
    if report.is_cancelled:
        lines.append(f"Stopped: {report.num_passed} of {count} checks that ended passed.")
    elif report.failed:
        lines.append(f"{len(report.failed)} of {count} checks FAILED in {report.seconds:.0f} s.")
    else:
        words = f"{count} of {count} checks passed in {report.seconds:.0f} s"
        if is_whole and injected is None:
            words += f": with drafting, {report.target} says what it says without"
        lines.append(f"{words}.")
    lines += dict.fromkeys(check.hint for check in report.failed if check.hint)
    if report.num_ties:
        lines.append(
            f"{report.num_ties} tokens differed by rounding alone (numeric ties): wide passes of "
            "this backend round otherwise, and the best two scores were that close."
        )
    if injected is not None:
        lines.append(_caught_words(report, injected))
    elif report.failed:
        lines.append(
            "This is a fault of mlx-specdec or of this backend, not of your settings. Until it is "
            "mended `--lookahead 0` decodes plainly. To report it, add the output of "
            "`mlx-specdec audit --json`."
        )
    return lines


def _caught_words(report: AuditReport, injected: str) -> str:
    if report.failed:
        by = ", ".join(check.name for check in report.failed)
        return f"The injected fault {injected} was caught by {by}."
    if report.is_cancelled:
        return f"The injected fault {injected} had not been caught yet."
    more = " Without --quick the audit sees smaller shifts." if report.is_quick else ""
    return f"The injected fault {injected} was NOT caught: this audit cannot see it.{more}"

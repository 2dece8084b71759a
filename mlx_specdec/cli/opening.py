"""From the names of a pair to an engine that has loaded it, with a question before a download."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import ModelNotFoundError, SpecdecError
from ..figures import pair_names
from ..last_pair import draft_name, spec_name
from ..model_spec import PairSpec
from ..registry import Registry
from .terminal import Terminal

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["go_offline_if_asked", "open_engine", "tell_blas", "wanted_pair"]


def go_offline_if_asked(args: argparse.Namespace) -> None:
    """Make ``--offline`` known to whatever asks the hub; before that is imported."""
    if args.offline:
        os.environ["HF_HUB_OFFLINE"] = "1"


def wanted_pair(args: argparse.Namespace, registry: Registry) -> PairSpec:
    """The pair that --target and --draft name.

    Raises:
        UnknownModelError: with the nearest name.
    """
    return registry.resolve_pair(args.target, args.draft)


def open_engine(
    args: argparse.Namespace, terminal: Terminal, pair: PairSpec, registry: Registry
) -> tuple[Engine, PairSpec]:
    """An engine with the pair loaded, and the pair it is (the question may have changed it).

    Raises:
        SpecdecError: it cannot be had, cannot be run here, or is not wanted after all.
    """
    pair = _on_disk(args, terminal, pair, registry)
    from ..engine import load

    terminal.begin(f"loading {pair_names(pair)} ... ")
    began = time.perf_counter()
    try:
        engine = load(
            spec_name(pair.target),
            draft_name(pair),
            kv_bits=args.kv_bits,
            kv_group_size=args.kv_group_size,
            trust_remote_code=args.trust_remote_code,
            extra_eos_tokens=args.extra_eos_token or (),
        )
    except BaseException:
        terminal.begin("\n")
        raise
    terminal.begin(f"{time.perf_counter() - began:.1f} s\n")
    if terminal.verbose:
        tell_blas(terminal)
    return engine, pair


def tell_blas(terminal: Terminal) -> None:
    """Say that products are slow here and what helps; which BLAS it is when asked for more."""
    from ..backend import blas_status

    status = blas_status()
    if status.message and (status.state in ("missing", "too late") or terminal.verbose):
        terminal.note(status.message)


def _on_disk(
    args: argparse.Namespace, terminal: Terminal, pair: PairSpec, registry: Registry
) -> PairSpec:
    """The pair, once all of it is on this disk."""
    from ..this_machine import check_speed, this_machine

    if not args.force:
        check_speed(pair.target, registry)
    from ..locate import locate

    if all((found := locate(spec)) is not None and found.complete for spec in pair.specs):
        return pair
    from ..downloads.download import download
    from ..downloads.plan import download_plan
    from ..downloads.question import ask
    from ..downloads.rate import read_download_rate
    from .pull import ProgressLine

    while True:
        plan = download_plan(pair.specs)
        rate = read_download_rate()
        answer = ask(plan, this_machine(), registry, yes=args.yes, last_bytes_per_second=rate)
        if answer.choice == "download":
            break
        if answer.choice == "forecast":
            _tell_forecast(terminal, pair)
            continue
        if answer.choice == "quit" or answer.spec is None:
            raise ModelNotFoundError(
                f"{pair_names(pair)} is not on this disk, and was not downloaded.",
                "`mlx-specdec models` shows what is here.",
            )
        pair = registry.resolve_pair(answer.spec.alias, args.draft)
    terminal.note("downloading; Ctrl-C stops, and the same command goes on from there")
    line = ProgressLine(terminal.err)
    _ended(line.end, lambda: download(plan, line.show))
    return pair


def _tell_forecast(terminal: Terminal, pair: PairSpec) -> None:
    """Time the pair's shapes and say what came of it, where the question was asked."""
    from ..forecast.here import forecast_here
    from ..forecast.words import report_lines
    from ..this_machine import this_machine
    from .forecast import CONTEXT, SECONDS
    from .status_line import StatusLine

    status = StatusLine(terminal)
    try:
        forecast = forecast_here(
            pair,
            this_machine(),
            context=CONTEXT,
            seconds=SECONDS,
            on_step=lambda words: status.show(f"{words} ..."),
        )
    except SpecdecError as error:  # the question still stands
        terminal.warn(f"  {error}")
        return
    finally:
        status.clear()
    for line in ["", *report_lines(forecast)]:
        terminal.warn(line)


def _ended(end: Callable[[], None], work: Callable[[], object]) -> None:
    try:
        work()
    finally:
        end()

"""``mlx-specdec forecast``: what a pair should do here, before it is downloaded."""

from __future__ import annotations

import argparse
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InvalidRequestError
from ..model_spec import PairSpec
from ..registry import Registry
from .report import SCHEMA, print_json
from .status_line import StatusLine
from .terminal import Terminal

if TYPE_CHECKING:
    from ..forecast.forecast import Forecast
    from ..forecast.format_table import FormatPrices

__all__ = ["add_arguments", "run", "show_forecast"]

CONTEXT, SECONDS = 512, 45.0
MEMORY_CONTEXT = 4096  # tokens that memory is counted for: few stop before
_LEAST_SECONDS, _LONGEST_CONTEXT = 2.0, 131_072


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``forecast``."""
    add = parser.add_argument
    add("target", metavar="TARGET", nargs="?", help="a name of `models`, or TARGET+DRAFT")
    add("draft", metavar="DRAFT", nargs="?", help="its draft (default: the target's own; none)")
    add_forecast_options(parser)


def add_forecast_options(parser: argparse._ActionsContainer, with_json: bool = True) -> None:
    """The options that ``doctor TARGET`` shares; to a parser or a group of one."""
    add = parser.add_argument
    add("--chip", metavar="CHIP", help="another machine, by published figures: m2, m3-pro, m5-max")
    add("--formats", action="store_true", help="time other weight formats of the target as well")
    add("--history", action="store_true", help="earlier forecasts against what was measured")
    add("--context", type=int, metavar="N", help=f"tokens in the cache (default: {CONTEXT})")
    add("--seconds", type=float, metavar="S", help=f"time to take, about ({SECONDS:.0f})")
    add("--shapes", action="store_true", help="time shapes even where the models are on this disk")
    add("--plot", metavar="FILE.svg", type=Path, help="draw it as well")
    if with_json:
        add("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the forecast, or the history of forecasts; 0.

    Raises:
        SpecdecError: an unknown model or chip, a model whose shape is not known, no backend.
    """
    terminal = Terminal.of(args)
    if args.history:
        return _show_history(args, terminal)
    if args.target is None:
        raise InvalidRequestError(
            "A target is missing.", "Such as `mlx-specdec forecast qwen3-14b`."
        )
    _check(args)
    pair = Registry.load().resolve_pair(args.target, args.draft)
    return show_forecast(terminal, args, pair)


def _check(args: argparse.Namespace) -> None:
    args.context = CONTEXT if args.context is None else args.context
    args.seconds = SECONDS if args.seconds is None else args.seconds
    if not 1 <= args.context <= _LONGEST_CONTEXT:
        raise InvalidRequestError(
            f"--context {args.context} is not usable.", f"Take 1 to {_LONGEST_CONTEXT}."
        )
    if not _LEAST_SECONDS <= args.seconds <= 3600:
        raise InvalidRequestError(
            f"--seconds {args.seconds:g} is not usable.", f"Take {_LEAST_SECONDS:g} to 3600."
        )
    if args.plot is not None and not args.plot.parent.is_dir():
        raise InvalidRequestError(
            f"The folder of {args.plot} does not exist.", "Name a file in one that does."
        )
    if args.chip is not None and args.formats:
        raise InvalidRequestError(
            "Weight formats are timed here, and --chip is another machine.", "Leave one out."
        )


def show_forecast(terminal: Terminal, args: argparse.Namespace, pair: PairSpec) -> int:
    """Make the forecast of a pair and print it; 0.

    Args:
        args: context, seconds, chip, formats, shapes, plot, json.
    """
    if pair.copies:
        raise InvalidRequestError(
            "How much can be copied depends on the text alone, so it cannot be forecast.",
            "Race it on your own text: mlx-specdec demo --draft copy.",
        )
    status = StatusLine(terminal)
    if args.formats:  # both together take the time that was given
        args.seconds /= 2
    try:
        forecast = _forecast(args, pair, status)
        formats = _formats(args, forecast, status) if args.formats else []
    finally:
        status.clear()
    if args.plot is not None:
        from ..forecast.plot import forecast_svg

        _write(args.plot, forecast_svg(forecast))
        terminal.note(f"drawn into {args.plot}")
    if args.json:
        from ..forecast.document import forecast_document

        print_json(terminal, {"schema": SCHEMA, **forecast_document(forecast, formats)})
    else:
        _print(terminal, forecast, formats)
    return 0


def _forecast(args: argparse.Namespace, pair: PairSpec, status: StatusLine) -> Forecast:
    if args.chip is not None:
        return _published(args, pair)
    from ..forecast.here import forecast_here
    from ..this_machine import this_machine

    return forecast_here(
        pair,
        this_machine(),
        context=args.context,
        seconds=args.seconds,
        shapes_only=args.shapes or args.formats,  # the other formats are shapes as well
        on_step=lambda words: status.show(f"{words} ..."),
    )


def _published(args: argparse.Namespace, pair: PairSpec) -> Forecast:
    from ..costs.machines import CHIPS, chip_of
    from ..forecast.forecast import published_pair_forecast
    from ..memory import fits

    chip = chip_of(args.chip)
    if chip is None:
        raise InvalidRequestError(
            f"There are no published figures for {args.chip!r}.", f"Take {', '.join(CHIPS)}."
        )
    forecast = published_pair_forecast(
        pair,
        chip,
        fits(pair.target, pair.draft, max(args.context, MEMORY_CONTEXT), 0),
        args.context,
    )
    if forecast is None:
        raise InvalidRequestError(
            f"The size of {pair.target.alias} is not known before its download.",
            "Name a model of `mlx-specdec models`.",
        )
    return forecast


def _formats(
    args: argparse.Namespace, forecast: Forecast, status: StatusLine
) -> list[FormatPrices]:
    from ..forecast.here import format_prices

    return format_prices(forecast, args.seconds, on_step=lambda words: status.show(f"{words} ..."))


def _print(terminal: Terminal, forecast: Forecast, formats: list[FormatPrices]) -> None:
    from ..figures import pair_names
    from ..forecast.format_table import format_lines, format_verdict
    from ..forecast.words import report_lines

    terminal.line(f"{pair_names(forecast.pair)} on {forecast.machine}", "dim")
    first = True
    for line in report_lines(forecast):
        first = first and bool(line)
        terminal.line(line, "bold" if first else "")
    if formats:
        terminal.line()
        for line in format_lines(forecast.pair.target, formats):
            terminal.line(line)
        words, command = format_verdict(forecast, formats)
        for line in textwrap.wrap(words, 79):
            terminal.line(f" {line}")
        if command:
            terminal.line()
            terminal.line(f"   {command}")
    if forecast.outcome == "too slow" and forecast.is_cpu:
        _say_what_works(terminal)


def _say_what_works(terminal: Terminal) -> None:
    from ..this_machine import can_run

    fitting = [spec.alias for spec in Registry.load() if spec.params and can_run(spec)]
    works = ", ".join(name for name in fitting if not name.endswith("-draft"))
    terminal.line()
    for line in textwrap.wrap(f"What runs on this CPU: {works}.", 79):
        terminal.line(f" {line}")
    terminal.line(" What a Mac would do, by published figures: --chip m3-pro")


def _show_history(args: argparse.Namespace, terminal: Terminal) -> int:
    from ..forecast.log import ForecastLog
    from ..forecast.run_forecast import history_lines

    scores = ForecastLog().scores()
    if args.target is not None:
        scores = [item for item in scores if args.target in item.prediction.pair.split("+")]
    if args.json:
        from ..forecast.document import history_document

        print_json(terminal, {"schema": SCHEMA, **history_document(scores)})
        return 0
    if not scores:
        terminal.line("No forecast has been scored yet: `mlx-specdec demo` writes one down and")
        terminal.line("scores it, once a pair's passes were timed (`mlx-specdec forecast TARGET`).")
    else:
        head, *rows = history_lines(scores, _moment)
        terminal.line(head, "dim")
        for line in rows:
            terminal.line(line)
    return 0


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be written: {error}.", "Name another.") from None

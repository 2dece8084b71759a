"""``mlx-specdec bench``: every way of decoding on written-down workloads, and what it was worth."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from ..bench.workloads import Workload, read_prompts_file, workloads
from ..errors import InvalidRequestError
from ..figures import pair_names
from ..registry import Registry
from ..request import RULE_NAMES
from ..settings import Settings
from .opening import go_offline_if_asked, open_engine, tell_blas, wanted_pair
from .options import (
    FIGURES,
    add_everyday_options,
    add_expert_options,
    add_pair_options,
    explicit_settings,
    proper_text,
)
from .parser import CommandParser
from .report import SCHEMA, print_json
from .status_line import StatusLine
from .terminal import Terminal

if TYPE_CHECKING:
    from ..bench.plan import BenchPlan, Turn
    from ..bench.report import BenchPlace
    from ..bench.runner import BenchResult
    from ..costs.prices import Prices
    from ..engine import Engine
    from ..model_spec import PairSpec

__all__ = ["add_arguments", "run"]

DEFAULTS = Settings(max_tokens=128, think=False)
BASELINE_LOOKAHEAD = 4
QUICK_PROMPTS, QUICK_TOKENS, QUICK_SECONDS = 2, 48, 4.0
CALIBRATION_SECONDS = 20.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``bench``."""
    add_pair_options(parser, "a folder (default: tiny)", "(default: the target's own)")
    add = parser.add_argument
    add("--quick", action="store_true", help="two prompts of each kind, 48 tokens, one repeat")
    add("--kinds", metavar="A,B", help="some of the six kinds of text, such as code,prose")
    add("--prompts", metavar="FILE", help="prompts of your own: a JSON object with a text a line")
    add("--json", action="store_true", help="everything as JSON")
    add("--markdown", action="store_true", help="a block to paste, with machine and versions")
    add("--plot", metavar="FILE", help="the speedups as SVG")
    add_everyday_options(parser, "(default: 0)", "(default: 128)")
    add = parser.add_argument_group("benchmark").add_argument
    add("--repeats", type=int, metavar="N", help="timed runs of each, medians (3)")
    add("--lookaheads", metavar="LIST", help="arms that draft (default: auto,2,4)")
    add("--think-both", action="store_true", help="every text without thinking and with it")
    add("--rules", metavar="LIST", help="acceptance rules of these arms (rejection)")
    add("--no-baseline", action="store_true", help="leave mlx-lm's own loops out")
    add("--cool-down", type=float, default=0.0, metavar="S", help="seconds between repeats (0)")
    add_expert_options(parser)
    cast(CommandParser, parser).figures = (*FIGURES, "speedup", "end_to_end_speedup")


def run(args: argparse.Namespace) -> int:
    """Run the benchmark and print it; 0.

    Raises:
        SpecdecError: whatever stands in the way of it.
    """
    terminal = Terminal.of(args)
    registry = Registry.load()
    args.target = args.target or "tiny"
    pair = wanted_pair(args, registry)
    plan = _plan(args, pair)
    if args.plot and not Path(args.plot).absolute().parent.is_dir():
        raise InvalidRequestError(
            f"There is no folder for {args.plot}.", "Make it first, or name another."
        )
    go_offline_if_asked(args)
    engine, pair = open_engine(args, terminal, pair, registry)
    with engine:
        if args.think_both:
            plan = _with_and_without_thinking(engine, plan, terminal)
        terminal.note(f"{pair_names(pair)}: {plan.num_turns} runs; Ctrl-C keeps what is finished")
        result = _measure(args, terminal, engine, plan)
        _show(args, terminal, result, _place(pair, engine))
        tell_blas(terminal)
    return 0


def _plan(args: argparse.Namespace, pair: PairSpec) -> BenchPlan:
    from ..bench.plan import BenchPlan, arms_named

    if args.lookahead is not None and args.lookaheads is not None:
        raise InvalidRequestError("--lookahead and --lookaheads say two things.", "Give one.")
    if args.json and args.markdown:
        raise InvalidRequestError("--json and --markdown are two outputs.", "Give one.")
    listed = args.lookaheads or (str(args.lookahead) if args.lookahead is not None else "auto,2,4")
    rules = tuple(_rule(word) for word in (args.rules or args.rule or "rejection").split(","))
    base = DEFAULTS.changed(max_tokens=QUICK_TOKENS) if args.quick else DEFAULTS
    settings = explicit_settings(args, base)
    if settings.max_tokens is None:
        raise InvalidRequestError("A benchmark needs a limit.", "Give --max-tokens 16 or more.")
    repeats = args.repeats if args.repeats is not None else 1 if args.quick else 3
    texts = _workloads(args)
    return BenchPlan(
        tuple(text.first(QUICK_PROMPTS) for text in texts) if args.quick else texts,
        arms_named(
            tuple(_lookahead(word) for word in listed.split(",")),
            rules,
            None if args.no_baseline else BASELINE_LOOKAHEAD,
            pair.drafts,
            is_profiled=not args.quick,
            baseline_drafts=pair.draft is not None,
        ),
        repeats,
        settings,
        args.cool_down,
    )


def _with_and_without_thinking(engine: Engine, plan: BenchPlan, terminal: Terminal) -> BenchPlan:
    """The plan with every text twice, where the model's template can tell the two apart."""
    session = engine.session
    prompts = engine.thread.call(
        lambda: [session.chat_tokens("Why?", think=think) for think in (False, True)]
    )
    if prompts[0] == prompts[1]:
        terminal.warn(f"{engine.pair.target.name} does not think first: each text runs once.")
        return plan
    twice = [text.thinking(think) for text in plan.workloads for think in (False, True)]
    return replace(plan, workloads=tuple(twice))


def _workloads(args: argparse.Namespace) -> tuple[Workload, ...]:
    texts = read_prompts_file(Path(args.prompts)) if args.prompts else workloads()
    if args.kinds is None:
        return texts
    wanted = [word.strip() for word in args.kinds.split(",")]
    known = {text.kind: text for text in texts}
    for word in wanted:
        if word not in known:
            raise InvalidRequestError(
                f"There is no kind {word!r}.", f"Take some of {', '.join(known)}."
            )
    return tuple(known[word] for word in wanted)


def _lookahead(word: str) -> int | Literal["auto"]:
    word = word.strip()
    if word == "auto":
        return "auto"
    if word.isdecimal() and 1 <= int(word) <= 16:
        return int(word)
    raise InvalidRequestError(f"{word!r} is no lookahead of an arm.", "Take auto, or 1 to 16.")


def _rule(word: str) -> str:
    word = word.strip()
    if word not in RULE_NAMES:
        raise InvalidRequestError(
            f"There is no rule {word!r}.", f"Take some of {', '.join(RULE_NAMES)}."
        )
    return word


def _measure(
    args: argparse.Namespace, terminal: Terminal, engine: Engine, plan: BenchPlan
) -> BenchResult:
    from ..bench.runner import EngineRunner, run_bench

    runner = EngineRunner(engine, time.perf_counter, proper_text(args.system_prompt or ""))
    prices = _prices(args, terminal, engine)
    progress = _Progress(terminal, plan.num_turns)
    try:
        return run_bench(plan, runner, prices, progress, time.sleep)
    finally:
        progress.end()


def _prices(args: argparse.Namespace, terminal: Terminal, engine: Engine) -> Prices | None:
    """What passes cost here, measured before anything is predicted; None where nothing can be:
    without a draft, and of copying, for which only some passes find anything."""
    if not engine.pair.drafts:
        return None
    from ..costs.calibrate import calibrate

    terminal.note("measuring what passes cost here")
    found = calibrate(engine, QUICK_SECONDS if args.quick else CALIBRATION_SECONDS)
    return None if engine.pair.copies else found.prices()


class _Progress:
    """One line that says what runs and how long it will take; nothing where nobody reads it."""

    def __init__(self, terminal: Terminal, total: int) -> None:
        self._line = StatusLine(terminal)
        self._total = total
        self._began: float | None = None

    def __call__(self, done: int, turn: Turn | None) -> None:
        if turn is None:
            self._line.show("warming up, and a first look at each kind of text")
            return
        now = time.monotonic()
        self._began = now if self._began is None else self._began
        left = ""
        if done:
            seconds = (now - self._began) / done * (self._total - done)
            left = f", about {seconds:.0f} s left" if seconds < 90 else f", {seconds / 60:.0f} min"
        words = f"{turn.workload.kind}, {turn.arm.name}"
        self._line.show(f"{done} of {self._total} runs{left}: {words}")

    def end(self) -> None:
        """Take the line away."""
        self._line.clear()


def _place(pair: PairSpec, engine: Engine) -> BenchPlace:
    from ..bench.report import BenchPlace
    from ..figures import pair_label
    from ..this_machine import machine_label, power_source, versions

    return BenchPlace(
        pair=pair_label(pair),
        quantization=engine.pair.target.quantisation,
        machine=machine_label(),
        power=power_source(),
        versions=versions(),
        command=shlex.join(["mlx-specdec", *sys.argv[1:]]),
        date=time.strftime("%Y-%m-%d"),
        is_toy=bool(pair.target.built_in),
    )


def _show(
    args: argparse.Namespace, terminal: Terminal, result: BenchResult, place: BenchPlace
) -> None:
    from ..bench.details import bench_detail_lines
    from ..bench.plot import bench_svg
    from ..bench.report import bench_document, bench_lines, bench_markdown
    from ..bench.summary import summarise

    if args.json:
        print_json(terminal, {"schema": SCHEMA, **bench_document(result, place)})
    elif args.markdown:
        terminal.write(bench_markdown(result, place))
    else:
        for line in bench_lines(result):
            terminal.line(line)
        terminal.line()
        for line in bench_detail_lines(result):
            terminal.line(line)
    if args.plot:
        power = f", {place.power}" if place.power else ""
        below = f"{place.machine}{power}, MLX {place.versions.get('mlx', '')}, {place.date}"
        svg = bench_svg(summarise(result), place.pair, below)
        Path(args.plot).write_text(svg, encoding="utf-8")
        terminal.note(f"wrote {args.plot}")

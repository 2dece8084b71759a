"""``mlx-specdec demo``: the same answer without and with drafting, and what the difference was."""

from __future__ import annotations

import argparse
import secrets
from typing import TYPE_CHECKING, Any, cast

from ..errors import InvalidRequestError
from ..prompts import PROMPTS, Prompt, default_prompt, prompt_named
from ..registry import Registry
from ..settings import Settings
from .opening import go_offline_if_asked, open_engine, tell_blas, wanted_pair
from .options import (
    FIGURES,
    add_everyday_options,
    add_expert_options,
    add_pair_options,
    explicit_settings,
    proper_text,
    template_options,
)
from .parser import CommandParser
from .report import print_json
from .terminal import Terminal

if TYPE_CHECKING:
    from ..demo import DemoResult
    from ..engine import Engine

__all__ = ["add_arguments", "run"]

TOY_TEMPERATURE = 0.7  # at 0 a model as small as the built-in one repeats itself
DEFAULTS = Settings(max_tokens=160, think=False, rule="coupled")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``demo``."""
    ids = [prompt.id for prompt in PROMPTS]
    parser.add_argument(
        "words",
        metavar="PROMPT",
        nargs="?",
        help=f"a question of your own, or one of {', '.join(ids[:1] + ids[3:4])}, ... {ids[-1]}",
    )
    parser.add_argument("--prompt", "-p", metavar="TEXT", help=argparse.SUPPRESS)
    add_pair_options(parser, "a folder (default: tiny)", "(default: the target's own)")
    add_everyday_options(parser, "(default: 0; tiny: 0.7)", "(default: 160)")
    add = parser.add_argument
    add("--runs", type=int, default=3, metavar="N", help="timed runs of each, medians (3)")
    add("--plain", action="store_true", help="as text, which needs no screen of its own")
    add("--json", action="store_true", help="both lanes and the comparison as JSON")
    add_expert_options(parser)
    cast(CommandParser, parser).figures = (
        *FIGURES,
        *("accepted_per_proposed", "acceptance_by_position", "draft_prefill_seconds"),
        *("speedup", "end_to_end_speedup"),
    )


def run(args: argparse.Namespace) -> int:
    """Run both lanes and print the result; 0.

    Raises:
        SpecdecError: whatever stands in the way of it.
    """
    terminal = Terminal.of(args)
    if not 1 <= args.runs <= 100:
        raise InvalidRequestError(f"--runs {args.runs} is not usable.", "Take 1 to 100.")
    registry = Registry.load()
    args.target = args.target or "tiny"
    pair = wanted_pair(args, registry)
    if pair.draft is None:
        raise InvalidRequestError(
            f"A demo compares with drafting, and {pair.target.alias} has no draft here.",
            "Name one: --draft NAME, of the same family.",
        )
    settings = _settings(args, is_toy=bool(pair.target.built_in))
    options, system = template_options(args), proper_text(args.system_prompt or "")
    prompt = _prompt(args, is_toy=bool(pair.target.built_in))
    go_offline_if_asked(args)
    engine, pair = open_engine(args, terminal, pair, registry)
    from ..demo_words import Circumstances
    from ..this_machine import machine_label, power_source, versions
    from .demo_report import demo_document, show_demo

    with engine:
        tokens = _prompt_tokens(engine, prompt, system, settings, options)
        result = _race(terminal, engine, tokens, settings, args.runs)
        where = Circumstances(
            pair, machine_label(), power_source(), versions()["mlx"], prompt.id, args.runs
        )
        if args.json:
            print_json(terminal, demo_document(result, settings, prompt, where, engine.pair))
        else:
            show_demo(terminal, result, settings, prompt, where)
        tell_blas(terminal)
    return 0


def _settings(args: argparse.Namespace, is_toy: bool) -> Settings:
    if args.temp is None and is_toy:
        args.temp = TOY_TEMPERATURE
    settings = explicit_settings(args, DEFAULTS)
    if settings.lookahead == 0:
        raise InvalidRequestError("--lookahead 0 does not draft.", "A demo needs 1 to 16.")
    # One seed for every run: with rule coupled it makes the same text each time.
    return settings if settings.seed is not None else settings.changed(seed=secrets.randbits(31))


def _prompt(args: argparse.Namespace, is_toy: bool) -> Prompt:
    if args.words is not None and args.prompt is not None:
        raise InvalidRequestError("There are two prompts.", "Give one.")
    words = args.words if args.words is not None else args.prompt
    if words is None:
        return default_prompt(is_toy)
    if not words.strip():
        raise InvalidRequestError("The prompt is empty.", "Give at least one word.")
    return prompt_named(words) or Prompt("", "own", proper_text(words))


def _prompt_tokens(
    engine: Engine, prompt: Prompt, system: str, settings: Settings, options: Any
) -> list[int]:
    from ..conversation import Conversation

    conversation = Conversation(system, template_options=options)
    conversation.say("user", prompt.text)
    return engine.thread.call(
        lambda: conversation.prompt_tokens(engine.pair.tokenizer, settings.think)
    )


def _race(
    terminal: Terminal, engine: Engine, tokens: list[int], settings: Settings, runs: int
) -> DemoResult:
    from ..demo import run_demo

    seen: set[int] = set()

    def on_run(run: int, lane: str) -> None:
        if run not in seen:
            seen.add(run)
            terminal.begin(f", run {run} of {runs}" if run else "warming up")

    result = run_demo(engine, tokens, settings, runs, on_run)
    terminal.begin("\n\n")
    return result

"""``mlx-specdec demo``: the same answer without and with drafting, and what the difference was."""

from __future__ import annotations

import argparse
from random import SystemRandom
from typing import cast

from ..errors import InvalidRequestError
from ..model_spec import PairSpec
from ..prompts import PROMPTS, Prompt, default_prompt, edit_prompt, prompt_named
from ..registry import Registry
from ..settings import Settings
from .app_opening import add_app_options, open_race, wants_app
from .cards import wants_cards
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
from .race_options import RaceOptions, add_race_options, race_options
from .report import print_json
from .terminal import Terminal

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
    add_race_options(parser)
    add("--plain", action="store_true", help="as text, which needs no screen of its own")
    add("--json", action="store_true", help="both lanes and the comparison as JSON")
    add_app_options(parser)
    add_expert_options(parser)
    cast(CommandParser, parser).figures = (
        *FIGURES,
        *("accepted_per_proposed", "acceptance_by_position", "draft_prefill_seconds"),
        *("speedup", "end_to_end_speedup"),
    )


def run(args: argparse.Namespace) -> int:
    """Open the app at the race on a terminal; elsewhere race and print the result; 0.

    Raises:
        SpecdecError: whatever stands in the way of it.
    """
    terminal = Terminal.of(args)
    args.plain = args.plain or wants_cards(args)
    race = race_options(args, is_on_screen=wants_app(args, terminal))
    if race.replay is not None:
        if wants_app(args, terminal):
            return open_race(args, DEFAULTS, None)
        from .race_report import replay_as_text

        code = replay_as_text(terminal, race.replay, race.chip)
        race.cards.write_replay(terminal, race.replay, race.chip)
        return code
    return _run_here(args, terminal, race)


def _run_here(args: argparse.Namespace, terminal: Terminal, race: RaceOptions) -> int:
    """Race with models that are loaded here."""
    registry = Registry.load()
    args.target = args.target or "tiny"
    pair = wanted_pair(args, registry)
    if not pair.drafts:
        raise InvalidRequestError(
            f"A demo compares with drafting, and {pair.target.alias} has no draft here.",
            "Name one: --draft NAME, of the same family, or --draft copy.",
        )
    if wants_app(args, terminal):
        own = args.words is not None or args.prompt is not None
        prompt = _prompt(args, pair)
        return open_race(args, explicit_settings(args, DEFAULTS), prompt if own else None)
    settings = _settings(args, is_toy=bool(pair.target.built_in))
    options, system = template_options(args), proper_text(args.system_prompt or "")
    prompt = _prompt(args, pair)
    go_offline_if_asked(args)
    engine, pair = open_engine(args, terminal, pair, registry)
    # Imported after the question before a download: these import MLX.
    from ..ledger.last_run import remember_run
    from .demo_races import Conditions, loop, raced

    with engine:
        conditions = Conditions(engine, pair, settings, system, options)
        if race.is_looping:
            own = args.words is not None or args.prompt is not None
            return loop(terminal, conditions, prompt if own else None, race.chip)
        done = raced(terminal, conditions, prompt, race)
        if args.json:
            print_json(terminal, done.document())
        else:
            done.show(terminal)
        if done.result.race is not None:
            remember_run(done.result.race)
            race.cards.write(terminal, done.result.race, race.runs)
        tell_blas(terminal)
    return 0


def _settings(args: argparse.Namespace, is_toy: bool) -> Settings:
    if args.temp is None and is_toy:
        args.temp = TOY_TEMPERATURE
    settings = explicit_settings(args, DEFAULTS)
    if settings.lookahead == 0:
        raise InvalidRequestError("--lookahead 0 does not draft.", "A demo needs 1 to 16.")
    if settings.seed is not None:
        return settings
    # One seed for every run: with rule coupled it makes the same text each time.
    return settings.changed(seed=SystemRandom().getrandbits(31))


def _prompt(args: argparse.Namespace, pair: PairSpec) -> Prompt:
    if args.words is not None and args.prompt is not None:
        raise InvalidRequestError("There are two prompts.", "Give one.")
    words = args.words if args.words is not None else args.prompt
    if words is None:
        is_toy = bool(pair.target.built_in)
        return edit_prompt(is_toy) if pair.copies else default_prompt(is_toy)
    if not words.strip():
        raise InvalidRequestError("The prompt is empty.", "Give at least one word.")
    return prompt_named(words) or Prompt("", "own", proper_text(words))

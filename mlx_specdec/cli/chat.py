"""``mlx-specdec chat``: a conversation, line by line."""

from __future__ import annotations

import argparse

from ..errors import ModelNotFoundError, SpecdecError
from ..model_spec import PairSpec
from ..registry import Registry
from ..settings import Settings, settings_from
from .chat_loop import ChatLoop
from .interrupts import Interrupts
from .opening import go_offline_if_asked, names, open_engine, wanted_pair
from .options import (
    add_everyday_options,
    add_expert_options,
    add_pair_options,
    explicit_settings,
    proper_text,
    template_options,
)
from .terminal import Terminal

__all__ = ["add_arguments", "run"]

DEFAULTS = Settings(max_tokens=4096)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``chat``."""
    add_pair_options(
        parser, "a folder (default: the last, else the best on disk)", "(default: the target's own)"
    )
    add_everyday_options(parser, "(default: the model's own)", "(default: 4096)")
    add_expert_options(parser)


def run(args: argparse.Namespace) -> int:
    """Talk until the person leaves; 0, or 130 after two Ctrl-C.

    Raises:
        SpecdecError: whatever stands in the way of the first line.
    """
    terminal = Terminal.of(args)
    explicit_settings(args, DEFAULTS)  # a wrong value is said before anything is loaded
    options = template_options(args)
    go_offline_if_asked(args)
    registry = Registry.load()
    pair = wanted_pair(args, registry) if args.target else _unnamed_pair(args, terminal, registry)
    engine, pair = open_engine(args, terminal, pair, registry)
    from ..last_pair import remember_pair

    remember_pair(pair)
    with engine:
        conversation = engine.session.conversation
        conversation.system = proper_text(args.system_prompt or "")
        conversation.template_options = options
        settings = explicit_settings(args, _model_settings(engine.pair.generation_defaults))
        loop = ChatLoop(terminal, engine, pair, settings, Interrupts())
        return loop.run()


def _model_settings(defaults: dict[str, object]) -> Settings:
    """What the model's makers recommend; nothing where their values make no sense to us."""
    try:
        return settings_from(DEFAULTS, **defaults)
    except SpecdecError:
        return DEFAULTS


def _unnamed_pair(args: argparse.Namespace, terminal: Terminal, registry: Registry) -> PairSpec:
    from ..pair_choice import choose_pair, pair_to_fetch
    from ..this_machine import can_run, this_machine

    machine = this_machine()
    choice = choose_pair(registry, machine, can_run)
    if choice is None:
        pair = pair_to_fetch(registry, machine, can_run)
        words = f"--target {pair.target.alias}"
        if pair.draft is not None:
            words += f" --draft {pair.draft.alias}"
        raise ModelNotFoundError(
            f"There is no model on this disk to talk with; {pair.target.alias} would suit this "
            "machine.",
            f"Try: mlx-specdec chat {words} (it asks before it downloads), or the built-in toy: "
            "--target tiny.",
        )
    pair = (
        choice.pair
        if args.draft is None
        else registry.resolve_pair(choice.pair.target.alias, args.draft)
    )
    if args.draft is None and choice.missing_draft:
        terminal.note(
            f"not drafting: {choice.missing_draft}, the draft of {pair.target.alias}, is not on "
            f"this disk. Fetch it: mlx-specdec pull {choice.missing_draft}"
        )
    origin = "the pair used last" if choice.why == "last" else "the best on this disk"
    terminal.note(f"{names(pair)}: {origin}")
    return pair

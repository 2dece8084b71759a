"""``mlx-specdec chat``: a conversation; in the app on a terminal, line by line elsewhere."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from ..chat.file import ChatFile
from ..chat.record import ChatHeader, SavedChat
from ..chat.settings import kept_settings, resumed_settings
from ..chat.store import ChatStore
from ..errors import ModelNotFoundError, SpecdecError
from ..figures import pair_names
from ..last_pair import draft_name, remember_pair, spec_name
from ..model_spec import PairSpec
from ..registry import Registry
from ..settings import Settings, settings_from
from .app_opening import add_app_options, pair_request, wants_app
from .chat_loop import ChatLoop
from .interrupts import Interrupts
from .opening import go_offline_if_asked, open_engine, wanted_pair
from .options import (
    add_everyday_options,
    add_expert_options,
    add_pair_options,
    explicit_settings,
    proper_text,
    template_options,
)
from .terminal import Terminal

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["add_arguments", "run"]

DEFAULTS = Settings(max_tokens=4096)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``chat``."""
    add_pair_options(
        parser, "a folder (default: the last, else the best on disk)", "(default: the target's own)"
    )
    add_everyday_options(parser, "(default: the model's own)", "(default: 4096)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue", dest="goes_on", action="store_true", help="go on with the last chat"
    )
    which.add_argument("--resume", metavar="NAME", help="go on with a chat kept before")
    add = parser.add_argument
    add("--no-save", action="store_true", help="do not keep this chat")
    add("--plain", action="store_true", help="line by line, also on a terminal")
    add_app_options(parser)
    add_expert_options(parser)


def run(args: argparse.Namespace) -> int:
    """Talk until the person leaves; 0, or 130 after two Ctrl-C.

    Raises:
        SpecdecError: whatever stands in the way of the first line.
    """
    terminal = Terminal.of(args)
    explicit_settings(args, DEFAULTS)  # a wrong value is said before anything is loaded
    template_options(args)
    go_offline_if_asked(args)
    store = ChatStore()
    resumed = _resumed(args, store)
    if resumed is not None and not args.target:
        args.target = resumed.header.target
        args.draft = resumed.header.draft if args.draft is None else args.draft
    if wants_app(args, terminal):
        return _open_app(args, store, resumed)
    registry = Registry.load()
    pair = wanted_pair(args, registry) if args.target else _unnamed_pair(args, terminal, registry)
    engine, pair = open_engine(args, terminal, pair, registry)
    remember_pair(pair)
    with engine:
        return _loop(args, terminal, engine, pair, store, resumed)


def _resumed(args: argparse.Namespace, store: ChatStore) -> SavedChat | None:
    if args.goes_on:
        return store.latest()
    return store.read(proper_text(args.resume)) if args.resume else None


def _open_app(args: argparse.Namespace, store: ChatStore, resumed: SavedChat | None) -> int:
    from tui.chat.opening import ChatOpening
    from tui.launch import launch
    from tui.opening import AppOpening

    if args.color == "never":
        os.environ["NO_COLOR"] = "1"
    chat = ChatOpening(
        store=store,
        is_kept=not args.no_save,
        resumed=resumed,
        system=None if args.system_prompt is None else proper_text(args.system_prompt),
        template_options=template_options(args),
        with_options=lambda settings: explicit_settings(args, settings),
    )
    return launch(
        AppOpening(
            screen="chat",
            request=pair_request(args),
            settings=DEFAULTS,
            measures_when_idle=not args.no_idle_measuring,
            more={"chat": chat},
        )
    )


def _loop(
    args: argparse.Namespace,
    terminal: Terminal,
    engine: Engine,
    pair: PairSpec,
    store: ChatStore,
    resumed: SavedChat | None,
) -> int:
    settings = _model_settings(engine.pair.generation_defaults)
    conversation = engine.session.conversation
    conversation.template_options = template_options(args)
    system = proper_text(args.system_prompt or "")
    if resumed is not None:
        settings = resumed_settings(settings, resumed.header.settings)
        system = resumed.header.system if args.system_prompt is None else system
        conversation.messages[:] = [turn.message for turn in resumed.turns]
    conversation.system = system
    settings = explicit_settings(args, settings)
    header = ChatHeader(spec_name(pair.target), draft_name(pair), kept_settings(settings), system)
    kept = ChatFile(None if args.no_save else store, header, resumed)
    try:
        return ChatLoop(terminal, engine, pair, settings, Interrupts(), kept).run()
    finally:
        kept.close()


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
    terminal.note(f"{pair_names(pair)}: {origin}")
    return pair

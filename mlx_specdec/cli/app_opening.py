"""From the words of a command to the app: whether it opens, and with what."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..prompts import Prompt
from ..settings import Settings
from .options import proper_text, template_options
from .terminal import Terminal

if TYPE_CHECKING:
    from tui.opening import PairRequest

__all__ = ["add_app_options", "open_race", "pair_request", "wants_app"]


def add_app_options(parser: argparse.ArgumentParser) -> None:
    """The group "app": what only a screen can honour."""
    parser.add_argument_group("app").add_argument(
        "--no-idle-measuring",
        action="store_true",
        help="do not time a new pair's passes while nobody types",
    )


def wants_app(args: argparse.Namespace, terminal: Terminal) -> bool:
    """Whether a person sits at a terminal that can show a screen, and did not ask for text."""
    able = terminal.out_is_terminal and terminal.err_is_terminal  # the app draws on the latter
    able = able and os.environ.get("TERM", "") not in ("", "dumb")
    return able and sys.stdin.isatty() and not (args.plain or getattr(args, "json", False))


def pair_request(args: argparse.Namespace) -> PairRequest:
    """Which pair the app is to load, and how."""
    from tui.opening import PairRequest

    return PairRequest(
        target=args.target,
        draft=args.draft,
        kv_bits=args.kv_bits,
        kv_group_size=args.kv_group_size,
        trust_remote_code=args.trust_remote_code,
        extra_eos_tokens=tuple(args.extra_eos_token or ()),
        yes=args.yes,
        force=args.force,
        offline=args.offline,
    )


def open_race(args: argparse.Namespace, settings: Settings, prompt: Prompt | None) -> int:
    """Open the app at the race, with what ``demo`` was asked for; its exit code.

    Args:
        settings: of the race, checked already.
        prompt: None takes the one that suits the pair.
    """
    from tui.launch import launch
    from tui.opening import AppOpening

    if args.color == "never":
        os.environ["NO_COLOR"] = "1"
    replay, record = getattr(args, "replay", None), getattr(args, "record", None)
    opening = AppOpening(
        request=None if replay else pair_request(args),
        prompt=prompt,
        race_settings=settings,
        is_temperature_set=args.temp is not None,
        system=proper_text(args.system_prompt or ""),
        template_options=template_options(args),
        replay=Path(replay) if replay else None,
        record=Path(record) if record else None,
        chip=getattr(args, "clock", None) or "",
        speed=getattr(args, "speed", None),
        is_looping=bool(getattr(args, "loop", False)),
        measures_when_idle=not getattr(args, "no_idle_measuring", False),
    )
    return launch(opening)

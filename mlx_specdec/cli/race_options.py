"""The options of ``demo`` about the race itself: recording, replaying, its clock, repeating it."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InvalidRequestError
from .cards import Cards, add_card_options, cards

if TYPE_CHECKING:
    from ..costs.machines import Chip

__all__ = ["RaceOptions", "add_race_options", "race_options"]

DEFAULT_RUNS = 3
_SPEEDS = {"true": 1.0, "half": 0.5}
# What shapes a race that runs, and so cannot shape one that is replayed.
_OF_A_RUN = (
    *("words", "prompt", "target", "draft", "lookahead", "temp", "max_tokens", "seed"),
    *("system_prompt", "think", "top_p", "top_k", "min_p", "repetition_penalty"),
    *("repetition_context_size", "presence_penalty", "presence_context_size"),
    *("frequency_penalty", "frequency_context_size", "stop", "extra_eos_token", "kv_bits"),
    *("rule", "chat_template_config", "runs", "detail"),
)


@dataclass(frozen=True, slots=True)
class RaceOptions:
    """What was asked for, checked.

    Args:
        runs: races of one prompt, of which the medians are shown.
        replay, record: files.
        chip: whose published costs re-time the race.
        speed: race seconds a second on the screen; None takes what suits the race.
        is_looping: race after race over the built-in prompts.
        cards: what of it is written as a picture.
    """

    runs: int = DEFAULT_RUNS
    replay: Path | None = None
    record: Path | None = None
    chip: Chip | None = None
    speed: float | None = None
    is_looping: bool = False
    cards: Cards = field(default_factory=Cards)


DETAIL = 12  # words of each law


def add_race_options(parser: argparse.ArgumentParser) -> None:
    """--runs, and the group "race"."""
    parser.add_argument(
        "--runs", type=int, metavar="N", help=f"races, of which the medians ({DEFAULT_RUNS})"
    )
    group = parser.add_argument_group("race")
    add = group.add_argument
    add("--record", metavar="FILE", help="keep the race as a file (JSONL)")
    add(
        "--detail",
        action="store_const",
        const=DETAIL,
        help="with every pass the likeliest words, for step mode; a little slower",
    )
    add("--replay", metavar="FILE", help="show a kept race; needs no model and no MLX")
    add_card_options(group)
    add("--clock", metavar="CHIP", help="re-time it by a chip's published costs, such as m3-pro")
    add("--loop", action="store_true", help="race on; a scoreboard by kind of text at Ctrl-C")
    add("--speed", metavar="S", help="on the screen: true, half, or a factor such as 0.02")


def race_options(args: argparse.Namespace, is_on_screen: bool) -> RaceOptions:
    """The options, and ``args`` with ``speed`` as a number.

    Args:
        is_on_screen: the app will show the race, not text.

    Raises:
        InvalidRequestError: a value outside its range, or two options that exclude each other.
    """
    _check_pairs(args, is_on_screen)
    chip = _chip_named(args.clock) if args.clock is not None else None
    args.speed = _speed(args.speed)
    runs = DEFAULT_RUNS if args.runs is None else args.runs
    if not 1 <= runs <= 100:
        raise InvalidRequestError(f"--runs {runs} is not usable.", "Take 1 to 100.")
    record = Path(args.record) if args.record is not None else None
    if record is not None and (record.is_dir() or not record.absolute().parent.is_dir()):
        what = "is a folder" if record.is_dir() else "is in a folder that does not exist"
        raise InvalidRequestError(f"--record {record} {what}.", "Name a file in a folder that is.")
    replay = Path(args.replay) if args.replay is not None else None
    return RaceOptions(runs, replay, record, chip, args.speed, args.loop, cards(args))


def _check_pairs(args: argparse.Namespace, is_on_screen: bool) -> None:
    if args.replay is not None:
        for name in ("record", "loop", "json"):
            if getattr(args, name):
                raise _excluded(f"--{name}", "--replay shows a race that was kept already")
        given = [name for name in _OF_A_RUN if getattr(args, name, None) is not None]
        if given:
            option = "A prompt" if given[0] in ("words", "prompt") else _option(given[0])
            raise _excluded(option, "--replay shows the race as it was run")
    if args.loop:
        for name in ("record", "json", "card", "moving_card"):
            if getattr(args, name):
                raise _excluded(_option(name), "--loop goes on from race to race")
        if args.runs is not None:
            raise _excluded("--runs", "--loop races until Ctrl-C")
    if args.record is not None and args.clock is not None:
        raise InvalidRequestError(
            "--record keeps what was measured, and --clock puts other seconds in.",
            "Record without --clock, then: mlx-specdec demo --replay FILE --clock CHIP.",
        )
    if args.speed is not None and not is_on_screen:
        raise InvalidRequestError(
            "--speed is how fast the screen shows a race, and this is text, shown at once.",
            "Leave it out, or run on a terminal without --plain and --json.",
        )


def _chip_named(name: str) -> Chip:
    from ..race.retiming import chip_named  # with its tables, which few races need

    return chip_named(name)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _excluded(option: str, reason: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"{option} cannot be honoured: {reason}.", "Leave one of the two out."
    )


def _speed(words: str | None) -> float | None:
    if words is None:
        return None
    try:
        speed = _SPEEDS[words] if words in _SPEEDS else float(words)
    except ValueError:
        speed = math.nan
    if not 0 < speed <= 100:
        raise InvalidRequestError(
            f"--speed {words} is not usable.", "Take true, half, or a factor such as 0.02."
        )
    return speed

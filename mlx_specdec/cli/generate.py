"""``mlx-specdec generate``: one answer, its text alone on standard output."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, cast

from ..errors import UsageError
from ..figures import limit_note, summary
from ..registry import Registry
from ..settings import Settings
from .answer_view import AnswerView
from .opening import go_offline_if_asked, open_engine, wanted_pair
from .options import (
    add_everyday_options,
    add_expert_options,
    add_pair_options,
    explicit_settings,
    proper_text,
    template_options,
)
from .parser import CommandParser
from .remembering import remember_reply
from .report import print_json, reply_fields
from .terminal import Terminal

if TYPE_CHECKING:
    from ..engine import Engine, Stream

__all__ = ["add_arguments", "run"]

DEFAULTS = Settings(max_tokens=512)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``generate``."""
    parser.add_argument(
        "words", metavar="PROMPT", nargs="?", help="the prompt; - reads it from a pipe"
    )
    parser.add_argument("--prompt", "-p", metavar="TEXT", help=argparse.SUPPRESS)
    add_pair_options(parser, "a folder", "(default: the target's own)")
    add_everyday_options(parser, "(default: 0)", "(default: 512)")
    parser.add_argument("--json", action="store_true", help="text, tokens and figures as JSON")
    add_expert_options(parser)
    cast(CommandParser, parser).synonym("--ignore-chat-template", dest="raw", action="store_true")
    parser.set_defaults(raw=False)


def run(args: argparse.Namespace) -> int:
    """Print one answer; 0.

    Raises:
        SpecdecError: whatever stands in the way of it.
    """
    terminal = Terminal.of(args)
    settings = explicit_settings(args, DEFAULTS)
    options = template_options(args)
    if args.target is None:
        raise UsageError(
            "generate needs a model.", "Such as --target tiny; `mlx-specdec models` lists them."
        )
    registry = Registry.load()
    pair = wanted_pair(args, registry)
    prompt = _prompt(args)
    go_offline_if_asked(args)
    engine, pair = open_engine(args, terminal, pair, registry)
    with engine:
        engine.session.conversation.system = proper_text(args.system_prompt or "")
        engine.session.conversation.template_options = options
        stream = (
            engine.answer(prompt, settings, raw=True) if args.raw else engine.ask(prompt, settings)
        )
        if args.json:
            print_json(terminal, reply_fields(stream.reply(), settings, pair, engine.pair))
        else:
            _show(terminal, engine, stream, settings)
        remember_reply(pair, settings, stream.seen)
    return 0


def _show(terminal: Terminal, engine: Engine, stream: Stream, settings: Settings) -> None:
    view: AnswerView | None = None
    for event in stream.events():
        view = view or AnswerView(terminal, engine.session.begins_thinking)
        view.show(event)
    if view is None:
        return
    view.end()
    note = limit_note(view.reason, settings.max_tokens, view.is_thinking)
    if note and not terminal.quiet:
        terminal.warn(note)
    terminal.note(summary(stream.metrics))


def _prompt(args: argparse.Namespace) -> str:
    given = [text for text in (args.words, args.prompt) if text is not None]
    if len(given) > 1:
        raise UsageError("There are two prompts.", "Give one, as a word of its own or with -p.")
    text: str = given[0] if given else "-"
    if text == "-":
        if not given and sys.stdin.isatty():
            raise UsageError(
                "There is no prompt.", 'Such as: mlx-specdec generate --target tiny "Hello".'
            )
        text = _standard_input(args.raw)
    if not text.strip():
        raise UsageError("The prompt is empty.", "Give at least one word.")
    return proper_text(text)


def _standard_input(is_raw: bool) -> str:
    try:
        text = sys.stdin.read()
    except UnicodeDecodeError as error:
        raise UsageError(f"Standard input is not text: {error}.", "Give UTF-8.") from None
    return text if is_raw else text.rstrip("\n")

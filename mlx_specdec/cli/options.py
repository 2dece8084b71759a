"""Options that several commands share, and what they mean as Settings."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any, cast

from ..errors import InvalidRequestError
from ..request import AUTO, RULE_NAMES, Lookahead
from ..settings import Settings, settings_from
from .parser import CommandParser

__all__ = [
    "FIGURES",
    "add_everyday_options",
    "add_expert_options",
    "add_pair_options",
    "explicit_settings",
    "lookahead_value",
    "proper_text",
    "template_options",
]

FIGURES = ("tokens_per_second", "tokens_per_target_pass", "acceptance_rate", "ttft_seconds")
_SAMPLING = {
    "temp": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "repetition_penalty": "repetition_penalty",
    "repetition_context_size": "repetition_context_size",
    "presence_penalty": "presence_penalty",
    "presence_context_size": "presence_context_size",
    "frequency_penalty": "frequency_penalty",
    "frequency_context_size": "frequency_context_size",
}
_PLAIN = ("lookahead", "rule", "seed", "think", "detail")


def add_pair_options(parser: argparse.ArgumentParser, target: str, draft: str) -> None:
    """--target, --draft and --lookahead; the words say what is taken when they are not given."""
    add = parser.add_argument
    add(
        "--target",
        metavar="NAME",
        help=f"model that answers: a name, org/name, {target}",
    )
    add("--draft", metavar="NAME", help=f"model that guesses ahead, copy, or none {draft}")
    words = "tokens guessed a round, 0 to 16 (default: auto)"
    add("--lookahead", type=lookahead_value, metavar="N", help=words)
    synonym = cast(CommandParser, parser).synonym
    synonym("--model", dest="target", metavar="NAME")
    synonym("--draft-model", dest="draft", metavar="NAME")
    synonym("--num-draft-tokens", dest="lookahead", type=lookahead_value, metavar="N")


def lookahead_value(text: str) -> Lookahead:
    """``auto`` or a whole number, as typed."""
    if text.strip().lower() == AUTO:
        return AUTO
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither auto nor a number") from None


def add_everyday_options(parser: argparse.ArgumentParser, temp: str, max_tokens: str) -> None:
    """--temp, --max-tokens, --seed, --system-prompt, --think."""
    add = parser.add_argument
    add("--temp", type=float, metavar="T", help=f"temperature, 0 is the likeliest token {temp}")
    add("--max-tokens", "-m", type=int, metavar="N", help=f"-1 is no limit {max_tokens}")
    add("--seed", type=int, metavar="N", help="makes sampling repeat (default: a fresh one)")
    add("--system-prompt", metavar="TEXT", help="what the model is told beforehand")
    add(
        "--think",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="let a model think first, or not",
    )
    cast(CommandParser, parser).synonym("--temperature", dest="temp", type=float)


def add_expert_options(parser: argparse.ArgumentParser) -> None:
    """The groups of ``--help-all``: sampling, cache, expert; and what we refuse of mlx-lm."""
    group = parser.add_argument_group("sampling")
    add = group.add_argument
    add("--top-p", type=float, metavar="P", help="keep the likeliest tokens up to this share")
    add("--top-k", type=int, metavar="N", help="keep the N likeliest tokens")
    add("--min-p", type=float, metavar="P", help="keep tokens this likely beside the likeliest")
    for kind in ("repetition", "presence", "frequency"):
        off = "1" if kind == "repetition" else "0"
        add(f"--{kind}-penalty", type=float, metavar="X", help=f"{off} is off")
        add(f"--{kind}-context-size", type=int, metavar="N", help="tokens looked back (20)")
    add("--stop", action="append", metavar="TEXT", help="ends the answer; may be repeated")
    add("--extra-eos-token", action="append", metavar="TOKEN", help="ends it as well; repeatable")
    group = parser.add_argument_group("cache")
    add = group.add_argument
    add("--kv-bits", type=int, metavar="N", help="quantise both caches from the first token on")
    add(
        "--kv-group-size", type=int, default=64, metavar="N", help="numbers that share a scale (64)"
    )
    group = parser.add_argument_group("expert")
    add = group.add_argument
    add("--rule", choices=RULE_NAMES, help="how guesses are judged; every rule is exact")
    add("--chat-template-config", metavar="JSON", help="options for the model's chat template")
    add("--trust-remote-code", action="store_true", help="run Python code that a model brings")
    add("--yes", "-y", action="store_true", help="download without asking")
    add("--offline", action="store_true", help="never ask the hub")
    add("--force", action="store_true", help="run what this machine is too slow for")
    _refuse(cast(CommandParser, parser))
    cast(CommandParser, parser).figures = FIGURES


def _refuse(parser: CommandParser) -> None:
    for names, reason, fix in (
        (("--adapter-path",), "a draft is matched to whole models", "Fuse it first: mlx_lm.fuse."),
        (
            ("--prompt-cache-file",),
            "a saved cache holds one model's, and a pair needs two",
            "In `chat` the cache is kept from turn to turn.",
        ),
        (
            ("--max-kv-size",),
            "a cache that drops its oldest tokens cannot take guesses back",
            "To save memory there is --kv-bits.",
        ),
        (
            ("--xtc-probability", "--xtc-threshold"),
            "it throws a coin of its own for every token, which no exact rule knows",
            "Take --temp, --top-p or --min-p.",
        ),
        (("--min-tokens-to-keep",), "--min-p always keeps the likeliest token", "Leave it out."),
        (
            ("--prefill-step-size",),
            "the chunks follow the machine, so that Ctrl-C is answered",
            "Leave it out.",
        ),
        (
            ("--quantized-kv-start",),
            "caches are quantised from the first token on",
            "Take --kv-bits alone.",
        ),
        (("--prefill-response",), "answers begin where the template says", "Leave it out."),
        (("--image",), "models that see are not supported", "Ask in words."),
    ):
        for name in names:
            parser.refuse(name, reason=reason, fix=fix, values="?")
    for name, reason, fix in (
        ("--use-default-chat-template", "there is only the model's own template", "Leave it out."),
        ("--quantize-activations", "activations stay as they are", "Leave it out."),
        ("--pipeline", "one machine runs the pair", "Leave it out."),
    ):
        parser.refuse(name, reason=reason, fix=fix, values=0)


def explicit_settings(args: argparse.Namespace, base: Settings) -> Settings:
    """``base`` with what the options name; checked now, before anything is loaded.

    Raises:
        InvalidRequestError: a value outside its range.
    """
    given: dict[str, Any] = {
        field: getattr(args, name)
        for name, field in _SAMPLING.items()
        if getattr(args, name, None) is not None
    }
    given |= {n: getattr(args, n) for n in _PLAIN if getattr(args, n, None) is not None}
    if args.max_tokens is not None:
        given["max_tokens"] = None if args.max_tokens == -1 else args.max_tokens
    if getattr(args, "stop", None):
        given["stop"] = tuple(args.stop)
    settings = settings_from(base, **given)
    settings.request((0,))
    return settings


def proper_text(words: str) -> str:
    """Words of the command line without bytes that are no text (they arrive as surrogates)."""
    return words.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def template_options(args: argparse.Namespace) -> Mapping[str, Any]:
    """What ``--chat-template-config`` says.

    Raises:
        InvalidRequestError: it is not a JSON object.
    """
    if args.chat_template_config is None:
        return {}
    try:
        options = json.loads(args.chat_template_config)
    except ValueError as error:
        raise InvalidRequestError(
            f"--chat-template-config is not JSON: {error}.",
            """Such as '{"enable_thinking": false}'.""",
        ) from None
    if not isinstance(options, dict):
        raise InvalidRequestError(
            "--chat-template-config must be a JSON object.",
            """Such as '{"enable_thinking": false}'.""",
        )
    return options

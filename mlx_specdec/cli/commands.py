"""The subcommands: a name, a line and three examples each. Modules of these names do the work."""

from __future__ import annotations

import difflib
import textwrap
from dataclasses import dataclass

from ..errors import UsageError

__all__ = ["COMMANDS", "Command", "command_named", "overview"]


@dataclass(frozen=True, slots=True)
class Command:
    """``usage`` is what comes after the name; ``summary`` one line below 80 characters."""

    name: str
    usage: str
    summary: str
    examples: tuple[str, ...]


_TABLE = (
    Command(
        "demo",
        "[options] [PROMPT]",
        "The same answer without and with drafting: in the app, or as text.",
        ("demo", "demo code-1", 'demo --target qwen3-14b "Why is the sky blue?"'),
    ),
    Command(
        "chat",
        "[options]",
        "Talk with a model: the app on a terminal, line by line in a pipe.",
        (
            "chat --continue",
            "chat --target qwen3-14b --draft qwen3-0.6b",
            'chat --target qwen3-4b --no-think --system-prompt "Be brief."',
        ),
    ),
    Command(
        "generate",
        "[options] [PROMPT | -]",
        "One answer, its text alone on standard output.",
        (
            'generate --target qwen3-14b "Why is the sky blue?"',
            "generate --target qwen3-14b --json - < question.txt",
            'generate --target tiny --temp 0.7 "What does lantern mean?"',
        ),
    ),
    Command(
        "models",
        "[options]",
        "The models with a short name: size, draft, where on this disk.",
        ("models", "models --fits", "models --on-disk --json"),
    ),
    Command(
        "pull",
        "[options] NAME|PAIR",
        "Download a model or a pair; nothing is fetched twice.",
        ("pull qwen3-0.6b", "pull qwen3-14b --with-draft", "pull qwen3-14b+qwen3-0.6b"),
    ),
    Command(
        "bench",
        "[options]",
        "Every way of decoding on written-down workloads, mlx-lm among them.",
        (
            "bench --quick",
            "bench --target qwen3-14b --markdown",
            "bench --kinds code,prose --lookaheads auto,2,4,6 --plot bench.svg",
        ),
    ),
    Command(
        "forecast",
        "[options] TARGET [DRAFT]",
        "What a pair would do on this machine, before it is downloaded.",
        (
            "forecast qwen3-14b qwen3-0.6b",
            "forecast qwen3-14b --formats",
            "forecast qwen3-14b --chip m3-pro",
        ),
    ),
    Command(
        "doctor",
        "[options] [TARGET [DRAFT]]",
        "Is all well on this machine, and which pairs pay? In two seconds.",
        ("doctor", "doctor --json", "doctor qwen3-14b"),
    ),
    Command(
        "audit",
        "[options]",
        "Does drafting change what the target says? Checks that can fail.",
        ("audit --quick", "audit --target qwen3-14b", "audit --quick --json"),
    ),
    Command(
        "explain",
        "[options] [WORD]",
        "How drafting works and why it is exact: one round, taken apart.",
        ("explain", "explain --rule block", "explain overlap"),
    ),
    Command(
        "ledger",
        "[FILE] | --acceptance A --draft-cost C [options]",
        "Where the last run's time went; with figures, what drafting gains.",
        (
            "ledger",
            "ledger race.jsonl --json",
            "ledger --acceptance 0.74 --draft-cost 0.12 --lookahead 5",
        ),
    ),
)
COMMANDS = {command.name: command for command in _TABLE}

_STARTS = (
    ("mlx-specdec demo", "see it work, without a download"),
    ("mlx-specdec chat --target qwen3-4b", "talk; asks before it downloads"),
    ('mlx-specdec generate --target tiny "Hello"', "one answer, for scripts"),
)


def overview(is_full: bool = False) -> str:
    """What ``mlx-specdec`` says without a command; with ``--help`` the commands as well."""
    lines = ["mlx-specdec: speculative decoding on MLX, exact, priced and visible.", ""]
    lines += [f"  {start:<44} {what}" for start, what in _STARTS]
    if is_full:
        lines += ["", "commands"]
        lines += [f"  {command.name:<10} {command.summary}" for command in _TABLE]
        lines += [
            "",
            "everywhere",
            "  -q, -v, --version  say less, say more; the versions of this program and of MLX",
            "  --color WHEN       auto, always or never (NO_COLOR is honoured)",
            "  --debug            keep a log; its path is printed",
        ]
    if is_full:
        lines.append("`mlx-specdec COMMAND --help` shows a command's options.")
    else:
        names = f"Commands: {', '.join(COMMANDS)}. More: mlx-specdec --help"
        lines += ["", *textwrap.wrap(names, 79)]
    return "\n".join(lines) + "\n"


def command_named(name: str) -> Command:
    """The command of that name.

    Raises:
        UsageError: there is none; the hint names the nearest one.
    """
    command = COMMANDS.get(name)
    if command is not None:
        return command
    near = difflib.get_close_matches(name, list(COMMANDS), n=1, cutoff=0.5)
    raise UsageError(
        f"There is no command {name!r}.",
        f"Did you mean `mlx-specdec {near[0]}`?" if near else f"Commands: {', '.join(COMMANDS)}.",
    )

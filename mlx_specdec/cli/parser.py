"""CommandParser: argparse with a help that fits a screen and errors in one line."""

from __future__ import annotations

import argparse
import difflib
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn

from ..errors import InvalidRequestError, UsageError
from ..metrics import DEFINITIONS
from .commands import Command

__all__ = ["CommandParser"]

_WIDTH = 80
_COLUMN = 27


class _Help(argparse.Action):
    """Prints the help and leaves with 0; ``const`` True shows every option."""

    def __call__(self, parser: argparse.ArgumentParser, *args: Any, **more: Any) -> NoReturn:
        assert isinstance(parser, CommandParser)
        sys.stdout.write(parser.help_text(bool(self.const)))
        parser.exit(0)


class _Refuse(argparse.Action):
    """An option that we know and cannot honour: said, never dropped."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        reason, fix = self.const
        raise InvalidRequestError(f"{option_string} cannot be honoured: {reason}.", fix)


class CommandParser(argparse.ArgumentParser):
    """The parser of one subcommand.

    Options added straight to it are shown by ``--help``; those of a group
    made by ``add_argument_group`` only by ``--help-all``. A help of None hides an option.
    """

    def __init__(self, command: Command) -> None:
        super().__init__(prog=f"mlx-specdec {command.name}", add_help=False, allow_abbrev=False)
        self.command = command
        self.figures: tuple[str, ...] = ()  # names of metrics.DEFINITIONS that --help-all explains
        self.color = False  # Python 3.14 would colour messages of its own
        add = self.add_argument
        for names, everything, words in (
            (("-h", "--help"), False, argparse.SUPPRESS),
            (("--help-all",), True, argparse.SUPPRESS),
        ):
            add(*names, action=_Help, nargs=0, const=everything, dest="help", help=words)

    def synonym(self, *names: str, dest: str, **options: Any) -> None:
        """Other names for an option, accepted and not shown."""
        self.add_argument(
            *names, dest=dest, default=argparse.SUPPRESS, help=argparse.SUPPRESS, **options
        )

    def refuse(self, *names: str, reason: str, fix: str = "Leave it out.", values: Any = 1) -> None:
        """Names of an option that is refused with ``reason``, whatever its value."""
        self.add_argument(
            *names,
            action=_Refuse,
            nargs=values,
            const=(reason, fix),
            dest=names[-1].lstrip("-").replace("-", "_"),
            default=argparse.SUPPRESS,
            help=argparse.SUPPRESS,
        )

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The options in ``words``.

        Raises:
            UsageError: with a hint, nearest names included.
            SystemExit: after ``--help``.
        """
        args, rest = self.parse_known_args(words)
        if not rest:
            return args
        unknown = next((word for word in rest if word.startswith("-") and word != "-"), None)
        if unknown is None:
            raise UsageError(
                f"{' '.join(rest)!r} is one thing too many.",
                "Put a text of several words into quotes.",
            )
        unknown = unknown.split("=")[0]
        shown = [
            name for a in self._actions for name in a.option_strings if a.help != "==SUPPRESS=="
        ]
        near = difflib.get_close_matches(unknown, shown, n=1)
        raise UsageError(
            f"{self.command.name} has no option {unknown}.",
            f"Did you mean {near[0]}?" if near else f"See `{self.prog} --help-all`.",
        )

    def error(self, message: str) -> NoReturn:
        text = message.removeprefix("argument ")
        raise UsageError(f"{text[:1].upper()}{text[1:]}.", f"See `{self.prog} --help`.")

    def format_help(self) -> str:
        return self.help_text(False)

    def help_text(self, everything: bool) -> str:
        """The help: examples, everyday options, and with ``everything`` the others."""
        lines = [f"{self.prog} {self.command.usage}", self.command.summary, ""]
        lines += [f"  mlx-specdec {example}" for example in self.command.examples]
        groups = [group for group in self._action_groups if group._group_actions]
        own = {self._positionals, self._optionals}
        lines.append("")
        for group in groups:
            if group in own:
                lines += _lines(group._group_actions)
        for group in groups:
            if everything and group not in own:
                lines += ["", str(group.title), *_lines(group._group_actions)]
        if everything and self.figures:
            lines += ["", "figures"]
            for name in self.figures:
                figure = DEFINITIONS[name]
                formula = f" {figure.formula}." if figure.formula else ""
                lines += _entry(figure.label, figure.definition + formula)
        hidden = any(group not in own and _lines(group._group_actions) for group in groups)
        if hidden and not everything:
            lines += _entry("--help-all", "every option")
        return "\n".join(lines) + "\n"


def _lines(actions: Sequence[argparse.Action]) -> list[str]:
    lines: list[str] = []
    for action in actions:
        if action.help is None or action.help == argparse.SUPPRESS:
            continue
        name = ", ".join(action.option_strings) or str(action.metavar or action.dest)
        if action.option_strings and action.nargs != 0:
            value = "|".join(action.choices) if action.choices else action.metavar or "X"
            name = f"{name} {value}"
        lines += _entry(name, action.help % {"default": action.default})
    return lines


def _entry(name: str, words: str) -> list[str]:
    wrapped = textwrap.wrap(words, _WIDTH - _COLUMN) or [""]
    head = f"  {name}"
    if len(head) <= _COLUMN - 2:
        head = f"{head:<{_COLUMN}}{wrapped.pop(0)}"
    return [head, *(" " * _COLUMN + line for line in wrapped)]

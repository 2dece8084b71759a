"""``mlx-specdec explain``: one round taken apart, and every word explained."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from pathlib import Path

from ..errors import InvalidRequestError
from ..lesson.fox import FOX_RULES, fox_lesson
from ..lesson.lesson import Lesson, lessons_of
from ..lesson.step_page import whole_lesson
from ..lesson.styled_lines import Line
from ..lesson.terms import definition_lines, term_named
from ..race.recording import Recording, read_recording_file
from .terminal import Terminal

__all__ = ["add_arguments", "run"]

_STYLES = {"draft": "green", "dim": "dim", "head": "bold", "miss": "bold"}
_WIDTH = 80


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``explain``."""
    add = parser.add_argument
    add("word", metavar="WORD", nargs="?", help="a word or a figure, such as overlap or acceptance")
    add("--rule", metavar="RULE", help=f"the same example under {', '.join(FOX_RULES)}")
    add("--replay", metavar="FILE", help="rounds of a recording instead of the built-in example")
    add("--round", type=int, metavar="N", help="which round of the recording (default: the first)")
    add("--plain", action="store_true", help="as text, all phases in order")


def run(args: argparse.Namespace) -> int:
    """Explain; 0.

    Raises:
        UsageError: a word, a rule, a file or a round that is not there.
    """
    terminal = Terminal.of(args)
    if args.word is not None:
        _explain_word(terminal, args)
        return 0
    recording = None if args.replay is None else read_recording_file(Path(args.replay))
    lessons = _lessons(args, recording)
    place = _place(args, lessons)
    if not args.plain and terminal.out_is_terminal and sys.stdin.isatty():
        from tui.lesson.lesson_app import run_lesson

        return run_lesson(recording, lessons[place].index, args.rule or FOX_RULES[0])
    _print(terminal, whole_lesson(lessons[place], _WIDTH))
    if not args.replay and not args.rule:
        terminal.line()
        terminal.line(f" Other rules: --rule {', '.join(FOX_RULES[1:])}.", "dim")
    return 0


def _explain_word(terminal: Terminal, args: argparse.Namespace) -> None:
    if args.rule is not None or args.replay is not None:
        raise InvalidRequestError(
            f"{args.word!r} is explained without an example.", "Leave out --rule and --replay."
        )
    definition = term_named(args.word)
    width = min(shutil.get_terminal_size((_WIDTH, 24)).columns, _WIDTH)
    terminal.line(definition.label, "bold")
    for paragraph in definition_lines(definition):
        for piece in textwrap.wrap(paragraph, width - 2):
            terminal.line(f"  {piece}")


def _lessons(args: argparse.Namespace, recording: Recording | None) -> tuple[Lesson, ...]:
    if recording is None:
        if args.round is not None:
            raise InvalidRequestError(
                "The built-in example has one round.", "--round goes with --replay FILE."
            )
        return (fox_lesson(args.rule or FOX_RULES[0]),)
    if args.rule is not None:
        raise InvalidRequestError(
            "A recording was made under one rule.", "Leave out --rule; u compares rules in the app."
        )
    lessons = lessons_of(recording)
    if not lessons:
        raise InvalidRequestError(
            f"{args.replay} has no round in which something was guessed.",
            "Record one: mlx-specdec demo --record FILE --detail",
        )
    return lessons


def _place(args: argparse.Namespace, lessons: tuple[Lesson, ...]) -> int:
    if args.round is None:
        return 0
    for place, lesson in enumerate(lessons):
        if lesson.index == args.round:
            return place
    raise InvalidRequestError(
        f"There is no guess to look at in round {args.round}.",
        f"Rounds with guesses are {lessons[0].index} to {lessons[-1].index}.",
    )


def _print(terminal: Terminal, lines: list[Line]) -> None:
    for each in lines:
        spans = list(each)
        while spans and not spans[-1].text.strip():
            spans.pop()
        for place, span in enumerate(spans):
            text = span.text.rstrip() if place == len(spans) - 1 else span.text
            terminal.write(text, _STYLES.get(span.style, ""))
        terminal.line()

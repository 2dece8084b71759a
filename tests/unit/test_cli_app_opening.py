"""From the words of `demo` to the app: when it opens, and with what."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import cast

from mlx_specdec.cli import demo
from mlx_specdec.cli.app_opening import wants_app
from mlx_specdec.cli.commands import command_named
from mlx_specdec.cli.parser import CommandParser
from mlx_specdec.cli.terminal import Terminal
from tests.race_screens import GOLDEN
from tui import app as app_module
from tui.opening import AppOpening

import pytest


class TerminalStream(io.StringIO):
    def isatty(self) -> bool:
        return True


def parsed(*words: str) -> argparse.Namespace:
    parser = CommandParser(command_named("demo"))
    demo.add_arguments(parser)
    args = parser.parse(words)
    args.color, args.quiet, args.verbose = "auto", False, False
    return args


def at_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the test itself: what is replaced in a fixture pytest puts back."""
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(f"sys.{name}", TerminalStream())
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[AppOpening]:
    seen: list[AppOpening] = []

    def run_app(opening: AppOpening) -> int:
        seen.append(opening)
        return 0

    monkeypatch.setattr(app_module, "run_app", run_app)
    return seen


@pytest.mark.parametrize(
    ("words", "wanted"), [((), True), (("--plain",), False), (("--json",), False)]
)
def test_the_app_opens_on_a_terminal_unless_text_is_asked_for(
    words: tuple[str, ...], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_terminal(monkeypatch)
    args = parsed(*words)
    assert wants_app(args, Terminal.of(args)) is wanted


def test_a_dumb_terminal_gets_text(monkeypatch: pytest.MonkeyPatch) -> None:
    at_terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    args = parsed()
    assert not wants_app(args, Terminal.of(args))


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_a_pipe_gets_text(monkeypatch: pytest.MonkeyPatch, stream: str) -> None:
    at_terminal(monkeypatch)
    monkeypatch.setattr(f"sys.{stream}", io.StringIO())
    args = parsed()
    assert not wants_app(args, Terminal.of(args))


def test_the_app_gets_what_was_asked_for(
    opened: list[AppOpening], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_terminal(monkeypatch)
    record = str(tmp_path / "race.jsonl")
    words = ("Why?", "--temp", "0.3", "--lookahead", "2", "--speed", "half", "--record", record)
    assert demo.run(parsed(*words)) == 0
    opening = opened[0]
    assert opening.prompt is not None
    assert opening.prompt.text == "Why?"
    assert opening.race_settings is not None
    assert opening.race_settings.lookahead == 2
    assert opening.race_settings.sampling.temperature == 0.3
    assert opening.is_temperature_set
    assert (opening.speed, opening.record) == (0.5, Path(record))
    assert opening.request is not None
    assert opening.request.target == "tiny"


def test_without_a_prompt_and_a_temperature_the_pair_decides(
    opened: list[AppOpening], monkeypatch: pytest.MonkeyPatch
) -> None:
    at_terminal(monkeypatch)
    demo.run(parsed())
    assert opened[0].prompt is None
    assert not opened[0].is_temperature_set
    assert opened[0].race_settings is not None
    assert opened[0].race_settings.seed is None


def test_a_replay_needs_no_models(
    opened: list[AppOpening], monkeypatch: pytest.MonkeyPatch
) -> None:
    at_terminal(monkeypatch)
    path = str(GOLDEN / "race_fable.jsonl")
    demo.run(parsed("--replay", path, "--clock", "m2"))
    assert opened[0].request is None
    assert cast(Path, opened[0].replay).name == "race_fable.jsonl"
    assert opened[0].chip == "m2"


@pytest.mark.parametrize(("words", "wanted"), [((), True), (("--no-idle-measuring",), False)])
def test_measuring_while_nobody_types_can_be_turned_off(
    words: tuple[str, ...], wanted: bool, opened: list[AppOpening], monkeypatch: pytest.MonkeyPatch
) -> None:
    at_terminal(monkeypatch)
    assert demo.run(parsed(*words)) == 0
    assert opened[0].measures_when_idle is wanted

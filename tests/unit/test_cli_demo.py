"""``mlx-specdec demo``: what it prints, in a pipe, on a terminal and as JSON."""

from __future__ import annotations

from pathlib import Path

from mlx_specdec.cli import main
from tests.terminals import TerminalRun
from tests.toyfolders import ToyFolders, read_json

import pytest


def demo(toys: ToyFolders, *words: str) -> int:
    return main(["demo", *toys.pair, "--runs", "1", *words])


def test_json_holds_both_lanes_and_the_comparison(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo(toys, "--json", "--max-tokens", "30", "hello") == 0
    document = read_json(capsys.readouterr().out)
    assert document["schema"] == 1
    for name in ("standard", "speculative"):
        lane = document[name]
        assert {"text", "tokens", "finish_reason", "metrics"} <= lane.keys()
        assert len(lane["tokens"]) == lane["metrics"]["emitted_tokens"] == 30
    assert document["identical"] is True
    assert document["difference"] is None
    assert document["speedup"] > 0
    assert document["end_to_end_speedup"] > 0
    assert document["standard"]["metrics"]["acceptance_rate"] is None
    assert document["speculative"]["metrics"]["acceptance_rate"] > 0
    assert document["prompt"] == {"id": None, "text": "hello"}
    assert document["settings"]["temperature"] == 0
    assert document["settings"]["rule"] == "coupled"
    assert document["settings"]["think"] is False
    assert document["toy"] is False
    assert document["share"] is None


def test_a_pipe_gets_text_without_control_codes(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo(toys, "--max-tokens", "110", "code-1") == 0
    captured = capsys.readouterr()
    out = captured.out
    assert captured.err == ""
    assert "\x1b" not in out
    assert "def find_files(root, suffix):" in out
    assert out.count("── ") == 1
    assert "both lanes" in out
    assert "110 of 110 tokens identical" in out
    last = out.splitlines()[-1]
    assert last.startswith("target + draft, ")
    assert "prompt code-1, 1 run, " in last


def test_colour_marks_what_was_drafted(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert demo(toys, "--max-tokens", "30", "--color", "always", "hello") == 0
    out = capsys.readouterr().out
    assert "green = drafted and kept" in out
    assert "\x1b[32m" in out


def test_different_texts_are_shown_both(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--temp", "1.5", "--rule", "rejection", "--seed", "4", "--max-tokens", "30", "hello")
    assert demo(toys, *words) == 0
    out = capsys.readouterr().out
    assert "── standard " in out
    assert "── speculative " in out
    assert "rule rejection draws anew from the same law" in out


def test_no_color_on_a_terminal_underlines_instead(toys: ToyFolders) -> None:
    words = ("demo", *toys.pair, "--runs", "1", "--max-tokens", "20", "hello")
    with TerminalRun(*words, environ={"NO_COLOR": "1"}) as run:
        assert run.exit_code() == 0
        assert "underlined = written by the target itself" in run.shown
        assert "\x1b[4m" in run.shown
        assert "\x1b[32m" not in run.shown
        assert "warming up, run 1 of 1" in run.shown


def test_the_toy_races_at_a_temperature_with_the_rule_that_keeps_the_text(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlx_specdec.cli import demo as command
    from mlx_specdec.cli.commands import command_named
    from mlx_specdec.cli.parser import CommandParser

    parser = CommandParser(command_named("demo"))
    command.add_arguments(parser)
    for words, temperature in (([], 0.7), (["--temp", "0"], 0.0)):
        settings = command._settings(parser.parse(words), is_toy=True)
        assert settings.sampling.temperature == temperature
        assert (settings.rule, settings.max_tokens, settings.think) == ("coupled", 160, False)
        assert settings.seed is not None
    assert command._settings(parser.parse([]), is_toy=False).sampling.temperature == 0

    places = {"target": toys.target, "draft": toys.draft}
    for module in ("registry", "locate"):
        name = f"mlx_specdec.{module}.builtin_folder"
        monkeypatch.setattr(name, lambda part: Path(places[part]))
    assert main(["demo", "--runs", "1", "--max-tokens", "12"]) == 0
    out = capsys.readouterr().out
    assert "This is the built-in toy pair" in out
    assert "Continue this story" in out

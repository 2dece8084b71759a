"""``mlx-specdec demo``: what it prints, in a pipe, on a terminal and as JSON."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from mlx_specdec.cli import main
from mlx_specdec.errors import SpecdecError
from mlx_specdec.race.recording import read_recording_file
from tests.terminals import TerminalRun
from tests.toyfolders import ToyFolders, read_json

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
FABLE = str(GOLDEN / "race_fable.jsonl")


def demo(toys: ToyFolders, *words: str) -> int:
    return main(["demo", "--plain", *toys.pair, "--runs", "1", "--lookahead", "3", *words])


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
    words = ("demo", "--plain", *toys.pair, "--runs", "1", "--lookahead", "3")
    with TerminalRun(*words, "--max-tokens", "20", "hello", environ={"NO_COLOR": "1"}) as run:
        assert run.exit_code() == 0
        assert "underlined = written by the target itself" in run.shown
        assert "\x1b[4m" in run.shown
        assert "\x1b[32m" not in run.shown
        assert "warming up, race 1 of 1" in run.shown


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
    assert main(["demo", "--plain", "--runs", "1", "--max-tokens", "12"]) == 0
    out = capsys.readouterr().out
    assert "This is the built-in toy pair" in out
    assert "Continue this story" in out


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a demo without models prints, as one line."""
    assert main(["demo", "--plain", *words]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return " ".join(captured.out.split())


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line that a demo which cannot be run prints."""
    assert main(["demo", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_a_replay_needs_neither_mlx_nor_a_model() -> None:
    script = (
        "import sys\n"
        "from mlx_specdec.cli import main\n"
        f"code = main(['demo', '--plain', '--replay', {FABLE!r}, '--clock', 'm2'])\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'mlx', 'mlx_lm', 'transformers', 'textual'}, loaded\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Re-timed, not measured" in done.stdout


def test_a_replay_shows_the_photo_finish_both_texts_and_the_figures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = shown(capsys, "--replay", FABLE)
    assert (
        "At 6.2 s: Same words, 1.80 times sooner: the 14B made 60 passes; "
        "standard will need 159, and 4.6 s more." in out
    )
    assert "Same words, 1.80 times sooner: 60 passes of the 14B instead of 159." in out
    assert "Why is the sky blue?" in out
    assert "── both lanes ──" in out
    assert "73 % (99 of 136)" in out
    assert "15.4 -> 27.7 tok/s (1.80x)" in out
    parted = shown(capsys, "--replay", str(GOLDEN / "race_different.jsonl"))
    assert "Different from token 135 on (gap 0.02)" in parted
    assert "── standard ──" in parted
    assert "── speculative ──" in parted


def test_a_replay_on_another_clock_is_labelled_and_not_shared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = shown(capsys, "--replay", FABLE, "--clock", "m3-pro")
    assert out.startswith("Re-timed, not measured: published costs of M3 Pro")
    assert "No line to share: the race was re-timed, not measured." in out
    assert "tok/s (" not in out
    out = shown(capsys, "--replay", str(GOLDEN / "race_tiny.jsonl"), "--clock", "m2")
    assert "with qwen3-14b and qwen3-0.6b." in out
    assert "Drafting does not pay on an M2, so it is parked and nothing is lost." in out
    assert "The reason: a pass over 2 rows costs 1.7 of one here." in out


def test_a_short_replay_is_not_shared(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, "--replay", str(GOLDEN / "race_tiny.jsonl"))
    assert out.endswith("No line to share: it takes an answer of at least 100 tokens.")
    assert "toy pair: tiny + tiny-draft" in out
    assert " lookahead 3 draft " in out
    assert " lookahead 3 auto draft " not in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--replay", FABLE, "--record", "x"), "--record cannot be honoured: --replay shows"),
        (("--replay", FABLE, "--loop"), "--loop cannot be honoured"),
        (("--replay", FABLE, "--json"), "--json cannot be honoured"),
        (("--replay", FABLE, "hello"), "A prompt cannot be honoured"),
        (("--replay", FABLE, "--prompt", "hello"), "A prompt cannot be honoured"),
        (("--replay", FABLE, "--temp", "0"), "--temp cannot be honoured"),
        (("--replay", FABLE, "--target", "tiny"), "--target cannot be honoured"),
        (("--replay", FABLE, "--max-tokens", "9"), "--max-tokens cannot be honoured"),
        (("--replay", FABLE, "--no-think"), "--think cannot be honoured"),
        (("--replay", FABLE, "--runs", "3"), "--runs cannot be honoured"),
        (("--replay", FABLE, "--clock", "m3pro"), "Did you mean m3-pro?"),
        (("--replay", "/no/such/file"), "No such file"),
        (("--loop", "--runs", "3"), "--runs cannot be honoured: --loop"),
        (("--loop", "--record", "x"), "--record cannot be honoured: --loop"),
        (("--loop", "--json"), "--json cannot be honoured: --loop"),
        (("--record", "x", "--clock", "m2"), "demo --replay FILE --clock CHIP"),
        (("--record", "/no/such/folder/x"), "in a folder that does not exist"),
        (("--record", "/tmp"), "is a folder"),
        (("--clock", "rtx"), "Known: m1, m1-pro"),
        (("--speed", "half"), "this is text, shown at once"),
        (("--speed", "half", "--plain"), "this is text, shown at once"),
        (("--runs", "0"), "Take 1 to 100"),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_the_fix(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert said in refused(capsys, *words)


def test_a_replay_of_something_else_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello\n")
    assert "Line 1 of notes.txt is not part of a recording" in refused(
        capsys, "--replay", str(other)
    )


@pytest.mark.parametrize(
    ("words", "speed"), [("true", 1.0), ("half", 0.5), ("0.02", 0.02), ("2", 2.0)]
)
def test_a_speed_is_a_word_or_a_factor(words: str, speed: float) -> None:
    from mlx_specdec.cli.race_options import race_options

    args = parsed("--speed", words)
    assert race_options(args, is_on_screen=True).speed == speed
    assert args.speed == speed


@pytest.mark.parametrize("words", ["fast", "0", "-1", "nan", "1000"])
def test_a_speed_that_is_none(words: str) -> None:
    from mlx_specdec.cli.race_options import race_options

    with pytest.raises(SpecdecError) as caught:
        race_options(parsed(f"--speed={words}"), is_on_screen=True)
    assert "true, half, or a factor" in caught.value.hint


def test_a_parked_race_says_why_and_is_not_called_short(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlx_specdec.lookahead.policy import Choice, FixedLookahead

    monkeypatch.setattr(
        FixedLookahead, "choose", lambda *_: Choice(0, 999, "not drafting: a row is dear")
    )
    assert demo(toys, "--max-tokens", "110", "hello") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith(
        "Drafting does not pay here, so it was parked and nothing is lost: a row is dear."
    )
    assert out.endswith("No line to share: nothing was drafted.")


def parsed(*words: str) -> argparse.Namespace:
    from mlx_specdec.cli import demo as command
    from mlx_specdec.cli.commands import command_named
    from mlx_specdec.cli.parser import CommandParser

    parser = CommandParser(command_named("demo"))
    command.add_arguments(parser)
    return parser.parse(words)


def test_a_race_is_kept_and_can_be_shown_again(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "race.jsonl"
    words = ("--max-tokens", "30", "--lookahead", "2", "--seed", "4", "--record", str(path))
    assert demo(toys, *words, "hello") == 0
    first = capsys.readouterr().out
    race = read_recording_file(path)
    assert race.is_finished
    assert race.header.prompt == "hello"
    assert (race.header.lookahead, race.header.seed) == ("2", 4)
    assert race.header.versions["mlx"]
    assert race.metrics("standard").emitted_tokens == 30
    assert main(["demo", "--plain", "--replay", str(path)]) == 0
    again = capsys.readouterr().out

    def table(out: str) -> list[str]:
        return [line for line in out.splitlines() if line.startswith(("standard", "speculative"))]

    assert table(again) == table(first)


def test_a_race_here_on_another_clock(toys: ToyFolders, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--max-tokens", "110", "--lookahead", "2", "--clock", "m5-max", "code-1")
    assert demo(toys, *words) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("Re-timed, not measured: published costs of M5 Max.")
    assert out.endswith("No line to share: the race was re-timed, not measured.")
    assert demo(toys, "--json", *words) == 0
    document = read_json(capsys.readouterr().out)
    assert document["clock"].startswith("re-timed, not measured")
    assert document["share"] is None


def test_a_loop_ends_with_a_scoreboard_of_what_is_finished(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlx_specdec.race.race import race_recording

    seen: list[object] = []

    def interrupted(*args: Any, **options: Any) -> Any:
        if len(seen) == 4:
            signal.raise_signal(signal.SIGINT)
        seen.append(args)
        return race_recording(*args, **options)

    monkeypatch.setattr("mlx_specdec.cli.demo_races.race_recording", interrupted)
    words = ["demo", *toys.pair, "--plain", "--loop", "--max-tokens", "24", "--lookahead", "2"]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["explain-1", "list-1", "code-3", "explain-2"]
    assert "kind" in lines[5]
    rows = {line.split()[0]: line.split()[1] for line in lines[6:]}
    assert rows == {"explain": "2", "list": "1", "code": "1"}
    seen[:] = [None] * 4
    assert main(words) == 130  # nothing was finished


def test_a_loop_over_a_prompt_of_ones_own(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlx_specdec.race.race import race_recording

    seen: list[object] = []

    def interrupted(*args: Any, **options: Any) -> Any:
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(args)
        return race_recording(*args, **options)

    monkeypatch.setattr("mlx_specdec.cli.demo_races.race_recording", interrupted)
    words = ["--plain", "--loop", "--clock", "m3-max", "--max-tokens", "24", "--lookahead", "2"]
    assert main(["demo", *toys.pair, *words, "hello"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("re-timed, not measured: published costs of M3 Max")
    assert [line.split()[0] for line in lines[1:3]] == ["own", "own"]

"""Help, versions and slips: what is said before any model is touched."""

from __future__ import annotations

import subprocess
import sys

from mlx_specdec.cli import main
from mlx_specdec.cli.commands import COMMANDS

import pytest

HEAVY = ("mlx", "mlx_lm", "transformers", "textual", "huggingface_hub", "numpy")
ALL_HELPS = f"""
import sys
from mlx_specdec.cli import main
for words in ([], ["--help"], ["--version"], *([c, "--help"] for c in {list(COMMANDS)!r})):
    assert main(words) == 0, words
print("imported:", *sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)
"""


def test_no_help_imports_anything_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALL_HELPS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "imported:"
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("words", [(), ("--help",), *((name, "--help") for name in COMMANDS)])
def test_help_fits_a_screen(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_help_begins_with_three_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([name, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(f"  mlx-specdec {name}") for line in lines[:7]) == 3


def test_the_words_before_a_command_count_as_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-q", "--color", "never", "ledger", "--help"]) == 0
    assert "--acceptance" in capsys.readouterr().out


def test_help_all_adds_the_groups(capsys: pytest.CaptureFixture[str]) -> None:
    main(["generate", "--help-all"])
    out = capsys.readouterr().out
    for word in ("sampling", "cache", "expert", "--top-p", "--kv-bits", "--rule", "--debug"):
        assert word in out
    assert "--draft-model" not in out


def test_nothing_at_all_is_a_short_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert sum(line.startswith("  mlx-specdec") for line in out.splitlines()) == 3


def test_versions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    first = capsys.readouterr().out
    assert first.startswith("mlx-specdec ")
    assert main(["chat", "--version"]) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("generat", "x"), "Did you mean `mlx-specdec generate`?"),
        (("zzz",), "Commands: demo, chat,"),
        (("generate", "--max-tokns", "3"), "Did you mean --max-tokens?"),
        (("generate", "--target", "tiny", "one", "two"), "into quotes"),
        (("generate", "--target", "tiny", "--temp", "hot", "x"), "invalid float value: 'hot'"),
        (("generate", "--target", "tiny", "--temp", "-1", "x"), "temperature -1.0 is out of range"),
        (("generate", "--target", "tiny", "--top-p", "2", "x"), "top-p 2.0 is out of range"),
        (("generate", "--target", "tiny", "--lookahead", "17", "x"), "Take 0 (no drafting) to 16"),
        (("generate", "--target", "tiny", "--seed", "-1", "x"), "seed -1 is out of range"),
        (("generate", "--target", "tiny", "--stop", "", "x"), "A stop string is empty"),
        (("generate", "--target", "tiny", "-p", "x", "y"), "There are two prompts"),
        (("generate", "--target", "tiny", " "), "The prompt is empty"),
        (("generate", "x"), "--target tiny"),
        (("generate", "--target", "qwen3-14", "x"), "Did you mean qwen3-14b?"),
        (("chat", "--target", "qwen3-14"), "Did you mean qwen3-14b?"),
        (("chat", "--target", "tiny", "--draft", "./no-such-folder"), "does not exist"),
        (("demo", "--draft", "none"), "Name one: --draft NAME"),
        (("demo", "--lookahead", "0"), "A demo needs 1 to 16"),
        (("demo", "--runs", "0"), "Take 1 to 100"),
        (("demo", "-p", "x", "y"), "There are two prompts"),
        (
            ("generate", "--target", "tiny", "--chat-template-config", "{", "x"),
            "--chat-template-config is not JSON",
        ),
        (("generate", "--target", "tiny", "--chat-template-config", "[]", "x"), "JSON object"),
    ],
)
def test_a_slip_is_one_line_with_the_fix(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.count("\n") == 1


def test_no_tokens_at_all_is_refused_when_parsing(capsys: pytest.CaptureFixture[str]) -> None:
    """C6: max_tokens=0 met an unbound variable."""
    assert main(["generate", "--target", "tiny", "--max-tokens", "0", "x"]) == 2
    assert "Take 1 or more, or -1 for no limit" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["generate", "chat", "demo"])
@pytest.mark.parametrize(
    "option",
    [
        ("--adapter-path", "x"),
        ("--prompt-cache-file", "x"),
        ("--max-kv-size", "512"),
        ("--xtc-probability", "0.5"),
        ("--xtc-threshold", "0.1"),
        ("--min-tokens-to-keep", "2"),
        ("--prefill-step-size", "512"),
        ("--quantized-kv-start", "0"),
        ("--prefill-response", "x"),
        ("--image", "x.png"),
        ("--use-default-chat-template",),
        ("--quantize-activations",),
        ("--pipeline",),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_a_reason(
    command: str, option: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--target", "tiny", *option]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"{option[0]} cannot be honoured: " in captured.err
    assert captured.err.count("\n") == 1

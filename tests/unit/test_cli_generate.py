"""``mlx-specdec generate``: text alone on standard output, everything else beside it."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

from mlx_specdec.cli import main
from tests.terminals import CTRL_C, TerminalRun
from tests.toyfolders import ToyFolders, read_json

import pytest

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
METRICS = {
    *("prompt_tokens", "emitted_tokens", "tokens_per_second", "ttft_seconds", "target_passes"),
    *("proposed", "tested", "accepted", "acceptance_rate", "acceptance_by_position"),
    *("tokens_per_target_pass", "peak_memory_bytes"),
}


def generate(*words: str) -> int:
    return main(["generate", *words])


def test_the_text_alone_is_on_standard_output(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate(*toys.pair, "--max-tokens", "40", "hello") == 0
    captured = capsys.readouterr()
    assert captured.out.endswith("\n")
    assert captured.err == "stopped at --max-tokens 40\n"  # no figures: nobody watches


def test_quiet_says_nothing_else(toys: ToyFolders, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate(*toys.pair, "--max-tokens", "5", "-q", "hello") == 0
    assert capsys.readouterr().err == ""


def test_verbose_adds_the_figures(toys: ToyFolders, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--max-tokens", "20", "--lookahead", "3", "-v", "hello")
    assert generate(*toys.pair, *words) == 0
    err = capsys.readouterr().err
    assert re.search(r"20 tokens  [\d.]+ tokens/s  [\d.]+ per pass  accepted \d+ % \(", err)


def test_plain_decoding_is_called_not_drafting(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--target", toys.target, "--draft", "none", "--max-tokens", "20", "-v", "hello")
    assert generate(*words) == 0
    assert "not drafting" in capsys.readouterr().err


def test_json_holds_text_tokens_and_figures(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate(*toys.pair, "--json", "--max-tokens", "30", "--lookahead", "3", "hello") == 0
    captured = capsys.readouterr()
    document = read_json(captured.out)
    assert captured.err == ""
    assert document["schema"] == 1
    assert document["finish_reason"] == "length"
    assert len(document["tokens"]) == document["metrics"]["emitted_tokens"] == 30
    assert document["metrics"].keys() >= METRICS
    assert document["settings"]["lookahead"] == 3
    assert document["models"]["target"]["name"] == toys.target
    assert document["models"]["draft"]["quantization"] == "float32"
    assert document["version"]


def test_the_synonyms_of_mlx_lm_mean_the_same(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = (*toys.pair, "--lookahead", "2", "--temp", "0.5", "hello")
    theirs = (
        *("--model", toys.target, "--draft-model", toys.draft, "--num-draft-tokens", "2"),
        *("--temperature", "0.5", "-p", "hello"),
    )
    documents = []
    for words in (ours, theirs):
        assert generate(*words, "--seed", "3", "-m", "12", "--json") == 0
        documents.append(read_json(capsys.readouterr().out))
    assert documents[0]["settings"] == documents[1]["settings"]
    assert documents[0]["tokens"] == documents[1]["tokens"]


@pytest.mark.parametrize("word", [(), ("-",), ("--prompt", "-")])
def test_the_prompt_comes_from_standard_input(
    word: tuple[str, ...],
    toys: ToyFolders,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generate(*toys.pair, "--json", "--max-tokens", "6", "hello there")
    wanted = read_json(capsys.readouterr().out)
    monkeypatch.setattr(sys, "stdin", io.StringIO("hello there\n"))
    assert generate(*toys.pair, "--json", "--max-tokens", "6", *word) == 0
    document = read_json(capsys.readouterr().out)
    assert document["tokens"] == wanted["tokens"]
    assert document["metrics"]["prompt_tokens"] == wanted["metrics"]["prompt_tokens"]


def test_no_limit_means_up_to_the_context(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    """C5: -1 with a draft crashed at once."""
    words = ("--target", toys.short, "--draft", toys.draft, "--max-tokens", "-1", "hello")
    assert generate(*words, "--json") == 0
    document = read_json(capsys.readouterr().out)
    assert document["finish_reason"] == "context"
    assert document["metrics"]["prompt_tokens"] + len(document["tokens"]) == 96
    assert generate(*words) == 0
    assert capsys.readouterr().err == "stopped: the model's context is full\n"


def test_each_run_draws_anew_unless_a_seed_is_given(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    """D12: a fixed default seed gave the same sampled answer on each start."""

    def tokens(*more: str) -> list[int]:
        assert generate(*toys.pair, "--temp", "1", "--json", "-m", "24", "hello", *more) == 0
        found = read_json(capsys.readouterr().out)["tokens"]
        assert isinstance(found, list)
        return found

    assert tokens() != tokens()
    assert tokens("--seed", "1") == tokens("--seed", "1")


def test_a_broken_draft_is_an_error_with_its_reason(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    """E6: the draft did not load, and nothing said so."""
    for command in ("generate", "demo"):
        assert main([command, "--target", toys.target, "--draft", toys.broken, "hello"]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "model.safetensors" in captured.err
        assert captured.err.count("\n") == 1


def test_control_codes_never_leave(toys: ToyFolders, capsys: pytest.CaptureFixture[str]) -> None:
    """H5: a model's text drove the terminal. J9: colour codes in piped output."""
    words = (*toys.pair, "--temp", "2", "--max-tokens", "400", "--seed", "5", "hello")
    assert generate(*words, "--json") == 0
    captured = capsys.readouterr()
    assert CONTROL.search(read_json(captured.out)["text"])  # the toy does write some
    assert not CONTROL.search(captured.out)
    assert generate(*words) == 0
    out = capsys.readouterr().out
    assert not CONTROL.search(out)
    assert max(c for c in out if "\u2400" <= c <= "\u2421") >= "\u2400"


def test_an_answer_cut_while_thinking_says_so(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    """G8: the whole budget went to thinking, and the answer was blank."""
    words = ("--target", toys.thinker, "--draft", "none", "--max-tokens", "16", "hello")
    assert generate(*words) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("<think>\n")
    assert captured.err.startswith("stopped while thinking (limit 16)")


def test_a_stop_text_and_an_extra_end_token(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    def document(*more: str) -> dict[str, object]:
        assert generate(*toys.pair, "--json", "-m", "30", "hello", *more) == 0
        return read_json(capsys.readouterr().out)

    whole = document()
    tokens = whole["tokens"]
    assert isinstance(tokens, list)
    ended = document("--extra-eos-token", str(tokens[4]))
    assert ended["finish_reason"] == "stop"
    assert ended["tokens"] == tokens[: tokens.index(tokens[4]) + 1]
    letter = next(c for c in str(whole["text"])[3:] if c.isalpha())
    stopped = document("--stop", letter, "--stop", "never to be seen")
    assert stopped["finish_reason"] == "stop_string"
    assert stopped["text"] == str(whole["text"])[: str(whole["text"]).index(letter)]
    assert generate(*toys.pair, "hello", "--extra-eos-token", "no such token") == 2


def test_without_the_template_the_text_goes_on_as_it_is(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    def prompt_tokens(*more: str) -> int:
        assert generate(*toys.pair, "--json", "-m", "2", "hello", *more) == 0
        count = read_json(capsys.readouterr().out)["metrics"]["prompt_tokens"]
        assert isinstance(count, int)
        return count

    assert prompt_tokens("--ignore-chat-template") < prompt_tokens()
    assert prompt_tokens() < prompt_tokens("--system-prompt", "Be brief.")


def test_debug_keeps_a_log_and_names_it(
    toys: ToyFolders,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["generate", "--target", toys.target, "--draft", toys.broken, "--debug", "x"]) == 1
    err = capsys.readouterr().err
    path = Path(err.splitlines()[0].removeprefix("log: "))
    assert tmp_path in path.parents
    assert "Traceback" in path.read_text(encoding="utf-8")
    assert "Traceback" not in err


def test_a_closed_pipe_ends_quietly(toys: ToyFolders) -> None:
    """J9: ``| head -1`` must not end in a traceback."""
    words = ("generate", *toys.pair, "--max-tokens", "-1", "hello")
    with subprocess.Popen(
        [sys.executable, "-m", "mlx_specdec", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        assert run.stdout.read(1)
        run.stdout.close()
        assert run.stderr.read() == b""
        assert run.wait() == 141


def test_ctrl_c_ends_a_one_shot_command_with_130(toys: ToyFolders) -> None:
    words = ("generate", *toys.pair, "--max-tokens", "-1", "hello")
    with TerminalRun(*words) as run:
        run.wait_for("loading target + draft ... ")
        run.wait_for(" s\n")
        run.wait_for_output()
        run.press(CTRL_C)
        assert run.exit_code() == 130
        assert "Traceback" not in run.shown

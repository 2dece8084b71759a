"""``mlx-specdec explain`` in a pipe: the fox under every rule, recordings, single words."""

from __future__ import annotations

from pathlib import Path

from mlx_specdec.cli import main
from mlx_specdec.lesson.fox import FOX_RULES
from mlx_specdec.lesson.styled_lines import cell_length

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["explain", *words]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


@pytest.mark.parametrize("rule", FOX_RULES)
def test_the_fox_in_a_pipe(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    # After a change that is meant: mlx-specdec explain --rule RULE > tests/golden/explain_RULE.txt
    wanted = (GOLDEN / f"explain_{rule}.txt").read_text(encoding="utf-8")
    assert run(capsys, "--rule", rule) == wanted


def test_the_fox_alone_is_the_rejection_rule_and_names_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = run(capsys)
    assert out.startswith((GOLDEN / "explain_rejection.txt").read_text(encoding="utf-8"))
    assert out.rstrip().endswith("Other rules: --rule block, coupled, match, greedy, copied.")


def test_what_the_founding_article_says_stands_there(capsys: pytest.CaptureFixture[str]) -> None:
    out = " ".join(run(capsys).split())
    for words in (
        "The 0.6B was 70 % sure of “a”; the 14B gives it 10 %. So it lives with 10/70 = 14 %.",
        "The coin said .61: it dies, and “happy” with it",
        "One pass still bought four tokens.",
        "83 % ← drawn",
        "17 %",
        "kept .20 + miss .60 x .833 = .50 = .70 the 14B's own odds",
        "sum .40 kept",
        "“the” comes out at .62, not .70",
        "now The quick brown fox jumps over the▌",
    ):
        assert words in out


@pytest.mark.parametrize("rule", ["rejection", "block", "coupled", "match", "greedy"])
def test_recorded_rounds_fit_80_columns_and_hold_no_control_codes(
    rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(GOLDEN / f"step_{rule}.jsonl")
    for number in range(1, 5):
        out = run(capsys, "--replay", file, "--round", str(number))
        lines = out.splitlines()
        assert max(map(cell_length, lines)) <= 80
        assert all(ord(c) >= 32 for line in lines for c in line)
        assert all(line == line.rstrip() for line in lines)
        assert "WHY IT IS EXACT" in out


def test_a_recording_without_detail_says_how_to_get_it(capsys: pytest.CaptureFixture[str]) -> None:
    out = " ".join(run(capsys, "--replay", str(GOLDEN / "race_tiny.jsonl")).split())
    assert "mlx-specdec demo --record FILE --detail" in out
    assert "keep" in out


def test_a_word_by_name_or_label(capsys: pytest.CaptureFixture[str]) -> None:
    assert "min(p, q)" in run(capsys, "overlap")
    assert run(capsys, "left-over") == run(capsys, "left_over")
    assert run(capsys, "acceptance") == run(capsys, "acceptance_rate")
    assert "accepted / tested" in run(capsys, "Acceptance")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("overlop",), "Did you mean overlap"),
        (("xyzzy",), "Words of the lesson: q, p, coin"),
        (("--rule", "luck"), "Take one of rejection, block"),
        (("--round", "2"), "--round goes with --replay"),
        (("overlap", "--rule", "block"), "Leave out --rule"),
        (("--replay", "nowhere.jsonl"), "Give a file made with --record"),
        (("--replay", str(GOLDEN / "step_block.jsonl"), "--rule", "block"), "Leave out --rule"),
        (("--replay", str(GOLDEN / "step_block.jsonl"), "--round", "99"), "are 1 to 5"),
    ],
)
def test_what_cannot_be_explained_is_said_with_the_fix(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *words]) == 2
    assert message in capsys.readouterr().err


def test_colour_marks_what_was_kept_and_only_where_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--color", "always", "explain"]) == 0
    assert "\x1b[32m[fox jumps over]" in capsys.readouterr().out

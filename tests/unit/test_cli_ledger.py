"""``mlx-specdec ledger``: the figures in words and as JSON, and what it refuses."""

from __future__ import annotations

import argparse
import json
from typing import Any

from mlx_specdec.cli import ledger
from mlx_specdec.errors import InvalidRequestError

import pytest

FOUNDING = (
    *("--acceptance", "0.74", "--draft-cost", "0.12", "--verify-tax", "0.03"),
    *("--overhead-ms", "6", "--target-ms", "80"),
)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    ledger.add_arguments(made)
    return made


def run(*options: str) -> int:
    return ledger.run(parser().parse_args(options))


def test_the_words_of_the_founding_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*FOUNDING, "--lookahead", "5") == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "Lookahead 5: 1.79 times plain, 44.7 ms a token where plain takes 80.0.\n"
        "Lookahead 4 is best here: 1.82 times.\n"
    )
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for line in (
        "draft, 5 passes 48.0 ms",
        "verify, one pass of the target 89.6 ms",
        "overhead 6.0 ms",
        "one round 143.6 ms",
        "tokens a pass of the target 3.21 x",
        "a verify pass costs 1.12 plain ones 2.87 x",
        "the draft has to be paid 1.87 x",
        "sampling, Python and waiting 1.79 x",
        "Of 5 proposed a round 2.21 are kept and 2.79 wasted.",
        "74 % 1.00 1.46 1.70 1.80 1.82 [1.79] 1.74 1.67 1.60",
        "1: 19 %, 2: 27 %, 3: 34 %, 4: 40 %, 5: 45 %, 6: 49 %, 7: 53 %, 8: 56 %",
    ):
        assert line in lines
    assert any(line.startswith("40 % 1.00 1.17 1.16 1.09 1.00 (0.92)") for line in lines)
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out


def test_the_json_of_the_founding_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*FOUNDING, "--lookahead", "5", "--json") == 0
    figures: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert figures["schema"] == 1
    assert (figures["lookahead"], figures["best_lookahead"]) == (5, 4)
    expected = {
        "expected_accepted": 2.214590,
        "expected_tokens": 3.214590,
        "wasted_drafts": 2.785410,
        "draft_ms": 48,
        "verify_ms": 89.6,
        "overhead_ms": 6,
        "cycle_ms": 143.6,
        "ms_per_token": 44.671321,
        "plain_ms_per_token": 80,
        "speedup": 1.790858,
        "best_speedup": 1.819264,
    }
    assert {name: round(figures[name], 6) for name in expected} == expected
    assert figures["waterfall"]["after_overhead"] == figures["speedup"]
    assert [each["lookahead"] for each in figures["break_even_acceptance"]] == [*range(1, 9)]


def test_without_a_lookahead_the_best_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    run(*FOUNDING)
    out = capsys.readouterr().out
    assert out.startswith("Lookahead 4: 1.82 times plain")
    assert "No other lookahead is faster here." in out


def test_it_says_when_plain_decoding_is_faster(capsys: pytest.CaptureFixture[str]) -> None:
    run("--acceptance", "0.2", "--draft-cost", "0.5", "--lookahead", "3")
    assert "Plain decoding is faster here: lookahead 0 is best." in capsys.readouterr().out
    run("--acceptance", "0.2", "--draft-cost", "0.5")
    out = capsys.readouterr().out
    assert out.startswith("Plain decoding (lookahead 0): 50.0 ms a token.")
    assert "round" not in out  # plain decoding has none
    run("--acceptance", "0.2", "--draft-cost", "3", "--json")
    figures = json.loads(capsys.readouterr().out)
    assert figures["overhead_ms"] == 0
    assert figures["break_even_acceptance"][0] == {"lookahead": 1, "acceptance": None}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--draft-cost", "0.1"), "--acceptance is missing. Give it a number from 0 to 1"),
        (("--acceptance", "0.7"), "--draft-cost is missing. Give it a number from 0 up"),
        ((*FOUNDING, "--acceptance", "74"), "--acceptance 74.0 is out of range. Give it a number"),
        ((*FOUNDING, "--acceptance", "nan"), "--acceptance nan is out of range."),
        ((*FOUNDING, "--acceptance", "-0.1"), "--acceptance -0.1 is out of range."),
        ((*FOUNDING, "--draft-cost", "-1"), "--draft-cost -1.0 is out of range."),
        ((*FOUNDING, "--verify-tax", "-0.1"), "--verify-tax -0.1 is out of range."),
        ((*FOUNDING, "--overhead-ms", "inf"), "--overhead-ms inf is out of range."),
        ((*FOUNDING, "--target-ms", "0"), "--target-ms 0.0 is out of range. Give it milliseconds"),
        (
            (*FOUNDING, "--lookahead", "17"),
            "--lookahead 17 is out of range. Give it a whole number",
        ),
        ((*FOUNDING, "--lookahead", "-1"), "--lookahead -1 is out of range."),
    ],
)
def test_bad_figures_are_refused_with_the_fix(options: tuple[str, ...], message: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        run(*options)
    assert str(caught.value).startswith(message)
    assert caught.value.hint


def test_help_says_what_acceptance_means() -> None:
    text = " ".join(parser().format_help().split())
    assert "Per tested token: a guess after a miss was never tested" in text
    assert len(parser().format_help().splitlines()) <= 24

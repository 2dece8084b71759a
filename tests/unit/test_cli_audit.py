"""``mlx-specdec audit``: what it prints, its exit codes, what it keeps, and faults on purpose."""

from __future__ import annotations

from pathlib import Path

from mlx_specdec.audit.store import last_audit
from mlx_specdec.cli import audit as command
from mlx_specdec.cli import main
from mlx_specdec.faults import FAULTS
from tests.terminals import CTRL_C, TerminalRun
from tests.toyfolders import ToyFolders, read_json

import pytest


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def audit(toys: ToyFolders, *words: str) -> int:
    return main(["audit", *toys.pair, "--quick", *words])


def test_each_check_prints_verdict_figure_and_bound(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(toys, "--only", "ledger-arithmetic,rewind") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "\x1b" not in captured.out
    lines = captured.out.splitlines()
    assert sum(line.startswith("ok ") for line in lines) == 4
    place = lines.index("ok      Rewound cache of the target equals a fresh one")
    assert "after 18 rewinds (needed: at most " in lines[place + 1]
    assert "4 of 4 checks passed in" in lines[-1] or "4 of 4 checks passed in" in lines[-2]
    assert max(map(len, lines[3:])) <= 80


def test_json_holds_every_check_and_the_closing_figures(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(toys, "--json", "--only", "forced") == 0
    document = read_json(capsys.readouterr().out)
    assert document["schema"] == 1
    assert document["injected"] is None
    assert (document["passed"], document["num_checks"]) == (3, 3)
    assert document["quick"] is True
    names = [check["name"] for check in document["checks"]]
    assert names == ["noise", "forced-right", "forced-wrong"]
    for check in document["checks"]:
        assert check["is_passed"] is True
        assert {"title", "figure", "bound", "reason", "note", "values"} <= check.keys()


def test_an_injected_fault_fails_and_is_named(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(toys, "--inject", "rewind", "--only", "rewind,ledger-arithmetic") == 1
    out = capsys.readouterr().out
    assert f"injected on purpose, rewind: {FAULTS['rewind'].words}" in " ".join(out.split())
    assert "FAILED  Rewound cache of the target equals a fresh one" in out
    assert out.count("rewind: look at truncate_to (cache.py)") == 1
    assert "The injected fault rewind was caught by rewind-target." in out
    assert last_audit() is None


def test_a_fault_that_was_not_looked_for_is_said_not_to_be_caught(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(toys, "--inject", "residual", "--only", "ledger-arithmetic") == 0
    assert "was NOT caught" in " ".join(capsys.readouterr().out.split())


def test_only_a_whole_audit_is_kept(toys: ToyFolders) -> None:
    assert audit(toys, "--only", "ledger-arithmetic") == 0
    assert last_audit() is None


def test_the_faults_offered_are_those_there_are() -> None:
    assert tuple(FAULTS) == command._FAULTS


def test_inject_is_shown_by_help_all_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--help"]) == 0
    assert "--inject" not in capsys.readouterr().out
    assert main(["audit", "--help-all"]) == 0
    assert "--inject residual|rewind|temperature|low-q" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--inject", "nothing"], 2, "invalid choice"),
        (["--only", "nothing"], 2, "There is no check whose name begins with 'nothing'"),
        (["--rule", "match"], 2, "has no option --rule"),
    ],
)
def test_words_that_are_off(
    toys: ToyFolders,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    said: str,
) -> None:
    assert audit(toys, *words) == code
    assert said in capsys.readouterr().err


def test_a_pair_without_a_draft_is_a_usage_error(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "--target", toys.target, "--draft", "none"]) == 2
    assert "Name one: --draft NAME" in capsys.readouterr().err


def test_what_cannot_be_loaded_is_3_and_no_failed_check(
    toys: ToyFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "--target", toys.broken, "--draft", toys.draft]) == 3
    assert capsys.readouterr().err


def test_ctrl_c_keeps_what_is_finished(toys: ToyFolders) -> None:
    with TerminalRun("audit", *toys.pair) as run:
        run.wait_for("Rounding noise of this backend")
        run.press(CTRL_C)
        assert run.exit_code() == 130
        assert "s left: " in run.shown
        assert "checks that ended passed" in run.shown

"""The last audit is kept for the user, and read back with its age."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mlx_specdec.audit.report import AuditReport, CheckResult
from mlx_specdec.audit.store import last_audit, remember_audit

import pytest

VERSIONS = {"mlx-specdec": "0.1.0", "mlx": "0.32.4"}


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "mlx-specdec" / "last-audit.json"


def report(*verdicts: bool, cancelled: bool = False) -> AuditReport:
    checks = tuple(
        CheckResult(f"c{i}", f"Check {i}", verdict, "1", "at most 2")
        for i, verdict in enumerate(verdicts)
    )
    return AuditReport(checks, "big", "small", 12.34, True, cancelled, 3)


def test_nothing_is_known_before_the_first_audit(state: Path) -> None:
    assert not state.exists()
    assert last_audit() is None


def test_what_is_kept_is_read_back(state: Path) -> None:
    kept = remember_audit(report(True, False), VERSIONS)
    assert last_audit() == kept
    assert (kept.target, kept.draft, kept.version, kept.mlx_version) == (
        *("big", "small"),
        *VERSIONS.values(),
    )
    assert kept.checks == (("Check 0", True), ("Check 1", False))
    assert (kept.num_passed, kept.num_ties, kept.is_quick) == (1, 3, True)


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (timedelta(seconds=20), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=5), "5 hours ago"),
        (timedelta(days=2, hours=3), "2 days ago"),
        (timedelta(days=-1), "just now"),
    ],
)
def test_its_age_in_words(state: Path, age: timedelta, words: str) -> None:
    kept = remember_audit(report(True, True, True), VERSIONS)
    now = datetime.fromisoformat(kept.date) + age
    assert kept.words(now) == f"last run 3 of 3, {words}"
    assert datetime.fromisoformat(kept.date).tzinfo == UTC


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 2}', '{"schema": 1, "date": "x"}'])
def test_a_damaged_file_is_no_audit(state: Path, text: str) -> None:
    state.parent.mkdir(parents=True)
    state.write_text(text)
    assert last_audit() is None


def test_a_date_that_is_none_is_no_audit(state: Path) -> None:
    remember_audit(report(True), VERSIONS)
    state.write_text(json.dumps({**json.loads(state.read_text()), "date": "yesterday"}))
    assert last_audit() is None


def test_a_disk_that_cannot_be_written_is_no_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mlx-specdec").write_text("in the way")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    remember_audit(report(True), VERSIONS)
    assert last_audit() is None


@pytest.mark.parametrize(
    ("verdicts", "cancelled", "code"),
    [((True, True), False, 0), ((True, False), False, 1), ((True,), True, 3), ((False,), True, 1)],
)
def test_exit_codes(verdicts: tuple[bool, ...], cancelled: bool, code: int) -> None:
    assert report(*verdicts, cancelled=cancelled).exit_code == code

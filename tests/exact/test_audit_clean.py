"""The audit on sound decoders: it passes, ties are counted, and it stops where it can say nothing.

Seeds are fixed, so a statistical check gives the same verdict every time.
"""

from __future__ import annotations

import functools
from typing import Any

from mlx_specdec.audit.comparison import identity_settings
from mlx_specdec.audit.context import AuditContext
from mlx_specdec.audit.job import AuditOptions, audit_job, run_audit
from mlx_specdec.audit.report import AuditProgress, AuditReport
from mlx_specdec.backend import mx
from mlx_specdec.errors import AuditStoppedError, InvalidRequestError
from mlx_specdec.events import Round
from mlx_specdec.parts import Parts
from mlx_specdec.session import Session
from tests.audits import (
    SMALL,
    ForgetfulRunner,
    HotProposer,
    audit_of,
    audited_pair,
    audited_target,
    check_of,
    failed_names,
)
from tests.lanes import VOCAB
from tests.toymodels import RoundingWideModel, WrongWidthModel, perturbed, toy_model, toy_pair

import pytest

SETS = ("above", "unlikely", "top")
LAWS = {f"law-{rule}-{name}" for rule in ("rejection", "block") for name in SETS}
NAMES = LAWS | {
    "ledger-arithmetic",
    "noise",
    "identity-greedy",
    "identity-coupled",
    "forced-right",
    "forced-wrong",
    "rewind-target",
    "rewind-draft",
    "law-block-joint",
    "ledger-clock",
}


@functools.cache
def clean_audit() -> tuple[AuditReport, list[AuditProgress]]:
    seen: list[AuditProgress] = []
    options = AuditOptions(size=SMALL, keeps=False)
    return run_audit(audited_pair(), options, seen.append), seen


def test_a_sound_decoder_passes_every_check() -> None:
    report, _ = clean_audit()
    # The clock is the machine's: on one that is busy with something else it may not add up.
    assert failed_names(report) <= {"ledger-clock"}
    assert {check.name for check in report.checks} == NAMES
    assert report.num_ties == 0
    for check in report.checks:
        assert check.figure
        assert check.bound
        assert check.title
        assert bool(check.reason) is bool(check.hint) is not check.is_passed


def test_every_lookahead_is_compared_the_adaptive_one_among_them() -> None:
    report, _ = clean_audit()
    answers = len(SMALL.prompts) * (len(SMALL.lookaheads) + 1)
    for name in ("identity-greedy", "identity-coupled"):
        values = check_of(report, name).values
        assert values["answers"] == answers
        assert values["equal"] == answers * SMALL.identity_tokens


def test_the_laws_checks_say_what_they_could_have_seen() -> None:
    report, _ = clean_audit()
    for name in LAWS:
        check = check_of(report, name)
        # The prefill's own token is not among them.
        assert check.values["tokens"] == len(SMALL.prompts) * (SMALL.law_tokens - 1)
        assert 0 < check.values["shift_seen"] < 0.2
        assert f"{check.values['shift_seen'] * 100:.1f} points would have been seen" in check.note


def test_progress_rises_and_names_every_check_once() -> None:
    report, seen = clean_audit()
    finished = [step.finished for step in seen if step.finished is not None]
    assert tuple(finished) == report.checks
    assert seen[0].seconds_left is None
    assert all(step.seconds_left is not None for step in seen[len(seen) // 2 :])
    assert 0 <= min(step.share for step in seen) <= max(step.share for step in seen) <= 1


def test_a_cancelled_audit_keeps_what_ended() -> None:
    seen: list[AuditProgress] = []
    options = AuditOptions(size=SMALL, keeps=False, only=("ledger-arithmetic", "identity"))
    report = run_audit(audited_pair(), options, seen.append, lambda: any(s.finished for s in seen))
    assert report.is_cancelled
    assert [check.name for check in report.checks] == ["ledger-arithmetic"]
    assert report.exit_code == 3
    assert not report.is_passed


def test_a_job_yields_progress_and_then_the_report() -> None:
    session = Session(audited_pair())
    options = AuditOptions(size=SMALL, keeps=False, only=("rewind-draft",))
    items = list(audit_job(session, options)(lambda: False))
    assert isinstance(items[-1], AuditReport)
    assert all(isinstance(item, AuditProgress) for item in items[:-1])
    assert {check.name for check in items[-1].checks} == {"noise", "rewind-draft"}
    assert session.target.length == 0


@pytest.mark.parametrize(
    "parts",
    [Parts(proposer=HotProposer), Parts(draft_runner=ForgetfulRunner)],
    ids=["draft at another temperature with its own law", "draft rewound one too many"],
)
def test_what_is_slower_or_otherwise_drafted_is_no_fault(parts: Parts) -> None:
    report = audit_of(parts, only=("identity", "forced", "rewind", "law"))
    assert failed_names(report) == set()


def test_a_backend_that_rounds_wide_passes_otherwise_has_ties_and_passes() -> None:
    """A1: near-ties fall the other way; each is weighed, counted and told."""
    flat = toy_model(VOCAB, layers=1, seed=4, lm_head_scale=0.5)
    pair = audited_pair(RoundingWideModel(flat).loaded, perturbed(flat, 0.1))
    report = audit_of(pair=pair, only=("identity", "forced", "rewind"))
    assert failed_names(report) == set()
    assert report.num_ties > 0
    told = sum(check.values.get("ties", 0) for check in report.checks)
    assert told == report.num_ties
    assert check_of(report, "noise").values["noise"] > 1e-3


def test_passes_that_are_wrong_at_most_widths_stop_the_audit() -> None:
    """As noise it would excuse any difference."""
    pair = audited_pair(WrongWidthModel(audited_target(), (2, 5)).loaded)
    with pytest.raises(AuditStoppedError, match="over several rows") as caught:
        audit_of(pair=pair)
    assert caught.value.exit_code == 3
    assert "attention mask" in caught.value.hint


def test_a_pair_without_a_draft_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="has no draft"):
        run_audit(toy_pair(audited_target()), AuditOptions(size=SMALL, keeps=False))


@pytest.mark.parametrize("lookahead", [0, 1, 3, 8, "auto"])
def test_each_round_is_given_the_rows_of_its_own_pass(lookahead: Any) -> None:
    """Passes are queued ahead of the reader; a round's tokens must follow from its own rows."""
    subject = AuditContext(audited_pair(), Parts(), SMALL).subject()
    for prompt in ([5, 6, 7], [5, 6, 7, 8], [9, 9]):
        settings = identity_settings(0.0, lookahead, 40, 1)
        for event in subject.session.generate(prompt, settings):
            rows = subject.rows_of(event)
            if isinstance(event, Round):
                assert rows is not None
                own: Any = mx.argmax(rows, axis=-1).tolist()
                emitted = [token.token for token in event.emitted]
                first = len(own) - 1 - len(event.proposed)
                assert own[first : first + len(emitted)] == emitted


def test_quantised_caches_can_be_audited() -> None:
    target: Any = toy_model(VOCAB, layers=1, seed=4, lm_head_scale=5, head_dim=64)
    session = Session(audited_pair(target, perturbed(target, 0.25)), kv_bits=8)
    items = list(
        audit_job(session, AuditOptions(size=SMALL, keeps=False, only=("rewind", "forced")))(
            lambda: False
        )
    )
    assert isinstance(items[-1], AuditReport)
    assert failed_names(items[-1]) == set()

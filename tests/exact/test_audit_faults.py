"""Faults on purpose: each is caught, by the checks that should catch it and no others.

Four are the product's own (``--inject``); the others the audit has never heard of.
"""

from __future__ import annotations

import dataclasses

from mlx_specdec.acceptance import CoupledRule, RejectionRule
from mlx_specdec.errors import NotANumberError
from mlx_specdec.faults import FAULTS
from mlx_specdec.parts import Parts
from tests.audits import (
    SMALL,
    LateNoiseRule,
    StaleRowProposer,
    SwappedRule,
    audit_of,
    audited_pair,
    audited_target,
    check_of,
    failed_names,
    replacing,
)
from tests.toymodels import WrongWidthModel

import pytest

TEXT = ("identity", "forced", "rewind")
SWAPPED = Parts(rule_for=replacing((RejectionRule,), SwappedRule))
LATE_NOISE = Parts(rule_for=replacing((CoupledRule,), lambda rule: LateNoiseRule()))


@pytest.mark.parametrize("rule", ["rejection", "block"])
@pytest.mark.parametrize(
    ("name", "by"), [("residual", "above"), ("temperature", "top"), ("low-q", "unlikely")]
)
def test_faults_of_the_law_are_caught_under_both_rules(name: str, by: str, rule: str) -> None:
    assert rule in FAULTS[name].breaks
    report = audit_of(FAULTS[name].parts, only=(f"law-{rule}",))
    assert f"law-{rule}-{by}" in failed_names(report)
    assert "which is not luck" in check_of(report, f"law-{rule}-{by}").reason
    assert report.exit_code == 1


@pytest.mark.parametrize("name", ["residual", "temperature", "low-q"])
def test_faults_of_the_law_leave_the_shared_noise_alone(name: str) -> None:
    """They break the rules that redraw; under the coupled rule the text is still the plain one."""
    assert "coupled" not in FAULTS[name].breaks
    assert failed_names(audit_of(FAULTS[name].parts, only=TEXT)) == set()


def test_a_guess_left_in_the_cache_is_caught_and_called_a_rewind() -> None:
    report = audit_of(FAULTS["rewind"].parts, only=TEXT)
    assert failed_names(report) == {
        "identity-greedy",
        "identity-coupled",
        "forced-wrong",
        "rewind-target",
    }
    for name in ("identity-greedy", "identity-coupled", "forced-wrong"):
        reason = check_of(report, name).reason
        assert "rewind: " in reason
        assert "with every guess right the text is equal" in reason


def test_noise_keyed_by_the_wrong_place_is_caught_and_called_a_rule() -> None:
    report = audit_of(LATE_NOISE, only=TEXT)
    assert failed_names(report) == {"identity-coupled", "forced-right", "forced-wrong"}
    assert "rule: it differs even when every guess is right" in (
        check_of(report, "identity-coupled").reason
    )


def test_a_wide_pass_that_is_wrong_is_called_masking_and_no_tie() -> None:
    """Wrong at a width on which the noise is not measured: a fresh wide pass is just as wrong."""
    pair = audited_pair(WrongWidthModel(audited_target(), (7,)).loaded)
    size = dataclasses.replace(SMALL, lookaheads=(6,))
    report = audit_of(pair=pair, only=("identity",), size=size)
    assert failed_names(report) == {"identity-greedy", "identity-coupled"}
    assert report.num_ties == 0
    for name in failed_names(report):
        assert "masking: it differs even when every guess is right" in check_of(report, name).reason


def test_p_and_q_swapped_is_caught() -> None:
    report = audit_of(SWAPPED, only=("law",))
    assert "law-rejection-above" in failed_names(report)
    assert not any(name.startswith("law-block") for name in failed_names(report))


@pytest.mark.parametrize("rule", ["rejection", "block"])
def test_a_stale_row_of_the_draft_is_caught(rule: str) -> None:
    report = audit_of(Parts(proposer=StaleRowProposer), only=(f"law-{rule}",))
    assert f"law-{rule}-above" in failed_names(report)


def test_an_answer_that_breaks_off_is_a_failed_check() -> None:
    def rule_for(name: str, temperature: float) -> RejectionRule:
        raise NotANumberError("The target returned no number.", "Download it again.")

    report = audit_of(Parts(rule_for=rule_for), only=("law-rejection",))
    assert failed_names(report) == {"law-rejection"}
    assert check_of(report, "law-rejection").hint == "Download it again."

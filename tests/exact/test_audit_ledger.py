"""The audit's look at the ledger: a profile measures each phase, and lost seconds are noticed."""

from __future__ import annotations

import itertools

from mlx_specdec.audit import ledger as audit_ledger
from mlx_specdec.events import Event, Round
from mlx_specdec.ledger.latency import LatencyLedger, LatencyModel
from mlx_specdec.parts import Parts
from mlx_specdec.session import Session
from mlx_specdec.settings import Settings
from tests.audits import audit_of, audited_pair, check_of, failed_names

import pytest


def ticking_answer(parts: Parts) -> list[Event]:
    """One answer on a clock that goes on by one second whenever it is asked."""
    session = Session(audited_pair(), parts=parts, clock=itertools.count(0.0, 1.0).__next__)
    settings = Settings(max_tokens=20, lookahead=3, seed=1, ignore_eos=True)
    return list(session.generate([5, 6, 7], settings))


def test_a_profile_measures_draft_and_check_in_place_of_the_building() -> None:
    rounds = [event for event in ticking_answer(Parts(profile=True)) if isinstance(event, Round)]
    drafted = [each.timings for each in rounds if each.proposed]
    assert drafted
    for timings in drafted:
        assert timings.draft_seconds > 0
        assert timings.verify_seconds > 0
        assert timings.build_seconds == 0
    assert rounds[0].timings.draft_seconds == 0


def test_without_a_profile_there_is_only_the_building() -> None:
    for event in ticking_answer(Parts()):
        if isinstance(event, Round):
            assert event.timings.build_seconds > 0
            assert event.timings.draft_seconds == event.timings.verify_seconds == 0


def test_the_ledger_adds_up_what_a_profile_measured() -> None:
    ledger = LatencyLedger()
    for event in ticking_answer(Parts(profile=True)):
        ledger.add(event)
    assert ledger.draft_seconds > 0
    assert ledger.verify_seconds > 0
    assert 0 < ledger.attributed_seconds <= ledger.lane_seconds


def test_a_ledger_that_loses_seconds_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class LosingLedger(LatencyLedger):
        @property
        def attributed_seconds(self) -> float:
            return 0.8 * super().attributed_seconds

    monkeypatch.setattr(audit_ledger, "LatencyLedger", LosingLedger)
    report = audit_of(only=("ledger-clock",))
    assert failed_names(report) == {"ledger-clock"}
    assert "close other programs" in check_of(report, "ledger-clock").hint


def test_arithmetic_that_prints_other_figures_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_ledger, "_EXAMPLE", LatencyModel(0.080, 0.12, 0.04, 0.006))
    report = audit_of(only=("ledger-arithmetic",))
    assert failed_names(report) == {"ledger-arithmetic"}
    reason = check_of(report, "ledger-arithmetic").reason
    assert "verify ms" in reason
    assert "draft ms" not in reason

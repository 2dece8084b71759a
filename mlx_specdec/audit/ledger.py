"""Ledger: its seconds add up to the clock, and its arithmetic gives the printed figures."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from statistics import median

from ..ledger.latency import LatencyLedger, LatencyModel, expected_tokens
from ..request import SamplingParams
from ..settings import Settings
from .context import AuditContext, AuditPrompt
from .report import CheckResult

__all__ = ["check_arithmetic", "check_clock"]

_MOST_UNEXPLAINED = 0.05

# The founding articles' own example and what they print of it: target 80 ms, draft cost 0.12,
# verify tax 0.03 a token after the first, overhead 6 ms, acceptance 0.74, lookahead 5.
_EXAMPLE = LatencyModel(0.080, 0.12, 0.03, 0.006)
_ACCEPTANCE, _LOOKAHEAD = 0.74, 5
_PRINTED = {
    "expected tokens": 3.214590,
    "draft ms": 48.0,
    "verify ms": 89.6,
    "cycle ms": 143.6,
    "ms per token": 44.671321,
    "speedup": 1.790858,
}


def check_clock(
    context: AuditContext, prompts: Sequence[AuditPrompt]
) -> Generator[float, None, CheckResult]:
    """Phases measured on their own (draft, verify, ...) against the lane's clock.

    The middle one of several answers counts: another program may take the processor away.
    """
    subject = context.subject(profile=True)
    settings = Settings(
        sampling=SamplingParams(temperature=0.8),
        max_tokens=context.size.identity_tokens,
        lookahead=4,
        rule="coupled",
        seed=context.seed,
        ignore_eos=True,
    )
    ledgers: list[LatencyLedger] = []
    for run in range(context.size.profiled_runs + 1):
        subject.session.clear()
        ledger = LatencyLedger()
        for event in subject.session.generate(prompts[run % len(prompts)].tokens, settings):
            subject.rows_of(event)
            ledger.add(event)
            yield 1.0
        if run:  # the first one warms up
            ledgers.append(ledger)
    shares = [abs(one.unattributed_seconds) / one.lane_seconds for one in ledgers]
    share = median(shares)
    middle = ledgers[shares.index(min(shares, key=lambda value: abs(value - share)))]
    draft, verify = (
        seconds / middle.lane_seconds for seconds in (middle.draft_seconds, middle.verify_seconds)
    )
    is_passed = share <= _MOST_UNEXPLAINED
    return CheckResult(
        "ledger-clock",
        "Ledger: measured phases add up to the clock",
        is_passed,
        f"{share * 100:.1f} % unexplained",
        f"at most {_MOST_UNEXPLAINED * 100:.0f} % of the lane's seconds",
        reason="" if is_passed else "seconds pass that no phase accounts for",
        hint=""
        if is_passed
        else "ledger: on a busy machine close other programs and run it again; else look at the "
        "clock readings in speculative.py",
        note=f"draft {draft * 100:.0f} %, verify {verify * 100:.0f} % of the middle one of "
        f"{len(ledgers)} answers",
        values={"unexplained": share, "draft_share": draft, "verify_share": verify},
    )


def check_arithmetic(context: AuditContext) -> Generator[float, None, CheckResult]:
    """LatencyModel against the figures that the founding articles print."""
    yield 0.0
    got = {
        "expected tokens": expected_tokens(_ACCEPTANCE, _LOOKAHEAD),
        "draft ms": _EXAMPLE.draft_seconds(_LOOKAHEAD) * 1000,
        "verify ms": _EXAMPLE.verify_seconds(_LOOKAHEAD) * 1000,
        "cycle ms": _EXAMPLE.cycle_seconds(_LOOKAHEAD) * 1000,
        "ms per token": _EXAMPLE.seconds_per_token(_ACCEPTANCE, _LOOKAHEAD) * 1000,
        "speedup": _EXAMPLE.speedup(_ACCEPTANCE, _LOOKAHEAD),
    }
    off = [name for name, value in _PRINTED.items() if abs(got[name] - value) > 1e-6]
    return CheckResult(
        "ledger-arithmetic",
        "Ledger: the founding articles' figures",
        not off,
        f"{len(_PRINTED) - len(off)} of {len(_PRINTED)} to the last printed digit",
        "all of them",
        reason=f"{', '.join(off)} of their example come out otherwise" if off else "",
        hint="ledger: look at LatencyModel (ledger.py)" if off else "",
        note=f"a round of {got['cycle ms']:.1f} ms, {got['speedup']:.2f} times plain",
        values=got,
    )

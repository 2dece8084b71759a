"""What an audit found: a figure, its bound and a verdict for every check."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

__all__ = ["AuditProgress", "AuditReport", "CheckResult"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check.

    Args:
        name: short and fixed, such as ``identity-greedy``.
        title: what was checked, in a few words.
        is_passed: the verdict.
        figure: what was found, with its unit.
        bound: what it had to be.
        reason: of a failed check, what it means.
        hint: of a failed check, where to look, the same for checks that point at the same place.
        note: what a reader of a passed check should know, such as the shift it could have seen.
        values: the figures as numbers.
    """

    name: str
    title: str
    is_passed: bool
    figure: str
    bound: str
    reason: str = ""
    hint: str = ""
    note: str = ""
    values: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditProgress:
    """How far an audit has come: what it is doing, the share done and the seconds left.

    ``seconds_left`` is None until there is something to judge by; ``finished`` is the check that
    has just ended, if one has.
    """

    doing: str
    share: float
    seconds_left: float | None
    finished: CheckResult | None = None


@dataclass(frozen=True, slots=True)
class AuditReport:
    """A whole audit.

    Args:
        checks: in the order in which they ran.
        target, draft: the models' names.
        is_quick: fewer prompts and tokens.
        is_cancelled: it was stopped; the checks that ended are kept.
        num_ties: differences from plain decoding that are numeric ties.
    """

    checks: tuple[CheckResult, ...]
    target: str
    draft: str
    seconds: float
    is_quick: bool = False
    is_cancelled: bool = False
    num_ties: int = 0

    @property
    def num_passed(self) -> int:
        return sum(check.is_passed for check in self.checks)

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        return tuple(check for check in self.checks if not check.is_passed)

    @property
    def is_passed(self) -> bool:
        return not self.failed and not self.is_cancelled

    @property
    def exit_code(self) -> int:
        """0 all well, 1 a check failed, 3 it was stopped before the end."""
        if self.failed:
            return 1
        return 3 if self.is_cancelled else 0

    def document(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return {
            "target": self.target,
            "draft": self.draft,
            "quick": self.is_quick,
            "cancelled": self.is_cancelled,
            "seconds": round(self.seconds, 2),
            "passed": self.num_passed,
            "num_checks": len(self.checks),
            "numeric_ties": self.num_ties,
            "checks": [dataclasses.asdict(check) for check in self.checks],
        }

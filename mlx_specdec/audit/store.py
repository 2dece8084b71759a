"""The last audit's result: one small file in the user's state folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..small_file import replace_file
from .report import AuditReport

__all__ = ["StoredAudit", "last_audit", "remember_audit"]

_SCHEMA = 1
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class StoredAudit:
    """What is kept of an audit.

    Args:
        date: when it ended, ISO 8601 in UTC.
        target, draft: the models' names.
        version, mlx_version: of this package and of MLX.
        is_quick: fewer prompts and tokens.
        checks: title and verdict of each.
        num_ties: numeric ties.
    """

    date: str
    target: str
    draft: str
    version: str
    mlx_version: str
    is_quick: bool
    checks: tuple[tuple[str, bool], ...]
    num_ties: int
    seconds: float

    @property
    def num_passed(self) -> int:
        return sum(is_passed for _, is_passed in self.checks)

    def age_seconds(self, now: datetime | None = None) -> float:
        """Seconds since it ended; 0 where a clock was turned back."""
        now = now or datetime.now(UTC)
        return max((now - datetime.fromisoformat(self.date)).total_seconds(), 0.0)

    def words(self, now: datetime | None = None) -> str:
        """``last run 14 of 14, 2 days ago``."""
        age = self.age_seconds(now)
        for size, unit in ((_DAY, "day"), (3600, "hour"), (60, "minute")):
            if age >= size:
                count = int(age // size)
                ago = f"{count} {unit}{'' if count == 1 else 's'} ago"
                break
        else:
            ago = "just now"
        return f"last run {self.num_passed} of {len(self.checks)}, {ago}"


def _file(environ: Mapping[str, str] | None = None) -> Path:
    env = os.environ if environ is None else environ
    base = env.get("XDG_STATE_HOME")
    folder = Path(base) if base else Path.home() / ".local" / "state"
    return folder / "mlx-specdec" / "last-audit.json"


def remember_audit(report: AuditReport, versions: Mapping[str, str]) -> StoredAudit:
    """Keep a report for the next time; nothing is kept on a read-only disk.

    Args:
        versions: by package name, as ``this_machine.versions`` gives them.
    """
    stored = StoredAudit(
        datetime.now(UTC).isoformat(timespec="seconds"),
        report.target,
        report.draft,
        versions.get("mlx-specdec", ""),
        versions.get("mlx", ""),
        report.is_quick,
        tuple((check.title, check.is_passed) for check in report.checks),
        report.num_ties,
        round(report.seconds, 1),
    )
    replace_file(_file(), json.dumps({"schema": _SCHEMA, **asdict(stored)}, indent=2) + "\n")
    return stored


def last_audit() -> StoredAudit | None:
    """The last audit of this user on this machine; None when nothing usable is kept."""
    try:
        kept = json.loads(_file().read_text(encoding="utf-8"))
        if kept.pop("schema") != _SCHEMA:
            return None
        kept["checks"] = tuple((str(title), bool(verdict)) for title, verdict in kept["checks"])
        stored = StoredAudit(**kept)
        datetime.fromisoformat(stored.date)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return stored

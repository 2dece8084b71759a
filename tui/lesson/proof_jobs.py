"""What the proof screen asks of the engine: both laws at one place, the audit, a broken rewind.

Each is a function of the session for Bridge.conversation_call, run on the engine's thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mlx_specdec.audit.report import AuditProgress, AuditReport
from mlx_specdec.settings import Settings

if TYPE_CHECKING:
    from mlx_specdec.audit.job import AuditOptions
    from mlx_specdec.lesson.proof import NextWordLaw
    from mlx_specdec.session import Session

__all__ = ["AuditRun", "law_of_pair"]


def law_of_pair(
    prompt: str, answer: Sequence[int], settings: Settings
) -> Callable[[Session], NextWordLaw]:
    """Both laws of the next word after an answer's beginning."""

    def job(session: Session) -> NextWordLaw:
        from mlx_specdec.lesson.next_word import next_word_law

        return next_word_law(session, prompt, answer, settings)

    return job


class AuditRun:
    """An audit on its way; ``progress`` may be read from any thread.

    Args:
        fault: name of a fault to put in; the run ends at the first check that sees it.
        is_quick: fewer prompts and tokens.
    """

    def __init__(self, fault: str = "", is_quick: bool = False) -> None:
        self.fault = fault
        self.progress: AuditProgress | None = None
        self.num_checks = 0
        self._is_quick = is_quick
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """End it after the pass under way."""
        self._cancelled.set()

    def __call__(self, session: Session) -> AuditReport | None:
        """The report; with a fault, of the checks up to the first that failed."""
        from mlx_specdec.audit.job import audit_job

        report = None
        for step in audit_job(session, self._options())(self._cancelled.is_set):
            if isinstance(step, AuditReport):
                report = step
                continue
            self.progress = step
            if step.finished is not None:
                self.num_checks += 1
                if self.fault and not step.finished.is_passed:
                    self.cancel()
        return report

    def _options(self) -> AuditOptions:
        from mlx_specdec.audit.job import AuditOptions

        if not self.fault:
            return AuditOptions(is_quick=self._is_quick)
        from mlx_specdec.faults import fault_named

        parts = fault_named(self.fault).parts
        return AuditOptions(is_quick=True, parts=parts, keeps=False)

"""The audit: whether drafting changes nothing, tried on the models themselves; it can fail.

::

    from mlx_specdec.audit.job import AuditOptions, run_audit

    report = run_audit(engine, AuditOptions(is_quick=True))
    for check in report.checks:
        print(check.is_passed, check.title, check.figure, check.bound)

On an engine's thread it is a job: ``engine.thread.submit(audit_job(engine.session, options))``
yields AuditProgress after AuditProgress, then the AuditReport.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ..engine import Engine
from ..errors import GenerationError, InvalidRequestError
from ..forward import never
from ..loaded import Pair
from ..parts import Parts
from ..this_machine import versions
from .context import FULL, QUICK, AuditContext, AuditPrompt, AuditSize
from .identity import TEMPERATURES, check_forced, check_identity
from .law import check_law
from .ledger import check_arithmetic, check_clock
from .noise import check_noise
from .report import AuditProgress, AuditReport, CheckResult
from .rewind import check_rewind
from .store import StoredAudit, last_audit, remember_audit

__all__ = [
    "AuditOptions",
    "AuditProgress",
    "AuditReport",
    "CheckResult",
    "StoredAudit",
    "audit_job",
    "last_audit",
    "run_audit",
]

_REPORT_EVERY = 0.1  # seconds between two words of progress
_WIDE_ROUND = 0.6  # rounds per token that a drafted answer takes, to guess the time left

Found = CheckResult | list[CheckResult]
Running = Generator[float, None, Found]


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """How an audit is done.

    Args:
        is_quick: fewer prompts and tokens; the law's checks then see only larger shifts.
        seed: of everything drawn; the same seed, the same audit.
        parts: what the audited decoders are made of.
        keeps: whether the result is kept as the last audit's.
        size: how much to look at, in place of what ``is_quick`` says.
        only: beginnings of the names of the checks to run, such as ``law-block`` or ``rewind``;
            the noise is measured all the same. Empty for all of them.
    """

    is_quick: bool = False
    seed: int = 0
    parts: Parts = field(default_factory=Parts)
    keeps: bool = True
    size: AuditSize | None = None
    only: tuple[str, ...] = ()

    def wants(self, name: str) -> bool:
        return not self.only or name == "noise" or name.startswith(self.only)


@dataclass(frozen=True, slots=True)
class _Step:
    """A check to come: its name, what to call it, its passes as a guess, and the check itself."""

    name: str
    doing: str
    units: float
    begin: Callable[[], Running]


def run_audit(
    engine_or_pair: Engine | Pair,
    options: AuditOptions | None = None,
    on_progress: Callable[[AuditProgress], None] = lambda progress: None,
    is_cancelled: Callable[[], bool] = never,
) -> AuditReport:
    """The whole audit. An Engine's runs on its thread, a Pair's on the calling one.

    Args:
        on_progress: told every tenth of a second, and after each check, on the audit's thread.
        is_cancelled: asked after every pass.

    Raises:
        AuditStoppedError: the backend's noise is so large that nothing can be told apart.
        InvalidRequestError: there is no draft, or no check of a name in ``only``.
    """
    wanted = options or AuditOptions()
    if isinstance(engine_or_pair, Engine):
        session = engine_or_pair.session
        cache = {"kv_bits": session.kv_bits, "kv_group_size": session.kv_group_size}
        return engine_or_pair.thread.call(
            lambda: _told(session.pair, wanted, on_progress, is_cancelled, cache)
        )
    return _told(engine_or_pair, wanted, on_progress, is_cancelled, {})


def audit_job(
    session: Any, options: AuditOptions | None = None
) -> Callable[[Callable[[], bool]], Iterator[AuditProgress | AuditReport]]:
    """A job for the engine's thread that audits a session's pair; the last yield is the report.

    Args:
        session: a Session; its conversation and caches stay as they are.
    """
    cache = {"kv_bits": session.kv_bits, "kv_group_size": session.kv_group_size}
    return lambda is_cancelled: _audit(session.pair, options or AuditOptions(), is_cancelled, cache)


def _told(
    pair: Pair,
    options: AuditOptions,
    on_progress: Callable[[AuditProgress], None],
    is_cancelled: Callable[[], bool],
    cache: dict[str, Any],
) -> AuditReport:
    for step in _audit(pair, options, is_cancelled, cache):
        if isinstance(step, AuditReport):
            return step
        on_progress(step)
    raise AssertionError("an audit ends with a report")


def _audit(
    pair: Pair,
    options: AuditOptions,
    is_cancelled: Callable[[], bool],
    cache: dict[str, Any],
) -> Iterator[AuditProgress | AuditReport]:
    size = options.size or (QUICK if options.is_quick else FULL)
    context = AuditContext(pair, options.parts, size, options.seed, cache)
    draft_name = context.draft.name
    clock = _Clock(_wanted(_steps(context), options))
    checks: list[CheckResult] = []
    cancelled = False
    for step in clock.steps:
        yield clock.progress(step)
        running = _guarded(step)
        while not (cancelled := is_cancelled()):
            try:
                clock.spend(next(running))
            except StopIteration as ended:
                found = ended.value if isinstance(ended.value, list) else [ended.value]
                break
            if clock.is_due():
                yield clock.progress(step)
        if cancelled:
            running.close()
            break
        clock.end(step)
        for check in found:
            checks.append(check)
            yield replace(clock.progress(step), finished=check)
    report = AuditReport(
        tuple(checks),
        pair.target.name,
        draft_name,
        clock.seconds(),
        options.is_quick,
        cancelled,
        context.num_ties,
    )
    if options.keeps and not cancelled:
        remember_audit(report, versions())
    yield report


def _wanted(steps: list[_Step], options: AuditOptions) -> list[_Step]:
    names = [step.name for step in steps]
    for beginning in options.only:
        if not any(name.startswith(beginning) for name in names):
            raise InvalidRequestError(
                f"There is no check whose name begins with {beginning!r}.",
                f"Checks are {', '.join(names)}.",
            )
    return [step for step in steps if options.wants(step.name)]


def _guarded(step: _Step) -> Running:
    """A check in which generating breaks off has failed."""
    try:
        return (yield from step.begin())
    except GenerationError as error:
        return CheckResult(
            step.name,
            step.doing.capitalize(),
            False,
            "an answer broke off",
            "every answer ends",
            f"{error.title}: {error.message}",
            error.hint,
        )


def _steps(context: AuditContext) -> list[_Step]:
    size = context.size
    longest = max(size.identity_tokens, size.law_tokens)
    prompts = context.prompts(size.prompts, room=longest + 1)
    answers = len(prompts) * size.identity_tokens
    drafted = answers * len(context.lookaheads) * _WIDE_ROUND
    forced = len(TEMPERATURES) * size.forced_prompts * size.identity_tokens
    drawn = size.law_rounds * len(prompts) * size.law_tokens
    profiled = (size.profiled_runs + 1) * size.identity_tokens * _WIDE_ROUND
    rewinds = 8.0 * len(prompts)

    def identity(temperature: float) -> Callable[[], Running]:
        return lambda: check_identity(context, prompts, temperature)

    def law(rule: str) -> Callable[[], Running]:
        return lambda: check_law(context, prompts, rule)

    def rewind(is_target: bool, among: list[AuditPrompt]) -> Callable[[], Running]:
        return lambda: check_rewind(context, among, is_target)

    return [
        _Step("ledger-arithmetic", "ledger arithmetic", 0.0, lambda: check_arithmetic(context)),
        _Step("noise", "rounding noise", 168.0, lambda: check_noise(context)),
        *(
            _Step(name, f"identity at temperature {t:g}", answers + drafted, identity(t))
            for name, t in zip(("identity-greedy", "identity-coupled"), TEMPERATURES, strict=True)
        ),
        _Step(
            "forced-right",
            "forced right guesses",
            forced * 0.3,
            lambda: check_forced(context, prompts, True),
        ),
        _Step(
            "forced-wrong",
            "forced wrong guesses",
            forced,
            lambda: check_forced(context, prompts, False),
        ),
        _Step("rewind-target", "rewinding of the target", rewinds, rewind(True, prompts)),
        _Step("rewind-draft", "rewinding of the draft", rewinds, rewind(False, prompts)),
        *(
            _Step(f"law-{rule}", f"law of {rule}", drawn * (1 + _WIDE_ROUND), law(rule))
            for rule in ("rejection", "block")
        ),
        _Step("ledger-clock", "ledger clock", profiled, lambda: check_clock(context, prompts)),
    ]


class _Clock:
    """How far the audit has come, and from its pace how long the rest will take."""

    def __init__(self, steps: list[_Step]) -> None:
        self.steps = steps
        self._left = sum(step.units for step in steps)
        self._done = self._in_step = 0.0
        self._began = self._told = time.perf_counter()

    def seconds(self) -> float:
        return time.perf_counter() - self._began

    def spend(self, units: float) -> None:
        self._done += units
        self._in_step += units

    def end(self, step: _Step) -> None:
        """A step is over, whatever its guess was."""
        self._left -= step.units
        self._in_step = 0.0

    def is_due(self) -> bool:
        return time.perf_counter() - self._told >= _REPORT_EVERY

    def progress(self, step: _Step) -> AuditProgress:
        self._told = time.perf_counter()
        left = max(self._left - min(self._in_step, step.units), 0.0)
        share = self._done / (self._done + left) if self._done + left else 0.0
        pace = self.seconds() / self._done if self._done else None
        return AuditProgress(step.doing, share, None if pace is None else pace * left)

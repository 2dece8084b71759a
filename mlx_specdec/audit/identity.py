"""Identity: the drafted text is the plain text, token for token, or differs by a numeric tie."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from ..settings import Settings
from .comparison import Comparison, compare, identity_settings
from .context import AuditContext, AuditPrompt
from .forced import diagnose, forced
from .report import CheckResult

__all__ = ["TEMPERATURES", "check_forced", "check_identity"]

TEMPERATURES = (0.0, 0.8)
_ENOUGH_FAULTS = 3  # then the point is made
_BOUND = "all but numeric ties"


@dataclass
class _Account:
    """Answers compared so far."""

    num_answers: int = 0
    num_equal: int = 0
    num_ties: int = 0
    largest_margin: float = 0.0
    num_faults: int = 0
    reasons: list[str] = field(default_factory=list)
    hint: str = ""
    of_what: str = ""

    def add(self, found: Comparison) -> None:
        self.num_answers += 1
        self.num_equal += found.num_equal
        self.num_ties += len(found.ties)
        margins = [tie.margin for tie in found.ties]
        self.largest_margin = max([self.largest_margin, *margins])
        self.num_faults += found.is_fault

    def result(self, name: str, title: str) -> CheckResult:
        compared = self.num_equal + self.num_ties + self.num_faults
        ties = f", {self.num_ties} numeric tie{'' if self.num_ties == 1 else 's'}"
        note = f"{self.num_answers} answers{self.of_what}"
        if self.num_ties:
            note += f"; at a tie the best two scores were at most {self.largest_margin:.2g} apart"
        return CheckResult(
            name,
            title,
            self.num_faults == 0,
            f"{self.num_equal:,} of {compared:,} tokens equal{ties}",
            _BOUND,
            "; ".join(self.reasons),
            self.hint,
            note=note,
            values={
                "answers": self.num_answers,
                "equal": self.num_equal,
                "compared": compared,
                "ties": self.num_ties,
                "faults": self.num_faults,
            },
        )


def check_identity(
    context: AuditContext, prompts: Sequence[AuditPrompt], temperature: float
) -> Generator[float, None, CheckResult]:
    """Every prompt at every lookahead, one session for all: what prompts share is not reread."""
    names = ", ".join(map(str, context.lookaheads))
    account = _Account(of_what=f": {len(prompts)} prompts at lookahead {names}")
    subject = context.subject()
    for number, prompt in enumerate(prompts):
        for lookahead in context.lookaheads:
            if account.num_faults >= _ENOUGH_FAULTS:
                account.of_what = ", and no more after the third fault"
                break
            settings = identity_settings(
                temperature, lookahead, context.size.identity_tokens, context.seed + number
            )
            found = yield from compare(context, subject, prompt.tokens, settings)
            account.add(found)
            if found.is_fault:
                yield from _explain(context, account, prompt, settings, found)
                subject = context.subject()
    if temperature == 0:
        return account.result("identity-greedy", "Same text as plain, temperature 0")
    return account.result(
        "identity-coupled", f"Same text as plain, temperature {temperature}, rule coupled"
    )


def check_forced(
    context: AuditContext, prompts: Sequence[AuditPrompt], is_right: bool
) -> Generator[float, None, CheckResult]:
    """The same with guesses that are all right, or all wrong, at both temperatures."""
    account = _Account(of_what=", temperatures 0 and 0.8, lookahead 4")
    for number, prompt in enumerate(prompts[: context.size.forced_prompts]):
        for temperature in TEMPERATURES:
            settings = identity_settings(
                temperature, 4, context.size.identity_tokens, context.seed + number
            )
            found = yield from forced(context, prompt.tokens, settings, is_right)
            account.add(found)
            if found.is_fault:
                yield from _explain(context, account, prompt, settings, found)
    if is_right:
        return account.result("forced-right", "Same text, every guess forced right")
    return account.result("forced-wrong", "Same text, every guess forced wrong")


def _explain(
    context: AuditContext,
    account: _Account,
    prompt: AuditPrompt,
    settings: Settings,
    found: Comparison,
) -> Generator[float, None, None]:
    """Say what the first fault of a check is; the ones after it are only counted."""
    if account.reasons:
        return
    place = f"prompt {prompt.id}, lookahead {settings.lookahead}"
    if found.fault is None:
        account.reasons.append(f"{place}: the answer ended {found.num_missing} tokens too early")
        return
    cause = yield from diagnose(context, prompt.tokens, settings, found.fault)
    account.reasons.append(f"{place}, token {found.fault[0].index}: {cause.words}")
    account.hint = cause.hint

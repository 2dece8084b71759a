"""Rewind: after guesses were taken back, the logits are those of a cache that never saw them."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from ..backend import mx
from ..forward import ModelRunner
from .comparison import identity_settings, plain_answer
from .context import AuditContext, AuditPrompt
from .noise import largest_difference
from .report import CheckResult

__all__ = ["check_rewind"]

_GUESSES = 4
_KEPT = (0, 2, 4, 1, 0, 3)  # guesses kept, round after round


def check_rewind(
    context: AuditContext, prompts: Sequence[AuditPrompt], is_target: bool
) -> Generator[float, None, CheckResult]:
    """The target's cache, or the draft's, through rounds as the decoder makes them."""
    model = context.pair.target if is_target else context.draft
    allowed = context.target_allowed if is_target else context.draft_allowed
    settings = identity_settings(0.0, 4, context.size.identity_tokens, context.seed)
    worst, num_rewinds = 0.0, 0
    for prompt in prompts:
        plain = yield from plain_answer(context, prompt.tokens, settings)
        text = [*prompt.tokens, *plain]
        session = context.subject().session
        assert session.proposer is not None
        runner = session.target if is_target else session.proposer.runner
        length = len(prompt.tokens)
        runner.prefill(text, length - 1)
        for kept in _KEPT:
            if length + _GUESSES + 1 > len(text):
                break
            _round(context, runner, text, length, kept)
            length += kept + 1
            num_rewinds += 1
            yield 1.0
        logits = runner.extend(text[runner.length : length])[-1:]
        fresh = context.fresh(model)
        fresh.prefill(text, length - 1)
        worst = max(worst, largest_difference(logits, fresh.extend(text[length - 1 : length])))
        yield 2.0
    return _result(is_target, worst, allowed, num_rewinds)


def _round(
    context: AuditContext, runner: ModelRunner, text: Sequence[int], length: int, kept: int
) -> None:
    """Feed what is owed and some guesses, of which the first ``kept`` are right; take back."""
    wrong = [(token + 1) % context.width for token in text[length + kept : length + _GUESSES]]
    guesses = [*text[length : length + kept], *wrong]
    known = list(text[runner.length : length])
    mx.eval(runner.extend(known, mx.array(guesses, dtype=mx.int32)))
    runner.commit(list(text[: length + kept + 1]), length + kept)


def _result(is_target: bool, worst: float, allowed: float, num_rewinds: int) -> CheckResult:
    whose = "target" if is_target else "draft"
    is_passed = worst <= allowed
    reason = hint = ""
    if not is_passed:
        reason = f"the {whose}'s cache still holds guesses that were turned down"
        hint = "rewind: look at truncate_to (cache.py) and commit (forward.py)"
    return CheckResult(
        f"rewind-{whose}",
        f"Rewound cache of the {whose} equals a fresh one",
        is_passed,
        f"{worst:.2g} apart after {num_rewinds} rewinds",
        f"at most {allowed:.2g}",
        reason,
        hint,
        values={"difference": worst, "allowed": allowed, "rewinds": num_rewinds},
    )

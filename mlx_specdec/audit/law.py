"""Law: what the running decoder emits is drawn from the target's law, for rules that redraw.

Each emitted token is checked against sets that the prefix fixes, with the laws recomputed by
passes over one row on fresh caches. Sum of [token in set] - (the target's probability of the
set): a martingale, see ``martingale``. The prefill's own token is left out: no rule touched it.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field

from ..backend import mx, read_floats
from ..distributions import History, scaled_scores, softmax
from ..events import Round
from ..request import GenerateRequest, SamplingParams
from ..settings import Settings
from .context import AuditContext, AuditPrompt
from .martingale import Tally
from .report import CheckResult

__all__ = ["FALSE_ALARM", "SETS", "check_law"]

FALSE_ALARM = 1e-3
"""The chance that a sound program fails any of the law's checks, all of them together."""

SETS = {
    "above": "tokens the target likes better than the draft",
    "unlikely": "tokens the draft gives less than 10 %",
    "top": "the target's likeliest token",
}
"""Fixed by the prefix alone. "Better" is by half: near p = q nothing can go wrong."""

_WHERE = (
    "law: look at the acceptance rule and at what it draws at a miss (acceptance.py), and whether "
    "the draft's law is the one its guesses are drawn from, none dropped afterwards (proposers/)"
)
_BETTER = 1.5
_UNLIKELY = 0.1
_NUM_SUMS = 2 * len(SETS) + 1
_ALARM_EACH = FALSE_ALARM / _NUM_SUMS
_READ_TOGETHER = 16  # tokens between two waits for the device
_ROWS_TOGETHER = 32  # of the draft, in one pass
_LOOKAHEAD = 4
_SAMPLINGS = (
    SamplingParams(temperature=1.0),
    SamplingParams(temperature=0.8, top_p=0.95),
)


@dataclass
class _Answer:
    """An answer of the decoder: its request, its tokens, and where rounds of guesses began."""

    request: GenerateRequest
    tokens: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)


@dataclass
class _Sums:
    """One rule's sums: a tally for each set, and one for the first two drafted tokens."""

    by_set: dict[str, Tally] = field(default_factory=lambda: {name: Tally() for name in SETS})
    joint: Tally = field(default_factory=Tally)
    tested: int = 0
    accepted: int = 0


def check_law(
    context: AuditContext, prompts: Sequence[AuditPrompt], rule: str
) -> Generator[float, None, list[CheckResult]]:
    """One result for each set; for ``block`` also one for the first two drafted tokens."""
    sums = _Sums()
    subject = context.subject()
    for turn in range(context.size.law_rounds):
        for number, prompt in enumerate(prompts):
            settings = Settings(
                sampling=_SAMPLINGS[(turn + number) % len(_SAMPLINGS)],
                max_tokens=context.size.law_tokens,
                lookahead=_LOOKAHEAD,
                rule=rule,
                seed=context.seed + 1_000 * turn + number,
                ignore_eos=True,
            )
            answer = _Answer(settings.request(prompt.tokens))
            for event in subject.session.generate(prompt.tokens, settings):
                subject.rows_of(event)
                if isinstance(event, Round):
                    _take(answer, sums, event)
                    yield 1.0
            yield from _tally(context, answer, sums)
    results = [
        _result(f"law-{rule}-{name}", f"Law, {rule}: {SETS[name]}", tally, sums, "tokens")
        for name, tally in sums.by_set.items()
    ]
    if rule == "block":
        title = "Law, block: the first two tokens of a round together"
        results.append(_result("law-block-joint", title, sums.joint, sums, "pairs"))
    return results


def _take(answer: _Answer, sums: _Sums, event: Round) -> None:
    if len(event.proposed) > 1:
        answer.starts.append(len(answer.tokens))
    sums.tested += min(event.num_accepted + 1, len(event.proposed))
    sums.accepted += event.num_accepted
    answer.tokens += [token.token for token in event.emitted]


def _tally(context: AuditContext, answer: _Answer, sums: _Sums) -> Generator[float, None, None]:
    """Add one answer up, its laws recomputed."""
    starts = set(answer.starts)
    index = 0
    for batch in _batches(_sightings(context, answer)):
        yield float(len(batch))
        for numbers in batch:
            # The prefill's own token came before any rule.
            if index:
                for place, tally in enumerate(sums.by_set.values()):
                    tally.add(numbers[2 * place] > 0, numbers[2 * place + 1])
                hit, chance, carried = numbers[-3:]
                if index - 1 in starts and carried < 1:
                    sums.joint.add(hit > 0, chance)
            index += 1


def _batches(rows: Iterator[mx.array]) -> Iterator[list[list[float]]]:
    """The rows' numbers, some at a time, so that the device is not waited for at every one."""
    while batch := list(itertools.islice(rows, _READ_TOGETHER)):
        width = batch[0].shape[0]
        numbers = read_floats(mx.concatenate(batch))
        yield [numbers[i : i + width] for i in range(0, len(numbers), width)]


def _sightings(context: AuditContext, answer: _Answer) -> Iterator[mx.array]:
    """For each token of the answer, in order: per set whether it is in it (0 or 1) and the
    target's probability of the set; the same for the pair with the token before; and that one's
    min(1, p/q)."""
    carried = mx.array(1.0)
    for token, target, draft in zip(
        answer.tokens, _target_laws(context, answer), _draft_laws(context, answer), strict=True
    ):
        above = target > _BETTER * draft
        unlikely = draft < _UNLIKELY
        top = mx.arange(target.shape[0]) == mx.argmax(target)
        # The pairs that the target likes better than the draft, judged as the block rule judges.
        together = carried * target > draft
        parts = []
        for inside in (above, unlikely, top, together):
            parts += [inside[token].astype(mx.float32), mx.sum(mx.where(inside, target, 0.0))]
        row = mx.stack([*parts, carried])
        mx.async_eval(row)
        yield row
        carried = mx.minimum(target[token] / mx.maximum(draft[token], 1e-30), 1.0)


def _target_laws(context: AuditContext, answer: _Answer) -> Iterator[mx.array]:
    """The target's law [width] of every token of the answer, one row a pass on a fresh cache."""
    prompt = answer.request.prompt_tokens
    text = [*prompt, *answer.tokens]
    runner = context.fresh(context.pair.target)
    runner.prefill(text, len(prompt) - 1)
    for place in range(len(prompt), len(text)):
        row = runner.extend([text[place - 1]])
        history = History(text[:place])
        yield softmax(scaled_scores(row, answer.request.sampling, history, context.width))[0]


def _draft_laws(context: AuditContext, answer: _Answer) -> Iterator[mx.array]:
    """The draft's: it only says which sets are looked at, so many rows a pass will do."""
    prompt = answer.request.prompt_tokens
    text = [*prompt, *answer.tokens]
    runner = context.fresh(context.draft)
    runner.prefill(text, len(prompt) - 1)
    for begin in range(len(prompt) - 1, len(text) - 1, _ROWS_TOGETHER):
        fed = text[begin : min(begin + _ROWS_TOGETHER, len(text) - 1)]
        history = History(text[: begin + 1], mx.array(fed[1:], dtype=mx.int32))
        params = answer.request.drafting_params
        laws = softmax(scaled_scores(runner.extend(fed), params, history, context.width))
        yield from (laws[i] for i in range(len(fed)))


def _result(name: str, title: str, tally: Tally, sums: _Sums, what: str) -> CheckResult:
    bound = tally.z_bound(_ALARM_EACH)
    is_passed = abs(tally.z) <= bound
    shift = tally.shift_seen(_ALARM_EACH)
    count = max(tally.count, 1)
    drift = tally.total / count
    rate = sums.accepted / sums.tested if sums.tested else 0.0
    reason = hint = ""
    if not is_passed:
        hint = _WHERE
        more = "more" if drift > 0 else "less"
        reason = (
            f"these come out {abs(drift) * 100:.1f} points {more} often than the target's law "
            "says, which is not luck"
        )
    return CheckResult(
        name,
        title,
        is_passed,
        f"{tally.hits / count * 100:.1f} % of {tally.count:,} {what}, law "
        f"{tally.expected / count * 100:.1f} %: z {tally.z:+.2f}",
        f"|z| at most {bound:.2f}",
        reason,
        hint,
        note=f"a shift of {shift * 100:.1f} points would have been seen; {rate * 100:.0f} % of "
        "guesses kept",
        values={
            "z": tally.z,
            "bound": bound,
            "tokens": tally.count,
            "drift": drift,
            "shift_seen": shift,
            "acceptance_rate": rate,
        },
    )

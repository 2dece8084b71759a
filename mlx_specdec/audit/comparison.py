"""Answers of an audited session beside plain decoding, token for token."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from ..events import Round
from ..request import SamplingParams
from ..settings import Settings
from .context import AuditContext, Subject
from .evidence import Deviation, Evidence, weigh

__all__ = ["Comparison", "compare", "identity_settings", "plain_answer"]


@dataclass
class Comparison:
    """What came of one answer.

    Args:
        num_equal: tokens that were equal.
        ties: where the two parted by rounding; both went on from the plain token.
        fault: the first difference that is no tie, with its evidence; the answer ended there.
        num_missing: tokens that the speculative answer lacked at its end.
    """

    num_equal: int = 0
    ties: list[Evidence] = field(default_factory=list)
    fault: tuple[Deviation, Evidence] | None = None
    num_missing: int = 0

    @property
    def is_fault(self) -> bool:
        return self.fault is not None or self.num_missing > 0


def identity_settings(temperature: float, lookahead: Any, max_tokens: int, seed: int) -> Settings:
    """Settings under which a drafted answer must be the plain one."""
    return Settings(
        sampling=SamplingParams(temperature=temperature),
        max_tokens=max_tokens,
        lookahead=lookahead,
        rule="coupled",
        seed=seed,
        think=False,
        ignore_eos=True,
    )


def plain_answer(
    context: AuditContext, prompt: Sequence[int], settings: Settings
) -> Generator[float, None, list[int]]:
    """The tokens of plain decoding with sound parts, on a cache of its own; made once."""
    key = (tuple(prompt), settings.sampling, settings.seed, settings.max_tokens)
    if key not in context.plain_answers:
        tokens: list[int] = []
        for event in context.plain_session().generate(prompt, settings.changed(draft=False)):
            if isinstance(event, Round):
                tokens += [token.token for token in event.emitted]
                yield 1.0
        context.plain_answers[key] = tokens
    return context.plain_answers[key]


def compare(
    context: AuditContext,
    subject: Subject,
    prompt: Sequence[int],
    settings: Settings,
    on_plain: Callable[[list[int]], None] = lambda text: None,
) -> Generator[float, None, Comparison]:
    """One answer against the plain one; after a tie both go on from the plain token.

    Args:
        on_plain: told the prompt and the plain answer before the other one begins.
    """
    found = Comparison()
    text, left = list(prompt), settings.max_tokens or 0
    while left > 0:
        wanted = settings.changed(max_tokens=left)
        plain = yield from plain_answer(context, text, wanted)
        on_plain([*text, *plain])
        deviation, num_equal = yield from _first_deviation(subject, text, wanted, plain)
        found.num_equal += num_equal
        if deviation is None:
            found.num_missing = len(plain) - num_equal
            break
        evidence = weigh(context, deviation)
        yield float(len(deviation.before))
        if not evidence.is_tie:
            found.fault = deviation, evidence
            break
        found.ties.append(evidence)
        text += plain[: deviation.index + 1]
        left -= deviation.index + 1
    context.num_ties += len(found.ties)
    return found


def _first_deviation(
    subject: Subject, prompt: Sequence[int], settings: Settings, plain: Sequence[int]
) -> Generator[float, None, tuple[Deviation | None, int]]:
    """Where an answer leaves the plain one, and how many tokens were equal until then."""
    request = settings.request(prompt)
    emitted: list[int] = []
    stream: Any = subject.session.generate(prompt, settings)
    with closing(stream):
        for event in stream:
            rows = subject.rows_of(event)
            if not isinstance(event, Round):
                continue
            yield 1.0
            begins = len(emitted)
            for offset, token in enumerate(event.emitted):
                if len(emitted) < len(plain) and token.token == plain[len(emitted)]:
                    emitted.append(token.token)
                    continue
                assert rows is not None
                row = rows.shape[0] - 1 - len(event.proposed) + offset
                deviation = Deviation(
                    request=request,
                    index=len(emitted),
                    speculative=token.token,
                    plain=plain[len(emitted)] if len(emitted) < len(plain) else -1,
                    before=tuple(emitted),
                    guesses=tuple(guess.token for guess in event.proposed),
                    begins=begins,
                    round_index=event.index,
                    own=rows[row : row + 1],
                )
                return deviation, len(emitted)
    return None, len(emitted)

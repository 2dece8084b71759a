"""Evidence on one token that differs from plain decoding: a numeric tie, or a fault, and which.

A tie needs all of it: the run's own logits lie within the backend's noise of a fresh wide pass,
and that one of a fresh pass over one row (else a pass that is plainly wrong would pass for noise);
the plain sampler, on a fresh wide pass and with the same noise, says the speculative token; on a
fresh pass over one row it says the plain one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..backend import mx
from ..distributions import History, scaled_scores
from ..draws import best_and_gap
from ..noise import KeyedNoise
from ..request import GenerateRequest
from .context import AuditContext
from .noise import largest_difference

__all__ = ["Deviation", "Evidence", "weigh"]


@dataclass(frozen=True)
class Deviation:
    """Where a speculative answer left the plain one.

    Args:
        request: as it was asked; its prompt is where both began.
        index: token of the answer, from 0.
        speculative, plain: the two tokens.
        before: the answer's tokens until then.
        guesses: proposed in the round of the deviation.
        begins: the answer's index at which that round began.
        round_index: of that round; 1 is the first that drafts.
        own: the run's own logits of that row [1, vocab_width].
    """

    request: GenerateRequest
    index: int
    speculative: int
    plain: int
    before: tuple[int, ...]
    guesses: tuple[int, ...]
    begins: int
    round_index: int
    own: mx.array


@dataclass(frozen=True, slots=True)
class Evidence:
    """What fresh passes say of a deviation.

    Args:
        own_gap: the run's own logits against the nearest fresh wide pass.
        wide_gap: fresh wide pass against a fresh pass over one row.
        allowed: the backend's noise.
        own_choice: what the plain sampler makes of the run's own logits.
        wide_choices: of the fresh wide passes.
        single_choice: of the fresh pass over one row.
        margin: gap between the two best scores there.
        speculative, plain: the two tokens.
    """

    own_gap: float
    wide_gap: float
    allowed: float
    own_choice: int
    wide_choices: tuple[int, ...]
    single_choice: int
    margin: float
    speculative: int
    plain: int

    @property
    def is_tie(self) -> bool:
        return (
            self.own_gap <= self.allowed
            and self.wide_gap <= self.allowed
            and self.speculative in self.wide_choices
            and self.single_choice == self.plain
        )

    @property
    def is_cache_off(self) -> bool:
        """The run's logits are not those of its own tokens."""
        return not self.own_gap <= self.allowed

    @property
    def is_wide_off(self) -> bool:
        """Wide passes and passes over one row disagree, on caches that were never rewound."""
        return not self.wide_gap <= self.allowed

    @property
    def is_choice_off(self) -> bool:
        """The rule said something else than the logits that it was given."""
        return self.own_choice != self.speculative


def weigh(context: AuditContext, found: Deviation) -> Evidence:
    """Read everything up to the deviation anew and compare."""
    tokens = [*found.request.prompt_tokens, *found.before]
    single = _single_row(context, tokens, len(found.request.prompt_tokens))
    single_choice, margin = _choice(context, single, tokens, found.request)
    wide = list(_wide_rows(context, tokens, found))
    return Evidence(
        own_gap=min(largest_difference(row, found.own) for row in wide),
        wide_gap=min(largest_difference(row, single) for row in wide),
        allowed=context.target_allowed,
        own_choice=_choice(context, found.own, tokens, found.request)[0],
        wide_choices=tuple(_choice(context, row, tokens, found.request)[0] for row in wide),
        single_choice=single_choice,
        margin=margin,
        speculative=found.speculative,
        plain=found.plain,
    )


def _choice(
    context: AuditContext, row: mx.array, tokens: Sequence[int], request: GenerateRequest
) -> tuple[int, float]:
    """What plain decoding would say on a row [1, vocab_width] after ``tokens``, and the gap."""
    params = request.sampling
    scores = scaled_scores(row, params, History(tokens), context.width)
    if not params.is_greedy:
        noise = KeyedNoise(request.seed)
        scores = scores + noise.token_rows(len(tokens), 1, context.width)
    token, gap = best_and_gap(scores)
    best: list[int] = token.tolist()  # type: ignore[assignment]
    gaps: list[float] = gap.tolist()  # type: ignore[assignment]
    return best[0], gaps[0]


def _single_row(context: AuditContext, tokens: Sequence[int], prompt_length: int) -> mx.array:
    """The row after ``tokens``, read as plain decoding reads: the prompt, then one by one."""
    runner = context.fresh(context.pair.target)
    runner.prefill(tokens, prompt_length - 1)
    for token in tokens[prompt_length - 1 : -1]:
        mx.eval(runner.extend([token]))
    return runner.extend(tokens[-1:])


def _wide_rows(
    context: AuditContext, tokens: Sequence[int], found: Deviation
) -> Iterator[mx.array]:
    """The row after ``tokens`` of a pass over the round's own rows.

    What was read before may have been rounded by passes of other widths than the run's, so it is
    read in three ways: in one go, row by row, and in passes as wide as this one.
    """
    begin = len(found.request.prompt_tokens) + found.begins - 1  # the last token known then
    fed = [tokens[begin], *found.guesses]
    for width in (max(begin, 1), 1, len(fed)):
        runner = context.fresh(context.pair.target)
        for place in range(0, begin, width):
            mx.eval(runner.extend(tokens[place : min(place + width, begin)]))
        yield runner.extend(fed)[len(tokens) - 1 - begin][None]

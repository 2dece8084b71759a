"""mlx-lm's own two loops on the same weights, told as events so that one fold measures all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..backend import mx, peak_memory_bytes
from ..events import Emitted, Event, Finished, Prefilled, Proposed, Round, Timings
from ..loaded import Pair
from ..request import SamplingParams

__all__ = ["baseline_events"]


def baseline_events(
    pair: Pair,
    prompt: Sequence[int],
    sampling: SamplingParams,
    num_tokens: int,
    lookahead: int | None,
    seed: int,
    clock: Callable[[], float],
) -> Iterator[Event]:
    """One answer of mlx-lm's generate_step, or of its speculative_generate_step.

    Its speculative loop hands out the prefill's own token together with what the first pass kept;
    here that token is Round 0 and the others are Round 1 of the same moment, which counts them
    as free: the comparison leans towards mlx-lm by at most ``lookahead`` tokens.

    Args:
        lookahead: tokens drafted a pass; None decodes plainly.
        clock: seconds.
    """
    mx.random.seed(seed)
    began = clock()
    index = 0
    for tokens, num_drafted in _passes(pair, prompt, sampling, num_tokens, lookahead):
        at = clock() - began
        if index == 0:
            yield Prefilled(len(prompt), 0, at, at)
            yield _round(0, len(prompt), tokens[:1], 0, None, at)
            tokens, num_drafted, index = tokens[1:], max(num_drafted - 1, 0), 1
            if not tokens:
                continue
        yield _round(index, len(prompt) + index, tokens, num_drafted, lookahead, at)
        index += 1
    yield Finished("length", clock() - began, "", peak_memory_bytes())


def _passes(
    pair: Pair,
    prompt: Sequence[int],
    sampling: SamplingParams,
    num_tokens: int,
    lookahead: int | None,
) -> Iterator[tuple[list[int], int]]:
    """Per pass of the target: its tokens, and how many of them were drafted."""
    from mlx_lm.generate import generate_step, speculative_generate_step

    ids = mx.array(list(prompt))
    sampler = _sampler(sampling)
    if lookahead is None:
        for token, _ in generate_step(
            ids, pair.target.model, max_tokens=num_tokens, sampler=sampler
        ):
            yield [int(token)], 0
        return
    assert pair.draft is not None
    tokens: list[int] = []
    for token, _, is_drafted in speculative_generate_step(
        ids,
        pair.target.model,
        pair.draft.model,
        num_draft_tokens=lookahead,
        max_tokens=num_tokens,
        sampler=sampler,
    ):
        tokens.append(int(token))
        if not is_drafted:
            yield tokens, len(tokens) - 1
            tokens = []
    if tokens:
        yield tokens, len(tokens)


def _sampler(sampling: SamplingParams) -> Any:
    from mlx_lm.sample_utils import make_sampler

    return make_sampler(
        sampling.temperature,
        top_p=sampling.top_p if sampling.top_p < 1 else 0.0,
        min_p=sampling.min_p,
        top_k=sampling.top_k,
    )


def _round(
    index: int, position: int, tokens: list[int], drafted: int, lookahead: int | None, at: float
) -> Round:
    guesses = lookahead or 0
    kinds = ["accepted"] * drafted + ["recovered" if lookahead else "sampled"]
    return Round(
        index=index,
        position=position,
        lookahead=guesses,
        proposed=tuple(Proposed(0, "", 0.0) for _ in range(guesses)),
        checks=(),
        num_accepted=drafted,
        emitted=tuple(
            Emitted(token, "", kind, 0.0) for token, kind in zip(tokens, kinds, strict=False)
        ),
        timings=Timings(),
        at=at,
    )

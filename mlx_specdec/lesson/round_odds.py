"""The odds of a round after the fact: one pass of each model over tokens that are known.

A race does not pay for the detail of every row. Whoever then wants to look into one round has it
read again, on caches of its own; nothing is drawn anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..backend import mx, read_floats
from ..distributions import History, scaled_scores, softmax
from ..errors import InvalidRequestError
from ..events import LawEntry, Round, RowDetail
from ..forward import ModelRunner
from ..loaded import LoadedModel
from ..request import SamplingParams
from ..session import Session
from ..settings import Settings
from .proof import Floats

import numpy as np

__all__ = ["row_detail", "with_detail"]

DETAIL = 12
_NEAR = 0.02  # recorded and recomputed odds of one guess: kernels round differently


def with_detail(
    session: Session,
    prompt_tokens: Sequence[int],
    rounds: Sequence[Round],
    index: int,
    settings: Settings,
) -> Round:
    """The round of that index with the laws of each of its rows; run it on the engine's thread.

    Args:
        session: whose pair; its conversation and caches stay as they are.
        rounds: of one answer, those before it at least.
        settings: that the answer was made with.

    Raises:
        InvalidRequestError: the loaded pair did not make this answer, or the prompt was another.
    """
    event = next(each for each in rounds if each.index == index)
    before = [t.token for each in rounds if each.index < index for t in each.emitted]
    tokens = [*prompt_tokens, *before]
    pair = session.pair
    is_copied = all(guess.draft_prob is None for guess in event.proposed)
    if (pair.draft is None and not is_copied) or len(tokens) != event.position:
        raise _other("another prompt or another system prompt")
    request = settings.request(prompt_tokens)
    guesses = [guess.token for guess in event.proposed]
    width = session.width
    target = _laws(pair.target, tokens, guesses, request.sampling, width)
    draft = np.array([np.eye(1, width, token)[0] for token in guesses])  # where it was copied
    if pair.draft is not None and not is_copied:
        draft = _laws(pair.draft, tokens, guesses[:-1], request.drafting_params, width)
    for place, guess in enumerate(event.proposed):
        known = [(guess.target_prob, target[place])]
        if guess.draft_prob is not None:
            known.append((guess.draft_prob, draft[place]))
        if any(abs(prob - law[guess.token]) > _NEAR for prob, law in known):
            raise _other("other models or settings")
    texts = _texts(pair.tokenizer)
    rows = []
    for place in range(len(guesses) + 1):
        q = draft[place] if place < len(guesses) else np.zeros(width)
        rows.append(row_detail(target[place], q, _scale(event, place, settings), texts))
    return replace(event, detail=tuple(rows))


def _other(what: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"The loaded pair cannot say more of this round: it was made with {what}.",
        "Race again, and step through that race.",
    )


def _scale(event: Round, place: int, settings: Settings) -> float:
    is_block = settings.rule == "block" and settings.sampling.temperature > 0
    return event.checks[place - 1].carried if is_block and place else 1.0


def _laws(
    loaded: LoadedModel,
    tokens: list[int],
    guesses: list[int],
    params: SamplingParams,
    width: int,
) -> Floats:
    """The law after ``tokens`` and after each guess: float64 [guesses + 1, width].

    At temperature 0 it is the softmax at 1, as in every Round.
    """
    runner = ModelRunner(loaded)
    runner.prefill(tokens, len(tokens) - 1)
    logits = runner.extend([tokens[-1], *guesses])
    drafted = mx.array(guesses, dtype=mx.int32) if guesses else None
    scores = scaled_scores(logits, params, History(tokens, drafted), width)
    flat = np.array(read_floats(softmax(scores).reshape(-1)))
    return np.asarray(flat.reshape(len(guesses) + 1, width))


def row_detail(
    target: Floats, draft: Floats, scale: float, text_of: Callable[[int], str]
) -> RowDetail:
    """The largest entries of both laws and of what is left over, as the decoder reports them."""
    rest = np.maximum(scale * target - draft, 0.0)
    total = float(rest.sum())

    def largest(law: Floats) -> tuple[LawEntry, ...]:
        order = np.argsort(-law, kind="stable")[:DETAIL]
        return tuple(LawEntry(int(i), text_of(int(i)), float(law[i])) for i in order if law[i] > 0)

    shares = rest / total if total > 0 else rest
    return RowDetail(largest(target), largest(draft), largest(shares), total)


def _texts(tokenizer: Any) -> Callable[[int], str]:
    return lambda token: str(tokenizer.decode([token]))

"""The laws of a loaded pair at one place: one row of each model, on caches of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backend import read_floats
from ..distributions import History, scaled_scores, softmax
from ..errors import InvalidRequestError
from ..forward import ModelRunner
from ..loaded import LoadedModel, Pair
from ..request import SamplingParams
from ..session import Session
from ..settings import Settings, settings_from
from .proof import Floats, NextWordLaw

import numpy as np

__all__ = ["next_word_law"]

_PREFIX_LENGTH = 60  # characters shown of the text before the word


def next_word_law(
    session: Session,
    prompt: str,
    answer: Sequence[int],
    settings: Settings,
) -> NextWordLaw:
    """Both laws of the word after ``answer``, exactly; run it on the engine's thread.

    Args:
        session: whose pair; its conversation and caches stay as they are.
        prompt: a question, as the chat template puts it.
        answer: tokens of the answer before the word, may be empty.
        settings: whose laws; temperature 0 becomes 1, since nothing is drawn at 0.

    Raises:
        InvalidRequestError: there is no draft.
    """
    pair: Pair = session.pair
    if pair.draft is None:
        raise InvalidRequestError(
            "There is no draft, so nothing is drawn with drafting.", "Load a pair: press m."
        )
    tokens = [*session.chat_tokens(prompt, think=settings.think), *answer]
    if settings.sampling.is_greedy:
        settings = settings_from(settings, temperature=1.0)
    request = settings.request(tokens)
    width = session.width
    target = _law(pair.target, tokens, request.sampling, width)
    draft = _law(pair.draft, tokens, request.drafting_params, width)
    decode: Any = pair.tokenizer.decode
    text = f"{decode(list(answer))}" if answer else prompt
    return NextWordLaw(
        target,
        draft,
        lambda token: str(decode([token])),
        text if len(text) <= _PREFIX_LENGTH else f"…{text[-_PREFIX_LENGTH:]}",
        f"{pair.target.name} + {pair.draft.name}",
        request.sampling.temperature,
    )


def _law(loaded: LoadedModel, tokens: list[int], params: SamplingParams, width: int) -> Floats:
    """The law after all of ``tokens``: float64 [width], sums to 1."""
    runner = ModelRunner(loaded)
    runner.prefill(tokens, len(tokens) - 1)
    logits = runner.extend(tokens[-1:])
    law = np.array(read_floats(softmax(scaled_scores(logits, params, History(tokens), width))[0]))
    return np.asarray(law / law.sum())

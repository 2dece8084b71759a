"""Lanes: short runs of plain and speculative decoding over toys, and what came of them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any

from mlx_specdec.answer import Answer
from mlx_specdec.backend import mx
from mlx_specdec.events import Event, Finished, Round
from mlx_specdec.forward import ModelRunner
from mlx_specdec.generation import Generation
from mlx_specdec.loaded import LoadedModel, Pair
from mlx_specdec.noise import Noise
from mlx_specdec.proposal import Glance, Proposal
from mlx_specdec.proposers.draft_model import DraftModelProposer
from mlx_specdec.request import RULE_NAMES, GenerateRequest, SamplingParams
from mlx_specdec.session import Session
from mlx_specdec.settings import Settings
from mlx_specdec.speculative import SpeculativeDecoder
from tests.tables import Letters
from tests.toymodels import toy_pair, toy_tokenizer

VOCAB = 270

PENALISED = SamplingParams(
    repetition_penalty=1.3,
    repetition_context_size=8,
    presence_penalty=0.7,
    presence_context_size=5,
    frequency_penalty=0.4,
    frequency_context_size=12,
    logit_bias=((3, 2.0), (7, -4.0)),
)
"""Every penalty at once, each with a window of its own."""

RULES = RULE_NAMES


@functools.cache
def tokenizer() -> Any:
    """One of VOCAB entries, whatever a model's head is padded to."""
    return toy_tokenizer(VOCAB)


def session_of(
    target: LoadedModel,
    draft: LoadedModel | None = None,
    eos: Iterable[int] | None = None,
    **options: Any,
) -> Session:
    """A session over toys. ``eos`` in place of the tokenizer's end tokens; () for none."""
    pair: Pair = toy_pair(target, draft, tokenizer())
    if eos is not None:
        pair = dataclasses.replace(pair, eos_token_ids=frozenset(eos))
    return Session(pair, **options)


def rounds_of(events: Iterable[Event]) -> list[Round]:
    return [event for event in events if isinstance(event, Round)]


def tokens_of(events: Iterable[Event]) -> list[int]:
    """The tokens of the answer."""
    return [token.token for each in rounds_of(events) for token in each.emitted]


def text_of(events: Iterable[Event]) -> str:
    """The text of the answer, with what was held back to the end."""
    parts = []
    for event in events:
        if isinstance(event, Round):
            parts += [token.text for token in event.emitted]
        elif isinstance(event, Finished):
            parts.append(event.trailing_text)
    return "".join(parts)


def reason_of(events: Sequence[Event]) -> str:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.reason


def counts_of(events: Iterable[Event]) -> tuple[int, int]:
    """Tokens proposed and accepted, over all rounds."""
    rounds = rounds_of(events)
    return sum(len(each.proposed) for each in rounds), sum(each.num_accepted for each in rounds)


def answer_of(session: Session, prompt: Sequence[int], **settings: Any) -> list[Event]:
    """One answer from whatever the caches hold; at a fixed lookahead unless told otherwise."""
    return list(session.generate(prompt, Settings(**{"seed": 5, "lookahead": 3, **settings})))


def fresh_answer(
    target: LoadedModel, draft: LoadedModel | None, prompt: Sequence[int], **settings: Any
) -> list[Event]:
    """One answer of a new session, without end tokens unless ``eos`` says so."""
    eos = settings.pop("eos", ())
    return answer_of(session_of(target, draft, eos), prompt, **settings)


Plan = Callable[[list[int], int], list[int]]
"""What to guess after a context, and at most how much."""


class PlannedProposer:
    """Guesses what it is told to, without a law."""

    name = "planned"

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def begin(self, request: GenerateRequest, width: int, is_cancelled: Callable[[], bool]) -> None:
        pass

    def owed(self, context: list[int]) -> int:
        return 1

    def glance(self, context: list[int]) -> Glance:
        return Glance()

    def propose(
        self, context: list[int], lookahead: int, noise: Noise, round_index: int
    ) -> Proposal:
        guesses = self._plan(context, lookahead)[:lookahead]
        return Proposal(mx.array(guesses, dtype=mx.int32), len(guesses))

    def commit(self, context: list[int], valid: int) -> None:
        pass

    def rollback(self) -> None:
        pass

    def close(self) -> None:
        pass


def generation_of(request: GenerateRequest, width: int, **options: Any) -> Generation:
    """A generation without end tokens or context limit, its text in letters."""
    return Generation(request, Answer(request, Letters(), frozenset(), None), width, **options)


def planned_answer(
    target: LoadedModel, plan: Plan, request: GenerateRequest, **options: Any
) -> list[Event]:
    """One answer that is drafted by ``plan``."""
    decoder = SpeculativeDecoder(ModelRunner(target), PlannedProposer(plan))
    return list(decoder.generate(generation_of(request, target.vocab_width, **options)))


def drafted_rounds(
    target: LoadedModel, draft: LoadedModel, request: GenerateRequest, width: int
) -> Iterator[Event]:
    """One answer of the decoder and the draft proposer, without a session around them."""
    proposer = DraftModelProposer(ModelRunner(draft))
    return SpeculativeDecoder(ModelRunner(target), proposer).generate(generation_of(request, width))


def walk_away(events: Iterator[object]) -> None:
    """Read no further: what generates the events is closed."""
    assert isinstance(events, Generator)
    events.close()

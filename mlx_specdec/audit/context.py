"""AuditContext: what the checks of an audit share, and the sessions that they watch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..backend import mx
from ..conversation import has_chat_template
from ..errors import InvalidRequestError
from ..events import Event, Prefilled, Round
from ..forward import ModelRunner, never
from ..loaded import LoadedModel, Pair
from ..parts import Parts
from ..prompts import Prompt, prompt_named
from ..session import Session
from ..settings import Settings

__all__ = ["FULL", "QUICK", "AuditContext", "AuditPrompt", "AuditSize", "Subject"]

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class AuditSize:
    """How much an audit looks at.

    Args:
        prompts: ids of the prompts that are answered.
        noise_prompts: ids of others, on which the backend's noise is measured.
        identity_tokens: tokens of each answer that is compared with plain decoding.
        forced_prompts: how many prompts are answered with forced guesses.
        law_tokens: tokens of each answer drawn for the law.
        law_rounds: how often each prompt is answered for the law.
        profiled_runs: answers whose seconds are added up.
    """

    prompts: tuple[str, ...]
    noise_prompts: tuple[str, ...]
    identity_tokens: int
    forced_prompts: int
    law_tokens: int
    law_rounds: int
    profiled_runs: int
    lookaheads: tuple[int, ...] = (1, 2, 4, 8)


_NOISE = ("meaning-2", "code-2", "prose-2")
QUICK = AuditSize(("meaning-1", "code-1", "prose-1"), _NOISE, 32, 1, 320, 1, 3)
FULL = AuditSize(
    ("meaning-1", "code-1", "prose-1", "explain-1", "list-1", "code-3"), _NOISE, 64, 2, 200, 3, 5
)


@dataclass(frozen=True, slots=True)
class AuditPrompt:
    id: str
    tokens: tuple[int, ...]


class _WatchedModel:
    """Stands in for a model and keeps the logits of its passes until they are taken."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.passes: deque[mx.array] = deque()

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        logits: mx.array = self._inner(inputs, cache=cache)
        self.passes.append(logits[0])
        return logits

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)


class Subject:
    """A session under audit, with the target's passes in view.

    After the prompt every round is one pass of the target, in order, so the n-th pass belongs to
    the n-th round whatever was queued ahead.
    """

    def __init__(self, pair: Pair, parts: Parts, **cache: Any) -> None:
        self._watched = _WatchedModel(pair.target.model)
        target = replace(pair.target, model=self._watched)
        self.session = Session(replace(pair, target=target), parts=parts, **cache)

    def rows_of(self, event: Event) -> mx.array | None:
        """The logits [rows, vocab_width] of a round's pass; to be asked of every event."""
        passes = self._watched.passes
        if isinstance(event, Prefilled):
            passes.clear()
        elif isinstance(event, Round) and passes:
            return passes.popleft()
        return None


@dataclass
class AuditContext:
    """Everything a check needs.

    Args:
        pair: target and draft.
        parts: what the audited decoders are made of.
        size: how much to look at.
        seed: of everything drawn.
        cache: keywords of the caches (kv_bits, kv_group_size).
        target_allowed, draft_allowed: by how much logits may differ on this backend, once the
            noise has been measured.
    """

    pair: Pair
    parts: Parts
    size: AuditSize
    seed: int = 0
    cache: dict[str, Any] = field(default_factory=dict)
    is_cancelled: Callable[[], bool] = never
    target_allowed: float = 0.0
    draft_allowed: float = 0.0
    num_ties: int = 0
    plain_answers: dict[Any, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.width = min(self.pair.tokenizer_width, self.pair.target.vocab_width)

    @property
    def draft(self) -> LoadedModel:
        if self.pair.draft is None:
            raise InvalidRequestError(
                f"An audit checks drafting, and {self.pair.target.name} has no draft here.",
                "Name one: --draft NAME, of the same family.",
            )
        return self.pair.draft

    def prompts(self, ids: Sequence[str], room: int) -> list[AuditPrompt]:
        """Prompts as token ids, cut from the left to leave ``room`` tokens for an answer."""
        reader = Session(replace(self.pair, draft=None))
        limit = reader.context_length
        found = []
        for name in ids:
            prompt = prompt_named(name)
            assert prompt is not None, name
            tokens = self._encoded(reader, prompt)
            if limit is not None:
                tokens = tokens[-max(limit - room, 2) :]
            found.append(AuditPrompt(name, tuple(tokens)))
        return found

    def _encoded(self, reader: Session, prompt: Prompt) -> list[int]:
        if has_chat_template(self.pair.tokenizer):
            return reader.chat_tokens(prompt.text, think=False)
        return reader.encode(prompt.text)

    def subject(self, **parts: Any) -> Subject:
        """A new session of the audited parts, with some of them replaced."""
        return Subject(self.pair, replace(self.parts, **parts), **self.cache)

    def plain_session(self) -> Session:
        """Plain decoding with sound parts, whatever is under audit: the reference."""
        return Session(replace(self.pair, draft=None), **self.cache)

    def fresh(self, model: LoadedModel) -> ModelRunner:
        """A sound runner whose cache has read nothing."""
        return ModelRunner(model, **self.cache)

    def offers_adaptive(self) -> bool:
        """Whether this version's settings know the adaptive lookahead."""
        wanted: Any = AUTO
        try:
            Settings(lookahead=wanted).request((0,))
        except (InvalidRequestError, TypeError):
            return False
        return True

    @property
    def lookaheads(self) -> tuple[Any, ...]:
        """The fixed ones, then the adaptive one where there is one."""
        return (*self.size.lookaheads, *([AUTO] if self.offers_adaptive() else []))

"""Answer: the tokens of one generation, and every way it can end. Both decoders write into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import ContextFullError
from .events import Emitted
from .request import GenerateRequest
from .textstream import TextStream

__all__ = ["Answer"]


class Answer:
    """Prompt + emitted tokens, cut at an end token, a stop string, max_tokens or the context.

    Args:
        request: what was asked.
        tokenizer: has ``decode(ids)``.
        eos_token_ids: every id that ends an answer.
        context_length: tokens the target can hold, prompt and answer together; None is no limit.

    Raises:
        ContextFullError: the prompt leaves no room for a single token.
    """

    def __init__(
        self,
        request: GenerateRequest,
        tokenizer: Any,
        eos_token_ids: frozenset[int],
        context_length: int | None,
    ) -> None:
        self.tokens: list[int] = list(request.prompt_tokens)
        self.prompt_length = len(self.tokens)
        self.finish_reason: str | None = None
        self._eos = frozenset() if request.ignore_eos else eos_token_ids
        self._stream = TextStream(tokenizer, request.stop, eos_token_ids)
        self._limit, self._limit_reason = self._room(request, context_length)

    def _room(self, request: GenerateRequest, context_length: int | None) -> tuple[int, str]:
        if context_length is None:
            return (request.max_tokens if request.max_tokens is not None else 2**62), "length"
        room = context_length - self.prompt_length
        if room <= 0:
            raise ContextFullError(
                f"The prompt has {self.prompt_length} tokens, and the model's context holds "
                f"{context_length}.",
                "Shorten the prompt, or start a new conversation.",
            )
        if request.max_tokens is not None and request.max_tokens <= room:
            return request.max_tokens, "length"
        return room, "context"

    @property
    def emitted(self) -> list[int]:
        return self.tokens[self.prompt_length :]

    @property
    def room(self) -> int:
        """Tokens that may still be emitted."""
        return self._limit - (len(self.tokens) - self.prompt_length)

    @property
    def is_finished(self) -> bool:
        return self.finish_reason is not None

    def admit(
        self, tokens: Sequence[int], kinds: Sequence[str], margins: Sequence[float]
    ) -> tuple[Emitted, ...]:
        """Take a round's tokens in order, as many as the answer still wants."""
        emitted: list[Emitted] = []
        for token, kind, margin in zip(tokens, kinds, margins, strict=True):
            if self.is_finished:
                break
            self.tokens.append(token)
            text = self._stream.push(token)
            emitted.append(Emitted(token, text, kind, margin))
            if token in self._eos:
                self.finish_reason = "stop"
            elif self._stream.stopped:
                self.finish_reason = "stop_string"
            elif self.room <= 0:
                self.finish_reason = self._limit_reason
        return tuple(emitted)

    def piece(self, token: int) -> str:
        return self._stream.piece(token)

    def trailing_text(self) -> str:
        """Text still held back when the answer ended."""
        return self._stream.finish()

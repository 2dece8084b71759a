"""Settings: everything a person sets for an answer, apart from the words of the prompt."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .request import GenerateRequest, SamplingParams

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What every request of a session shares. Fields as in GenerateRequest.

    Args:
        seed: None draws a fresh one for every answer.
        think: True or False for models that think; None leaves it to the chat template.
        draft: False decodes with the target alone.
    """

    sampling: SamplingParams = field(default_factory=SamplingParams)
    draft_sampling: SamplingParams | None = None
    max_tokens: int | None = 512
    stop: tuple[str, ...] = ()
    lookahead: int = 4
    rule: str = "rejection"
    seed: int | None = None
    think: bool | None = None
    draft: bool = True
    detail: int = 0
    ignore_eos: bool = False

    def request(self, prompt_tokens: Sequence[int]) -> GenerateRequest:
        """The request for one prompt.

        Raises:
            InvalidRequestError: a setting outside its range.
        """
        return GenerateRequest(
            prompt_tokens=tuple(prompt_tokens),
            sampling=self.sampling,
            draft_sampling=self.draft_sampling,
            max_tokens=self.max_tokens,
            stop=self.stop,
            lookahead=self.lookahead,
            rule=self.rule,
            seed=secrets.randbits(62) if self.seed is None else self.seed,
            detail=self.detail,
            ignore_eos=self.ignore_eos,
        )

    def changed(self, **changes: Any) -> Settings:
        return replace(self, **changes)

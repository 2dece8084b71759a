"""Settings: everything a person sets for an answer, apart from the words of the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from random import SystemRandom  # as ``secrets`` does, whose hashes a first frame need not wait for
from typing import Any, Literal

from .errors import InvalidRequestError
from .request import AUTO, COPY, GenerateRequest, Lookahead, SamplingParams

__all__ = ["Settings", "settings_from"]

_SAMPLING_NAMES = tuple(field.name for field in fields(SamplingParams))


@dataclass(frozen=True, slots=True)
class Settings:
    """What every request of a session shares. Fields as in GenerateRequest.

    Args:
        seed: None draws a fresh one for every answer.
        think: True or False for models that think; None leaves it to the chat template.
        draft: True drafts as the pair does, False decodes with the target alone, ``copy`` copies
            from the text, whatever draft is loaded.
    """

    sampling: SamplingParams = field(default_factory=SamplingParams)
    draft_sampling: SamplingParams | None = None
    max_tokens: int | None = 512
    stop: tuple[str, ...] = ()
    lookahead: Lookahead = AUTO
    rule: str = "rejection"
    seed: int | None = None
    think: bool | None = None
    draft: bool | Literal["copy"] = True
    detail: int = 0
    ignore_eos: bool = False

    def request(self, prompt_tokens: Sequence[int]) -> GenerateRequest:
        """The request for one prompt.

        Raises:
            InvalidRequestError: a setting outside its range.
        """
        if self.draft not in (True, False, COPY):
            raise InvalidRequestError(
                f"draft {self.draft!r} is not a way to draft.", f"Take True, False or {COPY!r}."
            )
        return GenerateRequest(
            prompt_tokens=tuple(prompt_tokens),
            sampling=self.sampling,
            draft_sampling=self.draft_sampling,
            max_tokens=self.max_tokens,
            stop=self.stop,
            lookahead=self.lookahead,
            rule=self.rule,
            seed=SystemRandom().getrandbits(62) if self.seed is None else self.seed,
            detail=self.detail,
            ignore_eos=self.ignore_eos,
        )

    def changed(self, **changes: Any) -> Settings:
        return replace(self, **changes)


def settings_from(base: Settings, **changes: Any) -> Settings:
    """``base`` with keywords of Settings and of SamplingParams (temperature, top_p, ...) changed.

    Raises:
        InvalidRequestError: a keyword that neither knows, or a value outside its range.
    """
    law = {name: changes.pop(name) for name in list(changes) if name in _SAMPLING_NAMES}
    unknown = set(changes) - {field.name for field in fields(Settings)}
    if unknown:
        raise InvalidRequestError(
            f"There is no setting {sorted(unknown)[0]!r}.",
            f"Settings are {', '.join([*_SAMPLING_NAMES, *(f.name for f in fields(Settings))])}.",
        )
    if law:
        known = {name: getattr(base.sampling, name) for name in _SAMPLING_NAMES}
        changes["sampling"] = SamplingParams(**{**known, **law})
    return base.changed(**changes)

"""What is asked of a decoder: sampling settings and one request, validated once, frozen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from .errors import InvalidRequestError

__all__ = [
    "AUTO",
    "COPY",
    "DEFAULT_LOOKAHEAD",
    "LARGEST_LOOKAHEAD",
    "RULE_NAMES",
    "GenerateRequest",
    "Lookahead",
    "SamplingParams",
]

Lookahead = int | Literal["auto"]
"""Tokens guessed a round, or ``auto``: as many as this machine and this text pay for."""
AUTO: Literal["auto"] = "auto"
COPY: Literal["copy"] = "copy"
"""In the place of a draft's name: guesses are copied from the text, and no model drafts."""
# What the published costs of M3 to M5 chips pay for where seven or eight of ten guesses are kept.
DEFAULT_LOOKAHEAD = 3
LARGEST_LOOKAHEAD = 16
RULE_NAMES = ("rejection", "block", "coupled", "match")


def _require(condition: bool, message: str, hint: str) -> None:
    if not condition:
        raise InvalidRequestError(message, hint)


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How a law is made from logits. The order and meaning are mlx-lm's.

    ``temperature`` 0 is arg-max. ``top_p`` in (0, 1) and ``min_p`` in (0, 1] filter, 0 or 1
    switches them off; ``top_k`` 0 switches off. ``repetition_penalty`` 1 (or 0) is off; the
    ``*_context_size`` windows are in tokens, counted back from the row's own position.
    ``logit_bias`` holds (token id, added score) pairs.

    Raises:
        InvalidRequestError: a value outside its range.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    repetition_context_size: int = 20
    presence_penalty: float = 0.0
    presence_context_size: int = 20
    frequency_penalty: float = 0.0
    frequency_context_size: int = 20
    logit_bias: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        t = self.temperature
        _require(
            math.isfinite(t) and 0 <= t <= 100,
            f"temperature {t} is out of range.",
            "Take a number from 0 (always the likeliest token) to 100.",
        )
        _require(
            0 <= self.top_p <= 1, f"top-p {self.top_p} is out of range.", "Take 0 to 1 (1 is off)."
        )
        _require(
            0 <= self.min_p <= 1, f"min-p {self.min_p} is out of range.", "Take 0 to 1 (0 is off)."
        )
        _require(self.top_k >= 0, f"top-k {self.top_k} is negative.", "Take 0 (off) or more.")
        penalty = self.repetition_penalty
        _require(
            math.isfinite(penalty) and penalty >= 0,
            f"repetition penalty {penalty} is out of range.",
            "Take 1 (off) or a little more, such as 1.1.",
        )
        for name in ("presence_penalty", "frequency_penalty"):
            value = getattr(self, name)
            _require(
                math.isfinite(value), f"{name.replace('_', ' ')} is not a number.", "Take 0 (off)."
            )
        for name in (
            "repetition_context_size",
            "presence_context_size",
            "frequency_context_size",
        ):
            _require(
                getattr(self, name) > 0,
                f"{name.replace('_', ' ')} must be at least 1.",
                "20 is the usual window.",
            )
        for token, bias in self.logit_bias:
            _require(
                token >= 0 and not math.isnan(bias),
                f"logit bias {token}: {bias} is not usable.",
                "Give token ids from 0 and a number each.",
            )

    @property
    def is_greedy(self) -> bool:
        return self.temperature == 0

    @property
    def has_penalties(self) -> bool:
        """True when the law of a row depends on the tokens before it beyond the model itself."""
        return (
            self.repetition_penalty not in (0.0, 1.0)
            or self.presence_penalty != 0
            or self.frequency_penalty != 0
        )

    @property
    def has_filters(self) -> bool:
        return 0 < self.top_p < 1 or self.min_p > 0 or self.top_k > 0


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """One generation: the prompt as token ids and everything that shapes the answer.

    Args:
        prompt_tokens: at least one token id of the target's tokenizer.
        sampling: the target's law.
        draft_sampling: the draft's law; None means ``drafting_params``.
        max_tokens: at most this many tokens are emitted; None means up to the context's end.
        stop: texts that end the answer; they are not part of it.
        lookahead: tokens proposed a round, 0 to 16, or ``auto``.
        rule: acceptance rule, one of RULE_NAMES.
        seed: the key of all noise.
        detail: entries of each law to report per row (0: none).
        ignore_eos: go on past end tokens (benchmarks).

    Raises:
        InvalidRequestError: an empty prompt, or a value outside its range.
    """

    prompt_tokens: tuple[int, ...]
    sampling: SamplingParams = field(default_factory=SamplingParams)
    draft_sampling: SamplingParams | None = None
    max_tokens: int | None = 512
    stop: tuple[str, ...] = ()
    lookahead: Lookahead = DEFAULT_LOOKAHEAD
    rule: str = "rejection"
    seed: int = 0
    detail: int = 0
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        _require(
            len(self.prompt_tokens) > 0, "The prompt is empty.", "Give at least one word or token."
        )
        _require(
            all(token >= 0 for token in self.prompt_tokens),
            "The prompt holds a negative token id.",
            "Token ids start at 0.",
        )
        _require(
            self.max_tokens is None or self.max_tokens >= 1,
            f"max tokens {self.max_tokens} is not usable.",
            "Take 1 or more, or -1 for no limit but the context's.",
        )
        _require(
            self.lookahead == AUTO
            or (isinstance(self.lookahead, int) and 0 <= self.lookahead <= LARGEST_LOOKAHEAD),
            f"lookahead {self.lookahead} is out of range.",
            f"Take 0 (no drafting) to {LARGEST_LOOKAHEAD}, or auto.",
        )
        _require(
            self.rule in RULE_NAMES,
            f"There is no rule {self.rule!r}.",
            f"Take one of {', '.join(RULE_NAMES)}.",
        )
        _require(
            all(self.stop),
            "A stop string is empty.",
            "Give at least one character, or none at all.",
        )
        _require(0 <= self.detail <= 64, "detail must be 0 to 64.", "12 is plenty for a picture.")
        _require(
            0 <= self.seed < 2**63, f"seed {self.seed} is out of range.", "Take 0 to 2**63 - 1."
        )

    @property
    def drafting_params(self) -> SamplingParams:
        """The draft's law: what was asked for it, else the target's settings without top-p.

        Any law is exact as long as it is the one drawn from. Top-p at every guess costs more than
        the few guesses outside it that the target then turns down; behind a top-k it is cheap.
        """
        if self.draft_sampling is not None:
            return self.draft_sampling
        if self.sampling.top_k > 0 or self.sampling.is_greedy:
            return self.sampling
        return replace(self.sampling, top_p=1.0)

    def with_prompt(self, prompt_tokens: tuple[int, ...]) -> GenerateRequest:
        return replace(self, prompt_tokens=prompt_tokens)

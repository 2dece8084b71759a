"""The figures of an answer, folded from its events. Each is defined once, in definitions.py.

How a round is counted. The rule kept ``num_accepted`` of the proposed tokens; the one after them
was tested and missed, unless all were kept. If the answer ended inside the round (an end token,
a stop string, max_tokens) the round is *cut*: the tokens cut after acceptance, and the miss
after them, are neither tested nor accepted, because they are not part of any text. They stay
proposed, since the draft was paid for them. So 0 <= accepted <= tested <= proposed, always.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from statistics import median
from typing import Any

from .definitions import DEFINITIONS, Definition
from .events import Event, Failed, Finished, Prefilled, Round

__all__ = [
    "DEFINITIONS",
    "Definition",
    "Metrics",
    "RunningFold",
    "end_to_end_speedup",
    "fold",
    "percentile",
    "pool",
    "speedup",
    "to_json",
]


def _ratio(count: float, total: float) -> float | None:
    return count / total if total else None


def percentile(values: Sequence[float], percent: float) -> float | None:
    """The value below which ``percent`` of them lie, linear between ranks; None if empty."""
    if not values:
        return None
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts and seconds of one answer, or of several pooled; every ratio is made from them.

    ``decode_tokens`` come after the first token, in ``decode_seconds``. ``by_position`` holds
    (kept, tested) per place in a proposal. ``finish_reason`` is None while the answer runs, or
    where pooled answers ended differently. What a figure means stands in ``DEFINITIONS``.
    """

    prompt_tokens: int = 0
    emitted_tokens: int = 0
    decode_tokens: int = 0
    decode_seconds: float = 0.0
    end_to_end_seconds: float = 0.0
    first_token_seconds: tuple[float, ...] = ()
    target_passes: int = 0
    drafting_rounds: int = 0
    proposed: int = 0
    tested: int = 0
    accepted: int = 0
    by_position: tuple[tuple[int, int], ...] = ()
    rounds_by_kind: Mapping[str, int] = field(default_factory=dict)
    token_gaps: tuple[float, ...] = ()
    step_gaps: tuple[float, ...] = ()
    draft_prefill_seconds: float = 0.0
    peak_memory_bytes: int = 0
    finish_reason: str | None = None

    @property
    def ttft_seconds(self) -> float | None:
        return median(self.first_token_seconds) if self.first_token_seconds else None

    @property
    def tokens_per_second(self) -> float | None:
        return _ratio(self.decode_tokens, self.decode_seconds)

    @property
    def seconds_per_token(self) -> float | None:
        """Decode seconds per token after the first."""
        return _ratio(self.decode_seconds, self.decode_tokens)

    @property
    def tokens_per_target_pass(self) -> float | None:
        return _ratio(self.decode_tokens, self.target_passes)

    @property
    def acceptance_rate(self) -> float | None:
        """None when nothing was tested: "not drafting", which is not 0 %."""
        return _ratio(self.accepted, self.tested)

    @property
    def accepted_per_proposed(self) -> float | None:
        return _ratio(self.accepted, self.proposed)

    @property
    def draft_share(self) -> float | None:
        return _ratio(self.accepted, self.emitted_tokens)

    @property
    def mean_accepted_length(self) -> float | None:
        return _ratio(self.accepted, self.drafting_rounds)

    @property
    def acceptance_by_position(self) -> tuple[float | None, ...]:
        """Kept / tested for each place in a proposal, given that it was reached."""
        return tuple(_ratio(kept, tested) for kept, tested in self.by_position)


@dataclass(frozen=True, slots=True)
class _Count:
    """How one round is counted (see the module's docstring)."""

    kind: str
    proposed: int
    tested: int
    accepted: int

    @classmethod
    def of(cls, event: Round) -> _Count:
        proposed, kept = len(event.proposed), min(event.num_accepted, len(event.emitted))
        if proposed == 0:
            return cls("plain", 0, 0, 0)
        if len(event.emitted) <= event.num_accepted:
            return cls("cut", proposed, kept, kept)
        if kept == proposed:
            return cls("full", proposed, kept, kept)
        return cls("missed", proposed, kept + 1, kept)


class RunningFold:
    """The metrics of an answer that goes on: each event is looked at once."""

    def __init__(self) -> None:
        self._prompt, self._peak, self._end = 0, 0, 0.0
        self._reason: str | None = None
        self._last_round: float | None = None
        self._arrivals: list[float] = []
        self._token_gaps: list[float] = []
        self._step_gaps: list[float] = []
        self._passes = self._drafting = self._proposed = 0
        self._kept: Counter[int] = Counter()  # by position, as ``_tested``
        self._tested: Counter[int] = Counter()
        self._kinds: Counter[str] = Counter()
        self._draft_prefill = 0.0

    def add(self, events: Iterable[Event]) -> None:
        """Take in what came after the events so far."""
        for event in events:
            self._end = event.at
            if isinstance(event, Round):
                self._add_round(event)
            elif isinstance(event, Prefilled):
                self._prompt = event.prompt_tokens
            elif isinstance(event, Finished):
                self._reason, self._peak = event.reason, event.peak_memory_bytes
            elif isinstance(event, Failed):
                self._reason = "failed"

    def _add_round(self, event: Round) -> None:
        if self._last_round is not None:
            self._step_gaps.append(event.at - self._last_round)
        for _ in event.emitted:
            if self._arrivals:
                self._token_gaps.append(event.at - self._arrivals[-1])
            self._arrivals.append(event.at)
        self._last_round = event.at
        self._draft_prefill += event.timings.draft_prefill_seconds
        if event.index == 0:  # the first token comes from the prompt's own pass
            return
        count = _Count.of(event)
        self._passes += 1
        self._drafting += count.proposed > 0
        self._proposed += count.proposed
        self._kept.update(range(count.accepted))
        self._tested.update(range(count.tested))
        self._kinds[count.kind] += 1

    @property
    def metrics(self) -> Metrics:
        """As of the last event."""
        arrivals, kept, tested = self._arrivals, self._kept, self._tested
        decode_seconds = (self._last_round or 0.0) - arrivals[0] if arrivals else 0.0
        return Metrics(
            prompt_tokens=self._prompt,
            emitted_tokens=len(arrivals),
            decode_tokens=max(len(arrivals) - 1, 0),
            decode_seconds=decode_seconds,
            end_to_end_seconds=self._end,
            first_token_seconds=tuple(arrivals[:1]),
            target_passes=self._passes,
            drafting_rounds=self._drafting,
            proposed=self._proposed,
            tested=tested.total(),
            accepted=kept.total(),
            by_position=tuple((kept[i], tested[i]) for i in range(len(tested))),
            rounds_by_kind=dict(self._kinds),
            token_gaps=tuple(self._token_gaps),
            step_gaps=tuple(self._step_gaps),
            draft_prefill_seconds=self._draft_prefill,
            peak_memory_bytes=self._peak,
            finish_reason=self._reason,
        )


def fold(events: Iterable[Event]) -> Metrics:
    """The metrics of one answer, finished or still running."""
    running = RunningFold()
    running.add(events)
    return running.metrics


_ADDED = (
    *("prompt_tokens", "emitted_tokens", "decode_tokens", "decode_seconds", "end_to_end_seconds"),
    *("target_passes", "drafting_rounds", "proposed", "tested", "accepted"),
    "draft_prefill_seconds",
)
_JOINED = ("first_token_seconds", "token_gaps", "step_gaps")


def pool(metrics: Sequence[Metrics]) -> Metrics:
    """Several answers as one: counts and seconds are added, ratios are made from the sums.

    A mean of ratios would let a reply of ten tokens weigh as much as one of four hundred.
    """
    added: dict[str, Any] = {name: sum(getattr(each, name) for each in metrics) for name in _ADDED}
    for name in _JOINED:
        added[name] = tuple(value for each in metrics for value in getattr(each, name))
    columns = zip_longest(*(each.by_position for each in metrics), fillvalue=(0, 0))
    kinds: Counter[str] = Counter()
    for each in metrics:
        kinds.update(each.rounds_by_kind)
    reasons = {each.finish_reason for each in metrics}
    return Metrics(
        **added,
        by_position=tuple((sum(k for k, _ in c), sum(t for _, t in c)) for c in columns),
        rounds_by_kind=dict(kinds),
        peak_memory_bytes=max((each.peak_memory_bytes for each in metrics), default=0),
        finish_reason=reasons.pop() if len(reasons) == 1 else None,
    )


def speedup(plain: Metrics, speculative: Metrics) -> float | None:
    """Plain seconds per token / speculative seconds per token; None where either is unknown."""
    if plain.seconds_per_token is None or speculative.seconds_per_token is None:
        return None
    return _ratio(plain.seconds_per_token, speculative.seconds_per_token)


def end_to_end_speedup(plain: Metrics, speculative: Metrics) -> float | None:
    """The same with everything from the request on in the seconds, both prefills included."""
    if not (plain.emitted_tokens and speculative.emitted_tokens):
        return None
    slow = plain.end_to_end_seconds / plain.emitted_tokens
    return _ratio(slow, speculative.end_to_end_seconds / speculative.emitted_tokens)


def to_json(metrics: Metrics) -> dict[str, Any]:
    """A dict ready for JSON; each key has its entry in ``DEFINITIONS``, None means unknown."""
    gaps = {"inter_token_seconds": metrics.token_gaps, "step_seconds": metrics.step_gaps}
    special: dict[str, Any] = {
        name: {f"p{percent}": percentile(values, percent) for percent in (50, 95, 99)}
        for name, values in gaps.items()
    }
    special["rounds_by_kind"] = dict(metrics.rounds_by_kind)
    special["acceptance_by_position"] = [
        {"position": i, "accepted": kept, "tested": tested, "rate": _ratio(kept, tested)}
        for i, (kept, tested) in enumerate(metrics.by_position, start=1)
    ]
    names = [name for name in DEFINITIONS if not name.endswith("speedup")]
    return {name: special[name] if name in special else getattr(metrics, name) for name in names}

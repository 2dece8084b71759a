"""What a decoder says: Prefilled, Round after Round, then Finished or Failed; JSONL in and out.

Events carry ints, floats, strings and tuples only: a lazy array would die on another thread.
Times named ``at`` are seconds on the lane's own clock since the request began.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

__all__ = [
    "LARGEST_MARGIN",
    "Check",
    "Emitted",
    "Event",
    "Failed",
    "Finished",
    "LawEntry",
    "Prefilled",
    "Proposed",
    "Round",
    "RowDetail",
    "Timings",
    "event_from_dict",
    "event_to_dict",
    "read_events",
    "write_events",
]


LARGEST_MARGIN = 1e9
"""Stands for "there was no other choice": JSON has no infinity."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """One drafted token; ``draft_prob`` is None for a proposal without a law (one-hot)."""

    token: int
    text: str
    target_prob: float
    draft_prob: float | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """What the rule asked of one proposed token, in the rule's own terms.

    rejection, block: ``asked`` is the chance to keep it (min(1, p/q); the block rule's h),
    ``drawn`` the coin in [0, 1), kept when drawn < asked.
    coupled, match, temperature 0: ``asked`` is the target's own token, ``drawn`` the draft's.
    ``carried`` is the block rule's running product P_i, else 1.
    """

    asked: float
    drawn: float
    kept: bool
    carried: float = 1.0


@dataclass(frozen=True, slots=True)
class Emitted:
    """One token of the answer.

    ``kind``: accepted (drafted by a model and kept), copied (proposed without a law and kept),
    recovered (drawn by the target in place of a miss), bonus (the token after a round in which
    all were kept), sampled (plain decoding). ``margin`` is the gap between the two best scores
    that the choice was made on, at most LARGEST_MARGIN. Text held back (a split character, the
    beginning of a stop string) joins the token that completes it.
    """

    token: int
    text: str
    kind: str
    margin: float


@dataclass(frozen=True, slots=True)
class LawEntry:
    token: int
    text: str
    prob: float


@dataclass(frozen=True, slots=True)
class RowDetail:
    """The largest entries of the three laws at one row, when the request asks for ``detail``.

    ``left_over`` is scaled to 1; ``left_over_sum`` is what it summed to before, the whole row's
    sum of max(0, p - q) (block: P p), and None in records made without it.
    """

    target: tuple[LawEntry, ...]
    draft: tuple[LawEntry, ...]
    left_over: tuple[LawEntry, ...]
    left_over_sum: float | None = None


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds the host can know of one round: building the graph, waiting for the device, after.

    ``draft_prefill_seconds`` is what the draft took to read the prompt, paid in the first round
    that drafts, and not part of the others. ``draft_seconds`` and ``verify_seconds`` are measured
    only where a decoder profiles, by waiting for each phase, and then stand for the building.
    """

    build_seconds: float = 0.0
    wait_seconds: float = 0.0
    after_seconds: float = 0.0
    draft_prefill_seconds: float = 0.0
    draft_seconds: float = 0.0
    verify_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Prefilled:
    """The prompt has been read. ``reused_tokens`` were in the cache already."""

    prompt_tokens: int
    reused_tokens: int
    seconds: float
    at: float


@dataclass(frozen=True, slots=True)
class Round:
    """One pass of the target, with what was proposed, checked and emitted.

    Args:
        index: 0 for the prefill's own token, then 1, 2, ...
        position: absolute index (prompt included) of the first token emitted here.
        lookahead: tokens asked of the proposer.
        proposed: what it proposed.
        checks: one per proposed token that the rule looked at.
        num_accepted: kept by the rule, before any cut by an end token or a limit.
        emitted: what became part of the answer.
        timings: see Timings.
        at: lane seconds when the host had the tokens.
        draft_top_probs, draft_entropies: by position, for lookahead policies.
        draft_tokens_read: tokens fed to the draft in this round (prefill and owed included).
        note: a word for the screen, such as why nothing was drafted.
        detail: per row, when asked for.
    """

    index: int
    position: int
    lookahead: int
    proposed: tuple[Proposed, ...]
    checks: tuple[Check, ...]
    num_accepted: int
    emitted: tuple[Emitted, ...]
    timings: Timings
    at: float
    draft_top_probs: tuple[float, ...] = ()
    draft_entropies: tuple[float, ...] = ()
    draft_tokens_read: int = 0
    note: str = ""
    detail: tuple[RowDetail, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """``reason``: stop (an end token), stop_string, length (max_tokens), context, cancelled.

    ``trailing_text`` is what was still held back when the answer ended.
    """

    reason: str
    at: float
    trailing_text: str = ""
    peak_memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """An error ended the answer; ``kind`` is the exception's class name."""

    kind: str
    title: str
    message: str
    hint: str
    at: float


Event = Prefilled | Round | Finished | Failed

_TYPES: dict[str, type] = {
    "prefilled": Prefilled,
    "round": Round,
    "finished": Finished,
    "failed": Failed,
}
_NAMES = {kind: name for name, kind in _TYPES.items()}


def event_to_dict(event: Event) -> dict[str, Any]:
    """A plain dict with an ``event`` key, ready for JSON."""
    return {"event": _NAMES[type(event)], **dataclasses.asdict(event)}


def _law(entries: Iterable[dict[str, Any]]) -> tuple[LawEntry, ...]:
    return tuple(LawEntry(**entry) for entry in entries)


def event_from_dict(data: dict[str, Any]) -> Event:
    """The inverse of event_to_dict.

    Raises:
        ValueError: not an event, or one with unknown fields.
    """
    fields = dict(data)
    name = fields.pop("event", None)
    if name not in _TYPES:
        raise ValueError(f"not an event: {name!r}")
    if name == "round":
        fields["proposed"] = tuple(Proposed(**item) for item in fields["proposed"])
        fields["checks"] = tuple(Check(**item) for item in fields["checks"])
        fields["emitted"] = tuple(Emitted(**item) for item in fields["emitted"])
        fields["timings"] = Timings(**fields["timings"])
        for key in ("draft_top_probs", "draft_entropies"):
            fields[key] = tuple(fields.get(key, ()))
        fields["detail"] = tuple(
            RowDetail(
                _law(row["target"]),
                _law(row["draft"]),
                _law(row["left_over"]),
                row.get("left_over_sum"),
            )
            for row in fields.get("detail", ())
        )
    try:
        event: Event = _TYPES[name](**fields)
    except TypeError as error:
        raise ValueError(f"not an event of this version: {error}") from None
    return event


def write_events(stream: TextIO, events: Iterable[Event]) -> None:
    """One JSON object a line."""
    for event in events:
        stream.write(json.dumps(event_to_dict(event), ensure_ascii=False) + "\n")


def read_events(stream: Iterable[str]) -> Iterator[Event]:
    for line in stream:
        if line.strip():
            yield event_from_dict(json.loads(line))

"""A recording: both lanes of one race with a header that says where and how it was made.

As a file it is JSONL: the header first, then one event a line with the name of its lane, in the
order in which they came.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TextIO

from ..errors import InvalidRequestError
from ..events import Event, Failed, Finished, Round, event_from_dict, event_to_dict
from ..metrics import Metrics, fold

__all__ = [
    "LANES",
    "SPECULATIVE",
    "STANDARD",
    "LaneEvent",
    "Recording",
    "RecordingHeader",
    "read_recording",
    "read_recording_file",
    "write_recording",
    "write_recording_file",
]

STANDARD, SPECULATIVE = "standard", "speculative"
LANES = (STANDARD, SPECULATIVE)
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class LaneEvent:
    """One event of one lane; ``lane`` is one of LANES.

    ``is_edge`` marks a round next to a switch of lanes: its seconds belong to the lane, but one
    round's share of them is not what it would have been alone, so it feeds no cost table.
    """

    lane: str
    event: Event
    is_edge: bool = False


@dataclass(frozen=True, slots=True)
class RecordingHeader:
    """Where and how a race was run.

    ``target`` and ``draft`` are short names, ``target_size`` and ``draft_size`` words such as
    ``14B``; ``retimed`` names the chip whose published costs replaced the clock, and is empty
    for a race as it was. ``speed`` is the share of true speed it was shown at.
    """

    target: str
    draft: str
    target_size: str = ""
    draft_size: str = ""
    quantization: str = ""
    machine: str = ""
    chip: str = ""
    power: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    prompt_id: str = ""
    prompt: str = ""
    temperature: float = 0.0
    rule: str = ""
    lookahead: str = ""
    seed: int | None = None
    max_tokens: int | None = None
    is_toy: bool = False
    date: str = ""
    retimed: str = ""
    speed: float = 1.0


@dataclass(frozen=True, slots=True)
class Recording:
    """Both lanes of a race, whole or as far as they came.

    ``standard_edges`` and ``speculative_edges`` are the indices of rounds next to a switch of
    lanes (see LaneEvent).
    """

    header: RecordingHeader
    standard: tuple[Event, ...] = ()
    speculative: tuple[Event, ...] = ()
    standard_edges: frozenset[int] = frozenset()
    speculative_edges: frozenset[int] = frozenset()

    @classmethod
    def of(cls, header: RecordingHeader, items: Iterable[LaneEvent]) -> Recording:
        """The recording that a race's events make."""
        lanes: dict[str, list[Event]] = {name: [] for name in LANES}
        edges: dict[str, set[int]] = {name: set() for name in LANES}
        for item in items:
            lanes[item.lane].append(item.event)
            if item.is_edge and isinstance(item.event, Round):
                edges[item.lane].add(item.event.index)
        return cls(
            header,
            tuple(lanes[STANDARD]),
            tuple(lanes[SPECULATIVE]),
            frozenset(edges[STANDARD]),
            frozenset(edges[SPECULATIVE]),
        )

    def lane(self, name: str) -> tuple[Event, ...]:
        """The events of one lane."""
        return self.standard if name == STANDARD else self.speculative

    def edges(self, name: str) -> frozenset[int]:
        """Indices of one lane's rounds that feed no cost table."""
        return self.standard_edges if name == STANDARD else self.speculative_edges

    def metrics(self, name: str) -> Metrics:
        """The figures of one lane."""
        return fold(self.lane(name))

    @property
    def is_finished(self) -> bool:
        """Whether both lanes came to their end."""
        lanes = (self.standard, self.speculative)
        return all(lane and isinstance(lane[-1], Finished | Failed) for lane in lanes)

    def in_order(self) -> Iterator[LaneEvent]:
        """The events of both lanes by their ``at``; of equals the standard lane's first."""
        both = [
            LaneEvent(name, event, isinstance(event, Round) and event.index in self.edges(name))
            for name in LANES
            for event in self.lane(name)
        ]
        yield from sorted(both, key=lambda item: item.event.at)


def write_recording(stream: TextIO, recording: Recording) -> None:
    """The header, then an event a line."""
    head = {"mlx_specdec": "recording", "schema": SCHEMA, **asdict(recording.header)}
    stream.write(json.dumps(head, ensure_ascii=False) + "\n")
    for item in recording.in_order():
        edge = {"edge": True} if item.is_edge else {}
        line = {"lane": item.lane, **edge, **event_to_dict(item.event)}
        stream.write(json.dumps(line, ensure_ascii=False) + "\n")


def write_recording_file(path: Path, recording: Recording) -> None:
    """Write a file; one that is there already is replaced.

    Raises:
        InvalidRequestError: it cannot be written.
    """
    try:
        with path.open("w", encoding="utf-8") as stream:
            write_recording(stream, recording)
    except OSError as error:
        raise InvalidRequestError(
            f"{path} cannot be written: {error.strerror}.", "Name another file for --record."
        ) from None


def read_recording(lines: Iterable[str], name: str = "the recording") -> Recording:
    """The inverse of write_recording; fields that a later version added are passed over.

    Raises:
        InvalidRequestError: not a recording, or a damaged one; says at which line.
    """
    header: RecordingHeader | None = None
    items: list[LaneEvent] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            if header is None:
                header = _header(data)
            else:
                items.append(_lane_event(data))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidRequestError(
                f"Line {number} of {name} is not part of a recording: {error}.",
                "Recordings are made by `mlx-specdec demo --record FILE`.",
            ) from None
    if header is None:
        raise InvalidRequestError(
            f"{name} is empty.", "Recordings are made by `mlx-specdec demo --record FILE`."
        )
    return Recording.of(header, items)


def read_recording_file(path: Path) -> Recording:
    """The recording in a file.

    Raises:
        InvalidRequestError: it cannot be read, or is not a recording.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            return read_recording(lines, path.name)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequestError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}.",
            "Give a file made with --record.",
        ) from None


def _lane_event(data: dict[str, Any]) -> LaneEvent:
    lane, is_edge = data.pop("lane"), data.pop("edge", False)
    if lane not in LANES:
        raise ValueError(f"there is no lane {lane!r}")
    return LaneEvent(lane, event_from_dict(data), bool(is_edge))


def _header(data: dict[str, Any]) -> RecordingHeader:
    if data.get("mlx_specdec") != "recording":
        raise ValueError("it does not begin with a recording's header")
    if data["schema"] != SCHEMA:
        raise ValueError(f"schema {data['schema']} is not known to this version")
    known = {item.name for item in fields(RecordingHeader)}
    return RecordingHeader(**{name: value for name, value in data.items() if name in known})

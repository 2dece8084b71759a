"""What stands on a card: every word and figure of a finished race, before it is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..events import Round
from ..figures import acceptance, rate
from ..metrics import Metrics
from ..race.header import header_names
from ..race.lane_track import LaneMoment, LaneTrack
from ..race.moment import RaceMoment, race_moment
from ..race.recording import LANES, Recording, RecordingHeader
from .text_lines import Piece, Run, wrapped_runs

__all__ = ["DRAFTED", "CardFace", "LaneFace", "card_face", "pieces_of", "run_words"]

DRAFTED = "drafted"
_SAME_SPEED = (0.97, 1.03)
_ABOVE = 2  # lines shown above the place where the lanes stand


@dataclass(frozen=True, slots=True)
class LaneFace:
    """One lane: its rate over the whole run, and how far it was at the photo finish.

    ``lines`` are a window of the text, the same rows for both lanes: at the photo finish, or of
    the whole texts where they differ, around the first difference.
    """

    name: str
    rate: str
    num_tokens: int
    total_tokens: int
    share: float
    is_in: bool
    has_cursor: bool
    metrics: Metrics
    lines: tuple[tuple[Run, ...], ...]


@dataclass(frozen=True, slots=True)
class CardFace:
    """A race as a card says it.

    ``is_good`` is False where drafting was slower, parked, or the texts differ though they should
    not; ``finish_seconds`` is when the first lane was in; ``tags`` stand over everything.
    """

    title: str
    prompt: str
    standard: LaneFace
    speculative: LaneFace
    finish_seconds: float
    speedup: float | None
    speedup_words: str
    sentence: str
    equality: str
    is_equal: bool
    is_good: bool
    is_parked: bool
    figures: str
    facts: tuple[str, str]
    tags: tuple[str, ...]


def card_face(recording: Recording, width: int, height: int, runs: int = 1) -> CardFace:
    """The face of a race.

    Args:
        width, height: of a text window, in cells and lines.
        runs: how many races the figures stand for.
    """
    tracks = LaneTrack(recording.standard), LaneTrack(recording.speculative)
    finish = min(track.clock for track in tracks)
    end = race_moment(recording.header, *tracks, math.inf)
    photo = race_moment(recording.header, *tracks, finish)
    shown = photo if end.equality.difference is None else end
    windows = _windows(shown, width, height)
    lanes = [
        _lane(name, now, last, seen, window)
        for name, now, last, seen, window in zip(
            LANES, photo.lanes, end.lanes, shown.lanes, windows, strict=True
        )
    ]
    header = recording.header
    speedup = end.speedup
    return CardFace(
        title=_title(header),
        prompt=header.prompt,
        standard=lanes[0],
        speculative=lanes[1],
        finish_seconds=finish,
        speedup=speedup,
        speedup_words=_speedup_words(end),
        sentence=end.sentence(),
        equality=_equality(end),
        is_equal=end.equality.difference is None,
        is_good=end.equality.difference is None
        and speedup is not None
        and speedup >= _SAME_SPEED[0]
        and not end.is_parked,
        is_parked=end.is_parked,
        figures=_figures(end),
        facts=_facts(header, end, runs),
        tags=_tags(header),
    )


def pieces_of(rounds: Sequence[Round], has_times: bool = False) -> list[Piece]:
    """The text of rounds with what was drafted and kept marked, and, if asked, its seconds."""
    return [
        Piece(
            token.text,
            DRAFTED if token.kind in ("accepted", "copied") else "",
            each.at if has_times else 0.0,
        )
        for each in rounds
        for token in each.emitted
    ]


def _windows(
    shown: RaceMoment, width: int, height: int
) -> tuple[tuple[tuple[Run, ...], ...], tuple[tuple[Run, ...], ...]]:
    """The same rows of both texts: around the first difference, else around the slower lane."""
    whole = [wrapped_runs(pieces_of(lane.rounds), width) for lane in shown.lanes]
    found = shown.equality.difference
    if found is None:
        row = min(len(lines) for lines in whole) - 1
    else:
        shared = shown.standard.emitted[: found.index]
        row = len(wrapped_runs([Piece(token.text) for token in shared], width)) - 1
    longest = max(len(lines) for lines in whole)
    first = max(0, min(row - _ABOVE, longest - height))
    one, other = (tuple(tuple(line) for line in lines[first : first + height]) for lines in whole)
    return one, other


def _lane(
    name: str,
    now: LaneMoment,
    last: LaneMoment,
    shown: LaneMoment,
    lines: tuple[tuple[Run, ...], ...],
) -> LaneFace:
    total = last.num_tokens
    return LaneFace(
        name=name,
        rate=rate(last.tokens_per_second),
        num_tokens=now.num_tokens,
        total_tokens=total,
        share=now.num_tokens / total if total else 0.0,
        is_in=now.is_finished,
        has_cursor=not shown.is_finished,
        metrics=last.metrics,
        lines=lines,
    )


def _title(header: RecordingHeader) -> str:
    pair = header_names(header)
    return f"{pair}, {header.quantization}" if header.quantization else pair


def _speedup_words(end: RaceMoment) -> str:
    if end.is_parked:
        return "parked"
    if end.speedup is None:
        return "too short to compare"
    low, high = _SAME_SPEED
    if end.speedup < low:
        return "times: slower"
    return "times as fast" if end.speedup > high else "times: the same speed"


def _equality(end: RaceMoment) -> str:
    found, compared = end.equality.difference, end.equality.num_compared
    if found is None:
        return f"✓ {end.equality.num_equal} of {compared} tokens equal"
    words = f"different from token {found.index + 1}"
    if end.header.temperature > 0 and end.header.rule not in ("", "coupled"):
        return f"other words from token {found.index + 1}"
    return f"{words} (gap {found.margin:.2g})"


def _figures(end: RaceMoment) -> str:
    per_pass = end.speculative.tokens_per_pass
    parts = [acceptance(end.metrics)]
    if per_pass is not None:
        parts.append(f"{per_pass:.2f} tokens a pass")
    if end.header.lookahead:
        parts.append(f"lookahead {end.header.lookahead}")
    return " · ".join(parts)


def _facts(header: RecordingHeader, end: RaceMoment, runs: int) -> tuple[str, str]:
    count = min(lane.num_tokens for lane in end.lanes)
    where = [
        header.machine or "machine not known",
        header.power or "power source not known",
        *(f"{name} {version}" for name, version in header.versions.items() if version),
        header.date[:10],
    ]
    how = [
        f"prompt {header.prompt_id or 'own'}",
        f"temp {header.temperature:g}",
        f"rule {header.rule}" if header.rule else "",
        "" if header.seed is None or not header.temperature else f"seed {header.seed}",
        f"{count} tokens",
        run_words(runs),
    ]
    first, second = (" · ".join(part for part in parts if part) for parts in (where, how))
    return first, second


def run_words(runs: int) -> str:
    """``1 run``, or that the race shown is the median of several."""
    return "1 run" if runs == 1 else f"median of {runs} runs"


def _tags(header: RecordingHeader) -> tuple[str, ...]:
    tags = []
    if header.is_toy:
        tags.append("toy pair")
    if header.retimed:
        tags.append(f"re-timed for {header.retimed}, not measured")
    return tuple(tags)

"""A recorded race as text: its sentences, both texts, its figures. Needs no model and no MLX."""

from __future__ import annotations

import textwrap
from pathlib import Path

from ..cards.share import card_words, why_no_words
from ..costs.machines import Chip
from ..race.demo_result import demo_result
from ..race.demo_words import result_lines
from ..race.header import header_names
from ..race.lane_track import LaneTrack
from ..race.moment import RaceMoment, race_moment
from ..race.recording import Recording, RecordingHeader, read_recording_file
from ..race.retiming import retimed, retimed_label
from ..request import AUTO
from ..safe_text import safe_text
from ..settings import Settings, settings_from
from .lane_text import show_prompt, show_texts
from .terminal import Terminal

__all__ = ["race_lines", "replay_as_text"]

WIDTH = 80


def replay_as_text(terminal: Terminal, path: Path, chip: Chip | None) -> int:
    """Print what a file holds, on ``chip``'s clock if there is one; 0.

    Raises:
        InvalidRequestError: it is not a recording, or an empty one.
    """
    recording = read_recording_file(path)
    if chip is not None:
        recording = retimed(recording, chip)
    header = recording.header
    for line in race_lines(recording):
        terminal.line(textwrap.fill(line, WIDTH), "bold")
    terminal.line(textwrap.fill(_where(header), WIDTH), "dim")
    terminal.line()
    show_prompt(terminal, header.prompt)
    result = demo_result([recording])
    show_texts(terminal, result)
    for line in result_lines(result, _settings(header), 1):
        terminal.line(line)
    terminal.line()
    terminal.line(card_words(recording) or why_no_words(recording))
    return 0


def race_lines(recording: Recording) -> list[str]:
    """The label of a re-timed race, the photo finish, the end, and why nothing was drafted."""
    standard, speculative = LaneTrack(recording.standard), LaneTrack(recording.speculative)
    first, last = sorted((standard.clock, speculative.clock))
    label = retimed_label(recording.header)
    lines = [f"{label[:1].upper()}{label[1:]}."] if label else []
    moments = [race_moment(recording.header, standard, speculative, at) for at in (first, last)]
    lines += [_at_the_line(moment) for moment in moments[:1] if moment.is_photo_finish]
    lines.append(moments[-1].sentence())
    note = moments[-1].speculative.note
    if moments[-1].is_parked and note:
        lines.append(f"The reason: {note}.")
    return lines


def _at_the_line(moment: RaceMoment) -> str:
    return f"At {moment.seconds:.1f} s: {moment.sentence()}"


def _where(header: RecordingHeader) -> str:
    parts = (
        header_names(header),
        header.quantization,
        header.machine,
        header.power,
        f"temp {header.temperature:g}",
        f"rule {header.rule}" if header.rule and header.temperature > 0 else "",
        f"lookahead {header.lookahead}" if header.lookahead else "",
        f"recorded {header.date[:10]}" if header.date else "",
    )
    words = " · ".join(safe_text(part) for part in parts if part)
    return f"toy pair: {words}" if header.is_toy else words


def _settings(header: RecordingHeader) -> Settings:
    """As far as the words of a result depend on them."""
    rule = header.rule or Settings().rule
    lookahead = int(header.lookahead) if header.lookahead.isdecimal() else AUTO
    settings = Settings(rule=rule, lookahead=lookahead)
    return settings_from(settings, temperature=header.temperature)

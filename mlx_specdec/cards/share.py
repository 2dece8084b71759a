"""What is shared of a race: the line, the card, the moving card, and when a line is withheld.

A line is only made of what holds: at least 100 tokens in both lanes, from the race as it ran. None
of a replay at another speed, and none of a race whose clock was replaced by published costs.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

from ..costs.prices import Prices
from ..errors import SpecdecError
from ..figures import rate, times
from ..race.header import header_names, share_name
from ..race.lane_track import LaneTrack
from ..race.moment import RaceMoment, race_moment
from ..race.recording import Recording, RecordingHeader
from .card import card_svg
from .face import run_words
from .moving import moving_card_svg

__all__ = ["SHARED_FROM", "Shared", "card_words", "save_share", "why_no_words", "write_text"]

SHARED_FROM = 100
"""Tokens; from fewer no rate is worth a word."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What was written: ``words`` is empty where no line is shared, and ``why_not`` says why."""

    card: Path
    moving_card: Path
    words: str
    why_not: str

    @property
    def paths(self) -> tuple[Path, Path]:
        return self.card, self.moving_card


def card_words(recording: Recording, replay_rate: float = 1.0, runs: int = 1) -> str:
    """A race in one line; empty where ``why_no_words`` has a reason.

    Args:
        replay_rate: race seconds a second of a replay that is being watched; 1 for a live race.
        runs: how many races the figures stand for.
    """
    if why_no_words(recording, replay_rate):
        return ""
    header, end = recording.header, _end(recording)
    plain, fast = end.lanes
    found, compared = end.equality.difference, end.equality.num_compared
    equal = f"{end.equality.num_equal}/{compared} tokens equal"
    if found is not None:
        equal = f"different from token {found.index + 1} (gap {found.margin:.2g})"
    drafting = f"{fast.tokens_per_pass or 0:.2f} a pass"
    temperature = header.temperature
    parts = (
        f"{rate(plain.tokens_per_second)} -> {rate(fast.tokens_per_second)} tok/s "
        f"({times(end.speedup)})",
        equal,
        "drafting parked" if end.is_parked else drafting,
        f"temp {temperature:g}" + (f", rule {header.rule}" if temperature else ""),
        f"prompt {header.prompt_id or 'own'}",
        run_words(runs),
        header.power,
        *(f"{name} {version}" for name, version in header.versions.items() if name == "mlx"),
    )
    return f"{share_name(header)}, {header.machine}: " + ", ".join(part for part in parts if part)


def why_no_words(recording: Recording, replay_rate: float = 1.0) -> str:
    """Why there is no line to share, as a sentence; empty where there is one."""
    if recording.header.retimed:
        return "No line to share: the race was re-timed, not measured."
    if replay_rate != 1:
        return "No line to share from a replay at another speed: R plays it at true speed."
    end = _end(recording)
    if min(lane.num_tokens for lane in end.lanes) < SHARED_FROM:
        return f"No line to share: it takes an answer of at least {SHARED_FROM} tokens."
    if end.speedup is None:
        return "No line to share: the speeds cannot be compared."
    return ""


def save_share(
    recording: Recording,
    folder: Path,
    replay_rate: float = 1.0,
    prices: Prices | None = None,
    runs: int = 1,
) -> Shared:
    """Write both cards into a folder; nothing that is there already is overwritten.

    Raises:
        SpecdecError: the folder cannot be written.
    """
    stem = _free_stem(folder, _name(recording.header))
    card, moving = folder / f"{stem}.svg", folder / f"{stem}-moving.svg"
    write_text(card, card_svg(recording, prices, runs))
    write_text(moving, moving_card_svg(recording, runs=runs))
    return Shared(
        card,
        moving,
        card_words(recording, replay_rate, runs),
        why_no_words(recording, replay_rate),
    )


def write_text(path: Path, text: str) -> None:
    """Write a file, its folder included.

    Raises:
        SpecdecError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SpecdecError(f"{path} cannot be written: {error}.", "Name another place.") from None


def _end(recording: Recording) -> RaceMoment:
    tracks = LaneTrack(recording.standard), LaneTrack(recording.speculative)
    return race_moment(recording.header, *tracks, math.inf)


def _name(header: RecordingHeader) -> str:
    """A file's name from the target, the prompt and the day."""
    parts = ("race", header_names(replace(header, draft="")), header.prompt_id, header.date[:10])
    words = "-".join(part for part in parts if part)
    return re.sub(r"[^A-Za-z0-9.-]+", "-", words).strip("-.")[:80] or "race"


def _free_stem(folder: Path, stem: str) -> str:
    number, free = 1, stem
    while (folder / f"{free}.svg").exists() or (folder / f"{free}-moving.svg").exists():
        number += 1
        free = f"{stem}-{number}"
    return free

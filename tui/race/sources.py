"""What a race on the screen is made from: a packaged race, the next prompt, a header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from mlx_specdec.prompts import PROMPTS, Prompt
from mlx_specdec.race.header import race_header
from mlx_specdec.race.recording import Recording, RecordingHeader, read_recording, write_recording
from mlx_specdec.race.scoreboard import ScoreboardRow
from mlx_specdec.settings import Settings
from tui.state import AppState

__all__ = [
    "header_of",
    "length_seconds",
    "next_prompt",
    "packaged_race",
    "score_words",
    "write_record",
]


def header_of(state: AppState, wanted: Settings, rate: float) -> RecordingHeader:
    """The header of a race that begins now, with the loaded pair and the prompt that is set.

    Args:
        wanted: the race's settings, its seed set.
        rate: the share of true speed at which it is shown.
    """
    assert state.pair is not None
    header = race_header(
        state.pair,
        wanted,
        state.prompt,
        machine=state.machine,
        power=state.power,
        versions=state.versions,
        date=datetime.now().astimezone(),
    )
    return replace(header, speed=rate)


def packaged_race() -> Recording:
    """The race that is seen while models load."""
    text = (Path(__file__).parents[1] / "opening_race.jsonl").read_text(encoding="utf-8")
    return read_recording(text.splitlines(), "the app's own recording")


def length_seconds(recording: Recording) -> float:
    """Until the last lane is in."""
    lanes = (recording.standard, recording.speculative)
    return max((lane[-1].at for lane in lanes if lane), default=0.0)


def score_words(rows: Sequence[ScoreboardRow]) -> tuple[str, str]:
    """Speedups by kind of text, medians, in one row; and the best alone, for a short row."""
    kinds = [f"{row.kind} {row.median:.2f}x of {row.runs}" for row in rows]
    return "   ".join(kinds), kinds[0] if kinds else ""


def next_prompt(prompt: Prompt, is_toy: bool) -> Prompt:
    """The built-in prompt after this one that suits the pair, from the last to the first."""
    suited = [each for each in PROMPTS if each.for_toy == is_toy]
    place = next((i for i, each in enumerate(suited) if each.id == prompt.id), -1)
    return suited[(place + 1) % len(suited)]


def write_record(path: Path | None, recording: Recording) -> str:
    """Write a race where it was asked for; what is in the way, in words, or nothing."""
    if path is None:
        return ""
    try:
        with path.open("w", encoding="utf-8") as file:
            write_recording(file, recording)
    except OSError as error:
        return f"{path} cannot be written: {error}."
    return ""

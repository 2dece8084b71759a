"""The last run, kept as a small file in the user's state folder so that its ledger can be seen.

Only figures are kept: the words of prompt and answer are taken out first.
"""

from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path

from ..errors import SpecdecError
from ..events import Event, Finished, Round
from ..race.recording import Recording, read_recording_file, write_recording
from ..small_file import replace_file

__all__ = ["last_run_file", "read_last_run", "remember_run", "without_words"]


def last_run_file() -> Path:
    """Where the last run is kept."""
    base = os.environ.get("XDG_STATE_HOME")
    folder = (Path(base) if base else Path.home() / ".local" / "state") / "mlx-specdec"
    return folder / "last-run.jsonl"


def remember_run(recording: Recording) -> None:
    """Keep a run in the place of the one before; a disk that takes no file is no reason to fail.

    Nothing is kept of a run without a pass of the target.
    """
    if not any(isinstance(event, Round) and event.index > 0 for event in recording.speculative):
        return
    lines = io.StringIO()
    write_recording(lines, without_words(recording))
    replace_file(last_run_file(), lines.getvalue())


def read_last_run() -> Recording | None:
    """The last run; None when there is none, or when the file is damaged."""
    path = last_run_file()
    if not path.is_file():
        return None
    try:
        return read_recording_file(path)
    except SpecdecError:
        return None


def without_words(recording: Recording) -> Recording:
    """The same figures without any text."""
    return replace(
        recording,
        header=replace(recording.header, prompt=""),
        standard=tuple(map(_wordless, recording.standard)),
        speculative=tuple(map(_wordless, recording.speculative)),
    )


def _wordless(event: Event) -> Event:
    if isinstance(event, Finished):
        return replace(event, trailing_text="")
    if not isinstance(event, Round):
        return event
    return replace(
        event,
        proposed=tuple(replace(each, text="") for each in event.proposed),
        emitted=tuple(replace(each, text="") for each in event.emitted),
        detail=(),
    )

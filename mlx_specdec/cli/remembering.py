"""Keeping the last run of a command for ``mlx-specdec ledger``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ..events import Event
from ..ledger.last_run import remember_run
from ..model_spec import PairSpec
from ..prompts import Prompt
from ..race.header import race_header
from ..race.recording import Recording
from ..settings import Settings

__all__ = ["remember_reply"]


def remember_reply(pair: PairSpec, settings: Settings, events: Sequence[Event]) -> None:
    """Keep the figures of one answer; a disk that takes no file is no reason to fail."""
    from ..this_machine import machine_label, versions

    header = race_header(
        pair,
        settings,
        Prompt("", "own", ""),
        machine=machine_label(),
        versions=versions(),
        date=datetime.now(UTC),
    )
    remember_run(Recording(header, (), tuple(events)))

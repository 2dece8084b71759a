"""``--card`` and ``--moving-card``: a race as pictures for a page or a post."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InvalidRequestError
from ..race.recording import Recording, read_recording_file
from .terminal import Terminal

if TYPE_CHECKING:
    from ..costs.machines import Chip

__all__ = ["Cards", "add_card_options", "cards", "wants_cards"]


@dataclass(frozen=True, slots=True)
class Cards:
    """Where to write which card; None writes none."""

    card: Path | None = None
    moving_card: Path | None = None

    def write(self, terminal: Terminal, recording: Recording, runs: int = 1) -> None:
        """Write what was asked for, and say where.

        Args:
            runs: how many races the figures stand for.

        Raises:
            SpecdecError: a file cannot be written.
        """
        from ..cards.card import card_svg
        from ..cards.moving import moving_card_svg
        from ..cards.share import write_text
        from ..race.recorded_prices import recorded_prices

        if self.card is not None:
            write_text(self.card, card_svg(recording, recorded_prices(recording), runs))
            terminal.note(f"card: {self.card}")
        if self.moving_card is not None:
            write_text(self.moving_card, moving_card_svg(recording, runs=runs))
            terminal.note(f"moving card: {self.moving_card}")

    def write_replay(self, terminal: Terminal, path: Path, chip: Chip | None) -> None:
        """The same of a recording, on ``chip``'s clock if there is one.

        Raises:
            SpecdecError: the recording cannot be read, or a file not be written.
        """
        if self.card is None and self.moving_card is None:
            return
        from ..race.retiming import retimed

        recording = read_recording_file(path)
        self.write(terminal, recording if chip is None else retimed(recording, chip))


def add_card_options(group: argparse._ArgumentGroup) -> None:
    """--card and --moving-card."""
    group.add_argument("--card", metavar="FILE.svg", help="write the race as a card (SVG)")
    group.add_argument(
        "--moving-card", metavar="FILE.svg", help="write a card that moves at true speed (SVG)"
    )


def wants_cards(args: argparse.Namespace) -> bool:
    """Whether a card is asked for: then there is text and no screen."""
    return args.card is not None or args.moving_card is not None


def cards(args: argparse.Namespace) -> Cards:
    """The files that were named.

    Raises:
        InvalidRequestError: a name that does not end in .svg.
    """
    found = []
    for option, name in (("--card", args.card), ("--moving-card", args.moving_card)):
        if name is not None and not name.lower().endswith(".svg"):
            raise InvalidRequestError(
                f"{option} {name} is no SVG file.", f"Name it so: {option} race.svg."
            )
        found.append(None if name is None else Path(name))
    return Cards(*found)

"""Draw the README's pictures from a recording: the card, the race's screen, the ledger's.

    mlx-specdec demo --plain --record build/readme/race.jsonl
    python scripts/readme_pictures.py build/readme/race.jsonl

The screens are the app's own export at 120 x 36, at the end of the race.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

from mlx_specdec.cards.card import card_svg
from mlx_specdec.race.recording import read_recording_file
from tui.app import SpecdecApp
from tui.opening import AppOpening

DOCS = Path(__file__).resolve().parent.parent / "docs"
SIZE = (120, 36)
LONGEST_SECONDS = 60.0


async def screens(recording: Path) -> None:
    """Play the recording at true speed and export what stands at its end."""
    app = SpecdecApp(AppOpening(request=None, replay=recording, speed=1.0))
    began = time.monotonic()
    async with app.run_test(size=SIZE) as pilot:
        director = app.screen.director
        while not director.is_over and time.monotonic() - began < LONGEST_SECONDS:
            await pilot.pause(0.2)
        await pilot.pause(1.0)
        (DOCS / "race-screen.svg").write_text(app.export_screenshot(title="mlx-specdec"))
        await pilot.press("3")
        await pilot.pause(1.0)
        (DOCS / "ledger-screen.svg").write_text(app.export_screenshot(title="mlx-specdec ledger"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", type=Path)
    path = parser.parse_args().recording
    DOCS.mkdir(exist_ok=True)
    (DOCS / "race-card.svg").write_text(card_svg(read_recording_file(path)))
    asyncio.run(screens(path))


if __name__ == "__main__":
    main()

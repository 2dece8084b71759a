"""Both rates and the speedup, in every width of a terminal."""

from __future__ import annotations

import asyncio

from mlx_specdec.race.lane_track import LaneTrack
from mlx_specdec.race.moment import race_moment
from tests.race_screens import golden
from tui.widgets.race_figures import RaceFigures

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.content import Content


class FiguresApp(App[None]):
    def compose(self) -> ComposeResult:
        yield RaceFigures()


def drawn(width: int, recording: str = "fable") -> list[str]:
    """The four rows at the end of a race."""

    async def run() -> list[str]:
        app = FiguresApp()
        async with app.run_test(size=(width, 8)) as pilot:
            race = golden(recording)
            tracks = LaneTrack(race.standard), LaneTrack(race.speculative)
            figures = app.query_one(RaceFigures)
            figures.show(race_moment(race.header, *tracks, 100.0))
            await pilot.pause()
            content = figures.render()
            assert isinstance(content, Content)
            return content.plain.split("\n")

    return asyncio.run(run())


@pytest.mark.parametrize("recording", ["fable", "parked"])
@pytest.mark.parametrize("width", [80, 99, 100, 103, 104, 110, 117, 118, 140])
def test_no_row_is_wider_than_the_terminal(width: int, recording: str) -> None:
    rows = drawn(width, recording)
    assert len(rows) == 4
    assert max(map(cell_len, rows)) <= width


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (80, "per pass"),
        (100, "per pass"),
        (104, "tokens per pass"),
        (114, "tokens per pass"),
        (115, "tokens per pass of the 14B"),
    ],
)
def test_the_longest_words_that_fit_are_used_in_both_lanes(width: int, words: str) -> None:
    row = drawn(width)[2]
    assert row.rstrip().endswith(f" {words}")
    one = words.replace("tokens", "token")
    assert f"1 {one} " in row

"""ScoreboardTable: what it shows before and after races."""

from __future__ import annotations

import asyncio

from mlx_specdec.race.scoreboard import Scoreboard
from tui.widgets.scoreboard import ScoreboardTable

from textual.app import App, ComposeResult


class Host(App[None]):
    def compose(self) -> ComposeResult:
        yield ScoreboardTable(Scoreboard())


def test_rows_come_as_races_end() -> None:
    async def run() -> None:
        app = Host()
        async with app.run_test(size=(60, 10)) as pilot:
            table = app.query_one(ScoreboardTable)
            assert str(table.render()) == "No race is over yet."
            board = Scoreboard()
            board.add("[b]code", 2.0)
            board.add("[b]code", 1.5)
            table.show(board, "[b]code")
            await pilot.pause()
            assert str(table.render()).splitlines()[1] == "▸ [b]code     2   1.75x  1.50 to 2.00"

    asyncio.run(run())

"""ScoreboardTable: the session's speedups by kind of prompt."""

from __future__ import annotations

from mlx_specdec.race.scoreboard import Scoreboard, scoreboard_lines

from textual.content import Content
from textual.widgets import Static

__all__ = ["ScoreboardTable"]


class ScoreboardTable(Static):
    """A row per kind: runs, median, lowest to highest."""

    DEFAULT_CSS = "ScoreboardTable { height: auto; width: auto; }"

    def __init__(self, board: Scoreboard | None = None, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__("", id=id, markup=False)
        if board is not None:
            self.show(board)

    def show(self, board: Scoreboard, kind: str = "") -> None:
        """Draw the table; ``kind`` is the one that runs now."""
        head, *rows = scoreboard_lines(board.rows(), kind)
        lines = [Content.assemble((head, "bold"))]
        for row in rows:
            lines.append(Content.assemble((row, "bold" if row.startswith("▸") else "")))
        self.update(Content("\n").join(lines))

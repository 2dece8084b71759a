"""The scoreboard: runs, median and spread by kind of prompt."""

from __future__ import annotations

from mlx_specdec.race.scoreboard import Scoreboard, ScoreboardRow, scoreboard_lines

from hypothesis import given
from hypothesis import strategies as st


def test_rows_by_kind_the_fastest_first() -> None:
    board = Scoreboard()
    for kind, speed in (("prose", 1.4), ("code", 2.0), ("code", 2.4), ("code", 1.8)):
        board.add(kind, speed)
    assert board.rows() == (
        ScoreboardRow("code", 3, 2.0, 1.8, 2.4),
        ScoreboardRow("prose", 1, 1.4, 1.4, 1.4),
    )


def test_a_race_too_short_to_compare_is_not_counted() -> None:
    board = Scoreboard()
    board.add("code", None)
    assert board.rows() == ()
    assert scoreboard_lines(board.rows()) == ["No race is over yet."]


def test_the_table() -> None:
    rows = (ScoreboardRow("code", 3, 2.1, 1.8, 2.4), ScoreboardRow("prose", 1, 0.9, 0.9, 0.9))
    assert scoreboard_lines(rows, "prose") == [
        "  kind   runs  median  spread",
        "  code      3   2.10x  1.80 to 2.40",
        "▸ prose     1   0.90x",
    ]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.1, 10)), max_size=30))
def test_the_median_lies_within_the_spread(races: list[tuple[str, float]]) -> None:
    board = Scoreboard()
    for kind, speed in races:
        board.add(kind, speed)
    rows = board.rows()
    assert sum(row.runs for row in rows) == len(races)
    assert all(row.lowest <= row.median <= row.highest for row in rows)
    assert [row.median for row in rows] == sorted((row.median for row in rows), reverse=True)

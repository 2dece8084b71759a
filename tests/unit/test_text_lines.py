"""Text in lines of cells: nothing lost, nothing too wide, marks where they belong."""

from __future__ import annotations

from mlx_specdec.cards.text_lines import Piece, Run, drawable, shortened, wrapped_runs
from mlx_specdec.lesson.styled_lines import cell_length

import pytest
from hypothesis import given
from hypothesis import strategies as st


def texts(pieces: list[Piece], width: int) -> list[str]:
    return ["".join(run.text for run in line) for line in wrapped_runs(pieces, width)]


def test_words_are_kept_whole_and_long_ones_are_cut() -> None:
    assert texts([Piece("one two three")], 8) == ["one two ", "three"]
    assert texts([Piece("a " + "x" * 12)], 5) == ["a xxx", "xxxxx", "xxxx"]
    assert texts([Piece("a\n\nb")], 5) == ["a", "", "b"]


def test_a_word_of_several_tokens_breaks_as_one() -> None:
    pieces = [Piece("the light"), Piece("ning", "drafted")]
    assert texts(pieces, 10) == ["the ", "lightning"]
    assert wrapped_runs(pieces, 10)[1] == [
        Run("light", "", 0.0, 0, 5),
        Run("ning", "drafted", 0.0, 5, 4),
    ]


def test_wide_characters_take_two_cells_and_marks_none() -> None:
    assert texts([Piece("汉字汉字")], 5) == ["汉字", "汉字"]
    (line,) = wrapped_runs([Piece("é́x")], 5)
    assert line == [Run("é́x", "", 0.0, 0, 2)]


def test_what_xml_cannot_hold_is_replaced() -> None:
    assert drawable("a\x00\x1b[2J\ufffe\ud800b") == "a␀␛[2J��b"


def test_shortened() -> None:
    assert shortened("a  b\nc", 9) == "a b c"
    assert shortened("abcdef", 4) == "abc…"
    assert cell_length(shortened("汉字汉字", 5)) <= 5


@given(st.lists(st.tuples(st.text(max_size=8), st.sampled_from("ab"))), st.integers(2, 20))
def test_nothing_is_lost_and_nothing_is_too_wide(
    given_pieces: list[tuple[str, str]], width: int
) -> None:
    pieces = [Piece(text, mark) for text, mark in given_pieces]
    lines = wrapped_runs(pieces, width)
    whole = "".join(drawable(piece.text) for piece in pieces)
    shown = "".join(run.text for line in lines for run in line)
    assert "".join(shown.split()) == "".join(whole.split())
    for line in lines:
        column = 0
        for run in line:
            assert run.column == column
            column += run.cells
        assert column <= width


@pytest.mark.parametrize("width", [2, 7])
def test_an_empty_text_is_one_empty_line(width: int) -> None:
    assert wrapped_runs([], width) == [[]]

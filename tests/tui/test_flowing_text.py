"""FlowingText: what is full never changes, however the text comes; widths are a terminal's."""

from __future__ import annotations

from itertools import pairwise

from tui.widgets.flowing_text import FlowingText, Line, line_cells

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

WORDS = st.text(alphabet=st.sampled_from("ab  c\n\td漢字é\u0301\u200d👩👧❤️🇩🇪\x1b[]{}"), max_size=60)


def lines_of(flow: FlowingText) -> list[Line]:
    return [flow.line(number) for number in range(flow.num_lines)]


def text_of(line: Line) -> str:
    return "".join(text for text, _ in line)


def flowed(pieces: list[str], width: int) -> list[str]:
    flow = FlowingText(width)
    for piece in pieces:
        flow.append(piece)
    return [text_of(line).rstrip() for line in lines_of(flow)]


def test_breaks_at_spaces_and_keeps_indentation() -> None:
    assert flowed(["def f(x):\n    return x + 1 and more words"], 16) == [
        "def f(x):",
        "    return x + 1",
        "and more words",
    ]


def test_a_word_longer_than_a_line_is_cut() -> None:
    assert flowed(["ab cdefghijkl m"], 5) == ["ab", "cdefg", "hijkl", "m"]


@given(WORDS, st.lists(st.integers(0, 60), max_size=8), st.integers(2, 20))
@settings(max_examples=300, deadline=None)
def test_in_whatever_pieces_it_comes_the_lines_are_the_same(
    text: str, cuts: list[int], width: int
) -> None:
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    pieces = [text[a:b] for a, b in pairwise(places)]
    assert flowed(pieces, width) == flowed([text], width)


@given(WORDS, WORDS, st.integers(2, 20))
@settings(max_examples=200, deadline=None)
def test_only_the_last_line_changes_with_what_comes_later(
    first: str, second: str, width: int
) -> None:
    before = flowed([first], width)
    assert flowed([first, second], width)[: len(before) - 1] == before[:-1]


@given(WORDS, st.integers(2, 20))
@settings(max_examples=200, deadline=None)
def test_h11_no_line_is_wider_than_it_may_be(text: str, width: int) -> None:
    flow = FlowingText(width)
    flow.append(text)
    for line in lines_of(flow):
        assert line_cells(line) == cell_len(text_of(line)) <= width


def test_h11_wide_characters_and_what_combines_stay_together() -> None:
    family = "👩‍👩‍👧"
    assert flowed([f"漢字{family}e\u0301"], 4) == ["漢字", f"{family}e\u0301"]
    assert flowed(["👩‍", "👩‍", "👧"], 2) == [family]


def test_marks_are_kept_and_joined() -> None:
    flow = FlowingText(20)
    for text, mark in (("The", "own"), (" fox", "drafted"), (" jumps", "drafted"), ("!", "own")):
        flow.append(text, mark)
    assert flow.line(0) == [("The", "own"), (" fox jumps", "drafted"), ("!", "own")]


def test_an_ending_is_laid_out_without_becoming_part_of_it() -> None:
    flow = FlowingText(10)
    flow.append("one two", "own")
    first, lines = flow.ending([("▌", "cursor"), (" three", "guess")])
    assert (first, [text_of(line).rstrip() for line in lines]) == (0, ["one two▌", "three"])
    assert [text_of(line) for line in lines_of(flow)] == ["one two"]


@pytest.mark.parametrize("code", ["\x1b[2J", "\x07", "\x9b", "\r"])
def test_h5_control_codes_never_reach_a_line(code: str) -> None:
    assert all(code[0] not in line for line in flowed([f"a{code}b"], 20))

"""Lines in cells: wide characters, cutting, wrapping, and text of a model made harmless."""

from __future__ import annotations

from mlx_specdec.lesson.styled_lines import (
    Span,
    cell_length,
    clipped,
    cut,
    line,
    padded,
    plain,
    safe_flat,
    told_apart,
    visible,
    wrapped,
)

import pytest


def test_cells_of_wide_and_combining_characters() -> None:
    assert cell_length("abc") == 3
    assert cell_length("日本") == 4
    assert cell_length("e\u0301") == 1


@pytest.mark.parametrize("text", ["lantern", "日本語の文", "a日b本c", "e\u0301e\u0301e\u0301"])
@pytest.mark.parametrize("cells", range(9))
def test_padded_is_exactly_as_wide_as_asked(text: str, cells: int) -> None:
    assert cell_length(padded(text, cells)) == cells
    assert cell_length(cut(text, cells)) <= cells


def test_what_was_cut_is_marked() -> None:
    assert cut("lantern", 5) == "lant…"
    assert cut("lantern", 7) == "lantern"
    assert cut("lantern", 0) == ""


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (" fox", "fox"),
        (" ", "␣"),
        ("\n\n", "⏎⏎"),
        ("", "(no text)"),
        ("\x1b[2J", "␛[2J"),
        ("[b]", "[b]"),
    ],
)
def test_a_token_is_visible_and_harmless(token: str, shown: str) -> None:
    assert visible(token) == shown


def test_tokens_that_look_alike_are_told_apart() -> None:
    assert told_apart([" word", "word", " me", "\n"]) == ["␣word", "word", "me", "⏎"]


def test_a_text_on_one_line() -> None:
    assert safe_flat("a\nb\x07") == "a⏎ b␇"


def test_wrapping_and_clipping() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("", 7) == []
    spans = line("abc", Span("def", "head"), "   ")
    assert plain([clipped(spans, 5)]) == "abcd…"
    assert "".join(span.text for span in clipped(spans, 8)) == "abcdef  "

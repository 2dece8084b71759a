"""Where an answer ends, token by token, whatever a round brings."""

from __future__ import annotations

from typing import Any

from mlx_specdec.answer import Answer
from mlx_specdec.errors import ContextFullError
from mlx_specdec.request import GenerateRequest
from tests.tables import Letters

import pytest

PROMPT = (1, 2, 3)
END = frozenset({25})  # z


def answer(context: int | None = None, **options: Any) -> Answer:
    return Answer(GenerateRequest(PROMPT, **options), Letters(), END, context)


def admitted(each: Answer, text: str) -> str:
    """Admit the letters as one round; the text that comes out."""
    tokens = [ord(letter) - 97 for letter in text]
    emitted = each.admit(tokens, ["accepted"] * len(tokens), [0.5] * len(tokens))
    return "".join(token.text for token in emitted)


@pytest.mark.parametrize("place", range(5))
def test_c1_an_end_token_anywhere_in_a_round_ends_it_there(place: int) -> None:
    each = answer()
    text = "abcd"[:place] + "z" + "abcd"[place:]
    assert admitted(each, text) == "abcd"[:place]
    assert each.finish_reason == "stop"
    assert each.emitted == [ord(letter) - 97 for letter in text[: place + 1]]
    assert each.tokens[:3] == list(PROMPT)
    assert admitted(each, "more") == ""
    assert len(each.emitted) == place + 1


def test_an_end_token_may_be_ignored_and_does_not_show() -> None:
    each = answer(ignore_eos=True)
    assert admitted(each, "azb") == "ab"
    assert not each.is_finished
    assert len(each.emitted) == 3


@pytest.mark.parametrize("limit", range(1, 6))
def test_c4_the_limit_cuts_a_round(limit: int) -> None:
    each = answer(max_tokens=limit)
    assert each.room == limit
    assert admitted(each, "abcdefgh") == "abcdefgh"[:limit]
    assert each.finish_reason == "length"
    assert each.room == 0


def test_an_end_token_at_the_limit_counts_as_the_end() -> None:
    each = answer(max_tokens=2)
    admitted(each, "az")
    assert each.finish_reason == "stop"


@pytest.mark.parametrize("cut", range(1, 6))
def test_c8_c9_a_stop_string_over_two_rounds(cut: int) -> None:
    each = answer(stop=("cde", "never"))
    text = "abcdefg"
    shown = admitted(each, text[:cut])
    shown += admitted(each, text[cut:])
    assert shown == "ab"
    assert each.finish_reason == "stop_string"
    assert each.emitted[-1] == 4  # e completed it
    assert each.trailing_text() == ""


def test_text_held_back_at_the_end_is_not_lost() -> None:
    each = answer(stop=("cde",), max_tokens=4)
    assert admitted(each, "abcdx") == "ab"
    assert each.finish_reason == "length"
    assert each.trailing_text() == "cd"


@pytest.mark.parametrize(
    ("context", "limit", "count", "reason"),
    [
        (10, 7, 7, "length"),
        (10, 8, 7, "context"),
        (10, None, 7, "context"),
        (11, 7, 7, "length"),
        (4, 1, 1, "length"),
        (4, 5, 1, "context"),
    ],
)
def test_c11_the_contexts_end(context: int, limit: int | None, count: int, reason: str) -> None:
    each = answer(context, max_tokens=limit)
    admitted(each, "abcdefghijklm")
    assert len(each.emitted) == count
    assert each.finish_reason == reason


@pytest.mark.parametrize("context", [1, 2, 3])
def test_a_prompt_that_leaves_no_room_is_refused_with_both_numbers(context: int) -> None:
    with pytest.raises(ContextFullError) as caught:
        answer(context)
    assert "3 tokens" in caught.value.message
    assert str(context) in caught.value.message


def test_c5_no_limit_and_no_context_go_on() -> None:
    each = answer(max_tokens=None)
    admitted(each, "abc" * 100)
    assert not each.is_finished
    assert each.room > 1_000_000


def test_a_round_keeps_kinds_and_margins() -> None:
    each = answer()
    emitted = each.admit([0, 1], ["accepted", "bonus"], [0.25, 4.0])
    assert [(token.kind, token.margin) for token in emitted] == [("accepted", 0.25), ("bonus", 4.0)]


def test_a_round_of_uneven_lists_is_a_fault() -> None:
    with pytest.raises(ValueError, match="zip"):
        answer().admit([0, 1], ["accepted"], [0.0, 0.0])

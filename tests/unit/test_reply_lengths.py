"""How long replies are, and where the one under way may end."""

from __future__ import annotations

from mlx_specdec.lookahead.reply_lengths import ReplyLengths

import pytest

FAR = 10_000


def after(*lengths: int) -> ReplyLengths:
    replies = ReplyLengths()
    for length in lengths:
        replies.add(length)
    return replies


def test_far_from_any_end_nothing_is_said() -> None:
    assert ReplyLengths().goes_on(40, FAR, 8) is None
    assert after(30, 90).goes_on(40, FAR, 8) is None  # the short one is over, the long one far


def test_near_a_usual_end_guesses_behind_it_are_unlikely() -> None:
    goes_on = after(30, 30, 30).goes_on(28, FAR, 4)
    assert goes_on is not None
    assert list(goes_on) == [1, 1, 0.25, 0.25, 0.25]  # one more that goes on is taken for seen


def test_replies_that_were_shorter_say_nothing_of_this_one() -> None:
    goes_on = after(10, 20, 43).goes_on(40, FAR, 4)
    assert goes_on is not None
    assert list(goes_on) == [1, 1, 1, 0.5, 0.5]


def test_behind_the_room_nothing_comes() -> None:
    goes_on = ReplyLengths().goes_on(40, 3, 4)
    assert goes_on is not None
    assert list(goes_on) == [1, 1, 1, 0, 0]


def test_what_remains_is_what_is_usual_and_of_long_replies_more() -> None:
    replies = after(*[100] * 8)
    assert replies.remaining_tokens(20, FAR) == pytest.approx(80, abs=40)
    assert replies.remaining_tokens(400, FAR) == 200
    assert replies.remaining_tokens(400, 7) == 7


def test_forgotten_it_begins_as_new() -> None:
    replies = after(30, 30)
    replies.forget()
    assert replies == ReplyLengths()

"""What a chat says of its gain: an estimate, pooled, and negative where it is."""

from __future__ import annotations

from mlx_specdec.chat.figures import estimated_speedup, gain_words, saved_seconds, saved_words
from mlx_specdec.metrics import Metrics

import pytest


def reply(tokens: int, seconds: float, tested: int = 10) -> Metrics:
    return Metrics(
        emitted_tokens=tokens + 1,
        decode_tokens=tokens,
        decode_seconds=seconds,
        tested=tested,
        accepted=min(7, tested),
    )


def test_the_gain_is_plain_seconds_by_the_replys_own() -> None:
    assert estimated_speedup(reply(100, 4.0), 0.065) == pytest.approx(1.625)


def test_nothing_is_claimed_without_a_price_a_guess_or_enough_tokens() -> None:
    assert estimated_speedup(reply(100, 4.0), None) is None
    assert estimated_speedup(reply(100, 4.0, tested=0), 0.065) is None
    assert estimated_speedup(reply(14, 1.0), 0.065) is None
    assert estimated_speedup(Metrics(), 0.065) is None


def test_what_was_saved_is_pooled_over_the_replies() -> None:
    replies = [(reply(100, 4.0), 0.065), (reply(200, 9.0), 0.07), (reply(50, 9.0, tested=0), 0.065)]
    assert saved_seconds(replies) == pytest.approx(6.5 - 4.0 + 14.0 - 9.0)


def test_a_chat_that_lost_time_says_so() -> None:
    assert saved_seconds([(reply(100, 8.0), 0.065)]) == pytest.approx(-1.5)
    assert saved_words(-1.5) == "about 1.5 s lost to drafting (est.)"


def test_replies_without_a_price_say_nothing() -> None:
    assert saved_seconds([(reply(100, 8.0), None)]) is None
    assert saved_seconds([]) is None
    assert saved_seconds([(reply(5, 1.0), 0.065)]) is None


def test_the_words() -> None:
    assert gain_words(1.68) == "about 1.7 times plain (est.)"
    assert gain_words(None) == saved_words(None) == ""
    assert saved_words(31.2) == "about 31 s saved (est.)"
    assert saved_words(0.01) == "nothing saved, nothing lost (est.)"

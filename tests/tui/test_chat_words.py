"""The chat's figures in words: blank until they mean something, and honest where they do not."""

from __future__ import annotations

from dataclasses import replace

from mlx_specdec.costs.prices import Prices
from mlx_specdec.events import Round
from mlx_specdec.ledger.latency import LatencyModel
from tests.tui.chat_fakes import chat_state, finished, reply_events
from tui.chat.words import Figures, top_words

import pytest

WORDS = "word " * 39 + "word"
PRICES = Prices(LatencyModel(0.065, 0.06), "published", "published figures for M3 Pro")
DEAR = Prices(LatencyModel(0.001, 0.06), "measured", "passes measured here")


def test_nothing_is_said_before_sixteen_tokens() -> None:
    state = chat_state(replies=[tuple(reply_events("word " * 9 + "word"))], prices=PRICES)
    reply, chat = Figures(state).now()
    assert (reply.rate, reply.gain, reply.accepted, reply.per_pass) == ("", "", "", "")
    assert reply.first_token == "0.48 s"
    assert chat.replies == "1 reply, 10 tokens"


def test_a_whole_reply() -> None:
    state = chat_state(replies=[(*reply_events(WORDS), finished())], prices=PRICES)
    reply, chat = Figures(state).now()
    assert reply.gain.endswith("times plain (est.)")
    assert reply.gain_source == "published figures for M3 Pro"
    assert reply.accepted.endswith(" %")
    assert len(reply.positions) == 3
    assert "saved (est.)" in chat.saved
    assert chat.context == "80 of 41k"
    assert chat.memory == "10.1 GB of 27 GB"


def test_a_chat_that_lost_time_says_so() -> None:
    state = chat_state(replies=[tuple(reply_events(WORDS))], prices=DEAR)
    assert "lost to drafting (est.)" in Figures(state).now()[1].saved


def test_without_a_price_it_says_how_to_get_one() -> None:
    reply, chat = Figures(chat_state(replies=[tuple(reply_events(WORDS))])).now()
    assert reply.gain == "no estimate yet: run a race (1)"
    assert chat.saved == ""


def test_not_drafting_is_said_with_its_reason() -> None:
    why = "a pass over 2 rows costs 1.7"
    events = tuple(
        replace(event, note=why) if isinstance(event, Round) else event
        for event in reply_events(WORDS, drafts=False)
    )
    reply, _ = Figures(chat_state(replies=[events], prices=PRICES)).now()
    assert reply.accepted == "not drafting"
    assert reply.gain == why
    assert reply.positions == ""


def test_the_top_line_names_the_context_where_there_is_no_panel() -> None:
    state = chat_state(replies=[tuple(reply_events(WORDS))])
    assert "context 80/41k" in top_words(state, is_wide=False)
    assert "context" not in top_words(state, is_wide=True)


@pytest.mark.parametrize("prices", [None, PRICES])
def test_a_reply_that_goes_on_has_the_figures_of_all_of_it_so_far(prices: Prices | None) -> None:
    events = (*reply_events(WORDS), finished())
    state = chat_state(replies=[tuple(reply_events(WORDS)), ()], prices=prices)
    figures = Figures(state)
    for end in range(1, len(events) + 1):
        state.replies[-1] = events[:end]
        assert figures.now() == Figures(state).now()
    state.replies[-1] = tuple(reply_events("another one " * 20))  # in the place of the old one
    assert figures.now() == Figures(state).now()

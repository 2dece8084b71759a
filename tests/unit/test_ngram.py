"""Copying from the text: the index against a search of the whole text, and edited histories."""

from __future__ import annotations

from collections.abc import Sequence

from mlx_specdec.noise import KeyedNoise
from mlx_specdec.proposers import ngram
from mlx_specdec.proposers.ngram import NOTHING_LIKE_IT, SIZES, NgramIndex, NgramProposer
from mlx_specdec.request import GenerateRequest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

WIDTH = 50
TOKENS = st.lists(st.integers(0, 2), max_size=40)  # so few that runs come back all the time
STEPS = st.lists(
    st.one_of(st.integers(0, 2), st.tuples(st.just("keep"), st.integers(0, 40))), max_size=60
)


def searched(tokens: Sequence[int], count: int) -> list[int]:
    """By the book: the longest run that ends the text, its latest place before, what followed."""
    for size in SIZES:
        run = list(tokens[-size:])
        for place in range(len(tokens) - 1, size - 1, -1):
            if len(run) == size and list(tokens[place - size : place]) == run:
                written = list(tokens)
                for step in range(count):
                    written.append(written[place + step])
                return written[len(tokens) :]
    return []


def proposer_for(width: int = WIDTH) -> NgramProposer:
    proposer = NgramProposer()
    proposer.begin(GenerateRequest((1,)), width)
    return proposer


def guesses_of(proposer: NgramProposer, context: list[int], lookahead: int = 4) -> list[int]:
    tokens = np.array(proposer.propose(context, lookahead, KeyedNoise(0), 0).tokens)
    return [int(token) for token in tokens]


@given(TOKENS, st.integers(1, 9))
def test_it_copies_what_a_search_of_the_whole_text_finds(tokens: list[int], count: int) -> None:
    index = NgramIndex()
    for end, token in enumerate(tokens):
        assert index.copied(count) == searched(tokens[:end], count)
        index.append(token)
    assert index.copied(count) == searched(tokens, count)


@given(STEPS)
def test_taken_back_a_token_was_never_there(steps: list[int | tuple[str, int]]) -> None:
    index, fresh = NgramIndex(), NgramIndex()
    for step in steps:
        if isinstance(step, int):
            index.append(step)
        else:
            index.truncate_to(step[1])
    for token in index.tokens:
        fresh.append(token)
    assert index._after == fresh._after
    assert index.copied(5) == fresh.copied(5) == searched(index.tokens, 5)


@given(st.lists(st.tuples(TOKENS, st.booleans()), min_size=1, max_size=5))
def test_an_edited_history_is_read_anew_from_the_edit_on(
    histories: list[tuple[list[int], bool]],
) -> None:
    proposer = proposer_for()
    for history, is_interrupted in histories:
        guesses_of(proposer, history)
        assert guesses_of(proposer, history) == searched(history, 4)
        history.extend([1, 2, 1])  # the same list has grown
        assert proposer.owed(history) == 3
        assert guesses_of(proposer, history) == searched(history, 4)
        if is_interrupted:
            proposer.rollback()
            assert guesses_of(proposer, [*history[:-1], 0]) == searched([*history[:-1], 0], 4)


def test_the_longest_run_wins_then_the_latest_place() -> None:
    text = [1, 2, 3, 7, 7, 9, 2, 3, 8, 6, 2, 3, 5, 0, 1, 2, 3]
    proposer = proposer_for()
    assert guesses_of(proposer, text, 1) == [7]  # 1 2 3 stood once; 2 3 later, and thrice
    assert guesses_of(proposer, [*text[:-3], 0, 2, 3], 2) == [5, 0]


@pytest.mark.parametrize("count", [1, 3, 7])
def test_a_repetition_goes_on_with_itself(count: int) -> None:
    """The run at the end never finds itself, or it would be followed by nothing."""
    assert guesses_of(proposer_for(), [5, 5, 5], count) == [5] * count
    assert guesses_of(proposer_for(), [4, 1, 2, 3, 1, 2, 3], count) == ([1, 2, 3] * 3)[:count]


def test_nothing_is_proposed_where_nothing_came_back() -> None:
    proposer = proposer_for()
    text = [1, 2, 3, 4, 3, 5]
    proposal = proposer.propose(text, 4, KeyedNoise(0), 0)
    assert (proposal.count, proposal.note) == (0, NOTHING_LIKE_IT)
    assert proposer.glance(text).note == NOTHING_LIKE_IT
    assert proposer.glance([]).note == NOTHING_LIKE_IT
    assert proposer.propose([1, 1, 1], 0, KeyedNoise(0), 0).note == ""


def test_an_id_beyond_the_law_ends_the_proposal() -> None:
    text = [1, 2, 3, 60, 4, 1, 2]
    assert guesses_of(proposer_for(), text) == [3]
    assert guesses_of(proposer_for(), [*text, 3]) == []
    assert guesses_of(proposer_for(61), text) == [3, 60, 4, 1]


def test_it_has_no_law_and_reads_each_token_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    class Watched(NgramIndex):
        def append(self, token: int) -> None:
            read.append(token)
            super().append(token)

    monkeypatch.setattr(ngram, "NgramIndex", Watched)
    proposer = proposer_for()
    text = [1, 2, 3, 4, 1, 2]
    for token in (3, 4, 9):
        proposal = proposer.propose(text, 3, KeyedNoise(0), 0)
        assert proposal.probs is None
        assert proposal.tokens_read == 0
        proposer.commit(text, len(text))
        text.append(token)
    assert read == text[:-1]
    proposer.close()
    assert proposer.owed(text) == len(text)

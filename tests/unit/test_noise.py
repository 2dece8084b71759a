"""Noise is a pure function of seed and place, and its streams know nothing of each other."""

from __future__ import annotations

import itertools
from typing import Any

from mlx_specdec.backend import mx
from mlx_specdec.noise import KeyedNoise, uploaded
from tests.stats import chi_square, chi_square_limit

import numpy as np
import pytest

FALSE_ALARM = 1e-6
WIDTH = 12


def rows(seed: int, first: int, count: int, width: int = WIDTH) -> Any:
    return np.array(KeyedNoise(seed).token_rows(first, count, width))


def test_a_positions_vector_does_not_depend_on_how_it_was_asked_for() -> None:
    """One by one, many at once, over the borders of what is made together, and backwards."""
    whole = rows(3, 0, 40)
    assert whole.shape == (40, WIDTH)
    noise = KeyedNoise(3)
    for first, count in ((0, 1), (5, 9), (7, 2), (8, 17), (39, 1), (3, 4), (0, 40), (31, 1)):
        part = np.array(noise.token_rows(first, count, WIDTH))
        assert np.array_equal(part, whole[first : first + count])


def test_a_vector_is_computed_once_while_it_is_needed() -> None:
    noise = KeyedNoise(3)
    first = noise.token_rows(16, 1, WIDTH)
    mx.eval(first)
    assert np.array_equal(np.array(noise.token_rows(16, 1, WIDTH)), np.array(first))


def test_the_noise_of_a_long_answer_does_not_pile_up() -> None:
    noise = KeyedNoise(1)
    for position in range(2_000):
        noise.token_rows(position, 5, 4)
    assert len(noise._blocks) <= 4


def test_seeds_and_positions_have_noise_of_their_own() -> None:
    vectors = [tuple(row) for seed in (0, 1, 2**62) for row in rows(seed, 0, 20).tolist()]
    assert len(set(vectors)) == 60


def test_another_width_is_another_vector_of_that_width() -> None:
    noise = KeyedNoise(1)
    assert noise.token_rows(0, 2, 5).shape == (2, 5)
    assert noise.token_rows(0, 2, 9).shape == (2, 9)


def test_a_rounds_streams_differ_and_repeat() -> None:
    first, second = KeyedNoise(5).round(1), KeyedNoise(5).round(1)
    streams = [first.draft(4), first.coins(4), [first.residual()]]
    assert streams == [second.draft(4), second.coins(4), [second.residual()]]
    values = [value for stream in streams for value in stream]
    values += KeyedNoise(5).round(2).coins(4) + KeyedNoise(6).round(1).coins(4)
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 20])
def test_a_stream_begins_alike_however_much_is_asked(count: int) -> None:
    each = KeyedNoise(5).round(1)
    assert each.coins(count) == each.coins(32)[:count]
    assert len(each.draft(count)) == count


def test_uniforms_lie_from_zero_up_to_and_without_one_in_float32() -> None:
    values = [value for index in range(400) for value in KeyedNoise(9).round(index).coins(16)]
    host = np.array(uploaded(values))
    assert host.dtype == np.float32
    assert host.min() >= 0
    assert host.max() < 1
    assert host.tolist() == values  # the host decides on the same numbers as the device


def test_uniforms_are_even_and_streams_are_independent() -> None:
    """Pairs of streams over 4,000 rounds in 5 x 5 cells; false alarm 1e-6 for each pair."""
    rounds = [KeyedNoise(11).round(index) for index in range(4_000)]
    following = [KeyedNoise(11).round(index + 1) for index in range(4_000)]
    streams = {
        "draft": [each.draft(1)[0] for each in rounds],
        "second draft": [each.draft(2)[1] for each in rounds],
        "coin": [each.coins(1)[0] for each in rounds],
        "residual": [each.residual() for each in rounds],
        "next coin": [each.coins(1)[0] for each in following],
        "next draft": [each.draft(1)[0] for each in following],
    }
    for first, second in itertools.combinations(streams, 2):
        cells = np.zeros((5, 5), dtype=int)
        for a, b in zip(streams[first], streams[second], strict=True):
            cells[int(5 * a), int(5 * b)] += 1
        statistic, freedom = chi_square(cells.ravel().tolist(), [1 / 25] * 25)
        assert statistic < chi_square_limit(freedom, FALSE_ALARM), (first, second)

"""The race clock: monotone, never past what both lanes have, at true speed in the end."""

from __future__ import annotations

import math

from mlx_specdec.errors import InvalidRequestError
from mlx_specdec.race.playhead import SLICE_SECONDS, Playhead

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule


class Wall:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


SECONDS = st.floats(0.0, 30.0)
RATES = st.floats(0.01, 8.0)


def test_a_finished_race_is_shown_at_true_speed() -> None:
    wall = Wall()
    playhead = Playhead(wall)
    playhead.feed(8.0, True)
    for seconds in (0.0, 0.5, 3.25, 7.9):
        wall.seconds = 100.0 + seconds
        assert playhead.now() == pytest.approx(seconds)
        assert not playhead.is_at_end
    wall.seconds = 108.5
    assert playhead.now() == 8.0
    assert playhead.is_at_end


def test_slow_motion_and_a_change_of_speed_in_the_middle() -> None:
    wall = Wall()
    playhead = Playhead(wall, 0.5)
    playhead.feed(10.0, True)
    wall.seconds += 4
    playhead.set_rate(2.0)
    assert playhead.now() == pytest.approx(2.0)
    wall.seconds += 1.5
    assert playhead.now() == pytest.approx(5.0)
    assert playhead.rate == 2.0


def test_paused_time_does_not_count() -> None:
    wall = Wall()
    playhead = Playhead(wall)
    playhead.feed(10.0, True)
    wall.seconds += 1
    playhead.pause()
    assert playhead.is_paused
    wall.seconds += 60
    assert playhead.now() == pytest.approx(1.0)
    playhead.resume()
    wall.seconds += 1
    assert playhead.now() == pytest.approx(2.0)


def test_a_seek_goes_where_there_is_something_and_runs_on() -> None:
    wall = Wall()
    playhead = Playhead(wall)
    playhead.feed(5.0, True)
    playhead.seek(3.0)
    assert playhead.now() == 3.0
    wall.seconds += 1
    assert playhead.now() == pytest.approx(4.0)
    playhead.seek(99.0)
    assert playhead.now() == 5.0
    playhead.seek(-1.0)
    assert playhead.now() == 0.0


def test_a_step_pauses_where_it_lands() -> None:
    wall = Wall()
    playhead = Playhead(wall)
    playhead.feed(5.0, True)
    playhead.step(2.5)
    wall.seconds += 10
    assert playhead.now() == 2.5
    assert playhead.is_paused


def test_it_waits_for_lanes_that_are_behind() -> None:
    wall = Wall()
    playhead = Playhead(wall, 2.0)
    wall.seconds += 5
    assert playhead.now() == 0.0
    playhead.feed(1.0, False)
    wall.seconds += 100
    assert 0.99 < playhead.now() <= 1.0
    assert not playhead.is_at_end


def test_slices_of_a_live_race_cannot_be_seen() -> None:
    """Two lanes on one device: half true speed on average, in steps of a slice."""
    wall = Wall()
    playhead = Playhead(wall, 0.5)
    steps, before = [], 0.0
    for tick in range(1, 241):
        wall.seconds = 100 + tick / 12
        playhead.feed(tick // 6 * SLICE_SECONDS, False)
        now = playhead.now()
        assert now <= tick // 6 * SLICE_SECONDS
        steps.append((now - before) * 12)
        before = now
    settled = steps[60:]
    assert 0.49 < sum(settled) / len(settled) < 0.51
    assert min(settled) > 0.35
    assert max(settled) <= 0.5 + 1e-9


def test_the_last_seconds_are_not_slowed_once_the_race_is_over() -> None:
    wall = Wall()
    playhead = Playhead(wall)
    playhead.feed(1.0, False)
    wall.seconds += 0.5
    assert playhead.now() == pytest.approx(0.5)
    wall.seconds += 0.25
    assert playhead.now() < 0.75
    playhead.feed(1.0, True)
    at = playhead.now()
    wall.seconds += 1.0 - at
    assert playhead.now() == pytest.approx(1.0)


def test_a_limit_is_never_taken_back_and_a_clock_set_back_loses_nothing() -> None:
    wall = Wall()
    playhead = Playhead(wall)
    playhead.feed(4.0, True)
    playhead.feed(1.0, False)
    wall.seconds += 3
    assert playhead.now() == pytest.approx(3.0)
    assert playhead.limit == 4.0
    assert playhead.is_final
    wall.seconds -= 50
    assert playhead.now() == pytest.approx(3.0)
    wall.seconds += 1
    assert playhead.now() == pytest.approx(4.0)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_speed_must_be_above_0(rate: float) -> None:
    with pytest.raises(InvalidRequestError):
        Playhead(Wall(), rate)
    playhead = Playhead(Wall())
    with pytest.raises(InvalidRequestError):
        playhead.set_rate(rate)


@given(st.lists(SECONDS, min_size=1, max_size=12), RATES)
def test_a_replay_shows_elapsed_time_times_its_rate_however_often_it_is_read(
    reads: list[float], rate: float
) -> None:
    wall = Wall()
    playhead = Playhead(wall, rate)
    playhead.feed(20.0, True)
    for elapsed in sorted(reads):
        wall.seconds = 100.0 + elapsed
        assert playhead.now() == pytest.approx(min(elapsed * rate, 20.0), abs=1e-6)


@given(st.lists(SECONDS, min_size=1, max_size=12), RATES, st.floats(0.1, 20.0))
def test_reading_more_often_changes_nothing_in_a_live_race(
    reads: list[float], rate: float, limit: float
) -> None:
    wall = Wall()
    often, once = Playhead(wall, rate), Playhead(wall, rate)
    for playhead in (often, once):
        playhead.feed(limit, False)
    for elapsed in sorted(reads):
        wall.seconds = 100.0 + elapsed
        often.now()
    assert often.now() == pytest.approx(once.now(), abs=1e-6)


class Driven(RuleBasedStateMachine):
    """Any order of keys and slices; only a seek or a step may take the race back."""

    def __init__(self) -> None:
        super().__init__()
        self.wall = Wall()
        self.playhead = Playhead(self.wall)
        self.limit = 0.0
        self.is_final = False
        self.seen = 0.0

    @rule(seconds=st.floats(0.0, 5.0))
    def time_passes(self, seconds: float) -> None:
        self.wall.seconds += seconds

    @precondition(lambda self: not self.is_final)
    @rule(more=st.floats(0.0, 3.0), is_final=st.booleans())
    def lanes_go_on(self, more: float, is_final: bool) -> None:
        self.limit += more
        self.is_final = is_final
        self.playhead.feed(self.limit, is_final)

    @rule(rate=RATES)
    def speed_changes(self, rate: float) -> None:
        self.playhead.set_rate(rate)

    @rule()
    def pause(self) -> None:
        self.playhead.pause()

    @rule()
    def resume(self) -> None:
        self.playhead.resume()

    @rule(at=st.floats(-1.0, 40.0), steps=st.booleans())
    def somewhere_else(self, at: float, steps: bool) -> None:
        (self.playhead.step if steps else self.playhead.seek)(at)
        self.seen = self.playhead.now()

    @invariant()
    def in_bounds_and_monotone(self) -> None:
        now = self.playhead.now()
        assert self.seen <= now <= self.limit
        assert self.playhead.is_at_end == (self.is_final and now == self.limit)
        self.seen = now


TestDriven = Driven.TestCase

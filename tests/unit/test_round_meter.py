"""Which rounds have a duration, and which are at an edge."""

from __future__ import annotations

from mlx_specdec.lookahead.round_meter import RoundMeter

import pytest


class Wall:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_rounds_after_a_switch_have_none() -> None:
    meter = RoundMeter(Wall())
    assert meter.read(1.0) is None
    assert meter.read(1.5) == 0.5
    meter.switch()
    assert meter.read(2.0) is None
    assert meter.read(2.25) == 0.25


def test_a_reader_that_comes_back_late_spoils_a_round_and_a_quick_one_does_not() -> None:
    """A lane that stood still meanwhile has a clock that does not show it: the wall's does."""
    wall = Wall()
    meter = RoundMeter(wall)
    meter.read(1.0)
    meter.leave()
    wall.now += 0.01
    meter.come_back()
    assert meter.read(1.5) == 0.5
    meter.leave()
    wall.now += 0.3
    meter.come_back()
    assert meter.read(2.0) is None
    assert meter.read(2.5) == 0.5


def test_after_a_pause_a_pipelined_loop_has_two_rounds_that_are_not_usual() -> None:
    """The first was done while the device had nothing else, the second could not be queued."""
    wall = Wall()
    meter = RoundMeter(wall)
    meter.switch(is_pipelined=True)
    meter.read(1.0)
    meter.leave()
    wall.now += 3
    meter.come_back()
    assert meter.read(1.1) is None
    assert meter.read(1.9) is None
    assert meter.read(2.4) == pytest.approx(0.5)

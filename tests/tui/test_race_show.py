"""RaceShow: photo finish, pause, scrub and replay, all on a clock that the test moves."""

from __future__ import annotations

from mlx_specdec.events import Failed
from tests.race_screens import FakeFeed, MovedClock, golden
from tui.race.show import PHOTO_SECONDS, RaceShow, suitable_rate

import pytest


def played(show: RaceShow, clock: MovedClock, seconds: float) -> list[float]:
    """Race seconds shown, ten times a wall second."""
    shown = []
    for _ in range(round(seconds * 10)):
        clock.seconds += 0.1
        shown.append(show.tick().seconds)
    return shown


def test_freezes_at_the_photo_finish_then_goes_on_to_the_end() -> None:
    clock, recording = MovedClock(), golden("fable")
    first_in = recording.speculative[-1].at
    show = RaceShow(recording.header, clock, 1.0, recording=recording)
    seen = played(show, clock, 20)
    frozen = [second for second in seen if second == first_in]
    assert len(frozen) == pytest.approx(PHOTO_SECONDS * 10, abs=2)
    assert seen == sorted(seen)
    assert seen[-1] == recording.standard[-1].at
    assert show.is_over


def test_is_a_photo_only_while_it_stands() -> None:
    clock, recording = MovedClock(), golden("fable")
    show = RaceShow(recording.header, clock, 1.0, recording=recording)
    seen = []
    for seconds in (6, 1, 2):
        played(show, clock, seconds)
        seen.append(show.is_photo)
    assert seen == [False, True, False]


def test_both_in_at_once_freezes_nothing() -> None:
    clock, recording = MovedClock(), golden("parked")
    show = RaceShow(recording.header, clock, 1.0, recording=recording)
    played(show, clock, 5.2)
    assert show.is_over
    assert not show.is_photo


def test_a_pause_stands_still_and_ends_a_photo() -> None:
    clock, recording = MovedClock(), golden("fable")
    show = RaceShow(recording.header, clock, 1.0, recording=recording)
    played(show, clock, 7)
    show.toggle_pause()
    assert not show.is_photo
    assert set(played(show, clock, 5)) == {recording.speculative[-1].at}
    show.toggle_pause()
    assert played(show, clock, 1)[-1] > recording.speculative[-1].at


def test_scrubs_pass_by_pass_and_back() -> None:
    clock, recording = MovedClock(), golden("fable")
    show = RaceShow(recording.header, clock, 1.0, recording=recording)
    played(show, clock, 30)
    passes = show.tick().speculative.num_passes
    show.scrub(-1)
    show.scrub(-1)
    assert show.tick().speculative.num_passes == passes - 1
    show.scrub(1)
    assert show.tick().speculative.num_passes == passes
    for _ in range(passes + 5):
        show.scrub(-1)
    assert show.tick().seconds == 0.0


def test_a_live_race_never_passes_what_has_arrived() -> None:
    clock, recording = MovedClock(), golden("fable")
    feed = FakeFeed(recording.in_order(), until=2.0)
    show = RaceShow(recording.header, clock, 1.0, source=feed)
    assert max(played(show, clock, 10)) <= 2.0
    assert not show.is_complete
    feed.arrive(100)
    assert played(show, clock, 30)[-1] == recording.standard[-1].at
    assert show.recording.standard == recording.standard


def test_watching_again_begins_at_zero_at_the_new_rate() -> None:
    clock, recording = MovedClock(), golden("tiny")
    show = RaceShow(recording.header, clock, 0.05, recording=recording)
    played(show, clock, 30)
    show.watch_again(1.0)
    assert show.tick().seconds == 0.0
    assert played(show, clock, 0.5)[-1] == pytest.approx(0.5)


def test_a_failure_on_the_way_ends_the_race() -> None:
    clock, recording = MovedClock(), golden("fable")
    items = [*list(recording.in_order())[:20], Failed("X", "It broke", "A reason", "A fix", 9.0)]
    show = RaceShow(recording.header, clock, 1.0, source=FakeFeed(items))
    played(show, clock, 10)
    assert show.failure is not None
    assert show.is_complete
    assert show.is_over


@pytest.mark.parametrize(
    ("seconds", "rate"), [(0.9, 0.05), (0.3, 0.02), (5.0, 0.5), (10.7, 1.0), (40.0, 1.0)]
)
def test_a_race_lasts_at_most_twenty_seconds_on_the_screen(seconds: float, rate: float) -> None:
    assert suitable_rate(seconds) == rate

"""What is seen of a lane at one second."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from mlx_specdec.events import Failed, Finished, Prefilled, Round
from mlx_specdec.race.lane_track import LaneTrack, race_limit
from mlx_specdec.race.recording import Recording, read_recording_file

import pytest
from hypothesis import given
from hypothesis import strategies as st

GOLDEN = Path(__file__).parents[1] / "golden"
FABLE = read_recording_file(GOLDEN / "race_fable.jsonl")
TINY = read_recording_file(GOLDEN / "race_tiny.jsonl")
RACES = [FABLE, TINY, read_recording_file(GOLDEN / "race_parked.jsonl")]


def rounds(recording: Recording) -> list[Round]:
    return [event for event in recording.speculative if isinstance(event, Round)]


def test_nothing_is_seen_before_the_prompt_is_read() -> None:
    track = LaneTrack(FABLE.speculative)
    moment = track.at(0.1)
    assert (moment.num_tokens, moment.text, moment.prefill_seconds) == (0, "", None)
    assert moment.tokens_per_second is None
    assert moment.tokens_per_pass is None
    assert not moment.is_finished
    moment = track.at(0.36)
    assert moment.prefill_seconds == 0.355
    assert moment.num_tokens == 0


def test_a_round_is_seen_from_its_own_second_on() -> None:
    track = LaneTrack(FABLE.speculative)
    for before, event in pairwise(rounds(FABLE)):
        just = track.at(event.at - 1e-9)
        assert just.rounds[-1] == before
        assert just.under_way == event
        assert just.under_way_since == before.at
        assert just.pending == event.proposed
        assert track.at(event.at).rounds[-1] == event


def test_at_the_end_the_figures_are_those_of_metrics() -> None:
    for race in RACES:
        for name in ("standard", "speculative"):
            moment, whole = LaneTrack(race.lane(name)).at(1e9), race.metrics(name)
            assert moment.tokens_per_second == whole.tokens_per_second
            assert moment.seconds_per_token == whole.seconds_per_token
            assert moment.tokens_per_pass == whole.tokens_per_target_pass
            assert moment.num_tokens == whole.emitted_tokens
            assert moment.num_passes == whole.target_passes
            assert moment.finish_reason == whole.finish_reason
            assert moment.metrics.by_position == whole.by_position
            assert moment.is_finished
            assert moment.pending == ()


@given(st.sampled_from(RACES), st.lists(st.floats(0.0, 12.0), min_size=2, max_size=6))
def test_time_only_adds_and_the_past_does_not_depend_on_the_future(
    race: Recording, seconds: list[float]
) -> None:
    whole = LaneTrack(race.speculative)
    for earlier, later in pairwise(sorted(seconds)):
        one, other = whole.at(earlier), whole.at(later)
        assert other.emitted[: one.num_tokens] == one.emitted
        assert other.text.startswith(one.text)
        assert one.text == "".join(token.text for token in one.emitted)
        known = LaneTrack(event for event in race.speculative if event.at <= earlier)
        assert known.at(earlier).emitted == one.emitted
        assert known.at(earlier).is_finished == one.is_finished


def test_events_that_come_later_are_taken_in() -> None:
    track = LaneTrack()
    assert (track.clock, track.is_finished) == (0.0, False)
    for event in TINY.speculative:
        track.add(event)
        assert track.clock == event.at
        moment = track.at(event.at)
        if isinstance(event, Round):
            assert moment.rounds[-1] == event
            assert moment.pending == ()
    assert track.is_finished
    assert track.at(1e9).emitted == LaneTrack(TINY.speculative).at(1e9).emitted


def test_held_back_text_comes_with_the_end() -> None:
    events = (*FABLE.standard[:5], Finished("stop", 2.0, " held"))
    track = LaneTrack(events)
    assert not track.at(1.9).text.endswith(" held")
    assert track.at(2.0).text.endswith(" held")
    assert track.at(2.0).finished_at == 2.0


def test_a_round_of_four_counts_four_and_so_does_a_token_without_text() -> None:
    event = next(each for each in rounds(FABLE) if len(each.emitted) == 4)
    held = replace(event, emitted=(replace(event.emitted[0], text=""), *event.emitted[1:]))
    before, after = LaneTrack([*rounds(FABLE)[:1]]), LaneTrack([*rounds(FABLE)[:1], held])
    assert after.at(99).num_tokens == before.at(99).num_tokens + 4
    assert after.at(99).tokens_per_pass == 4.0


def test_an_error_ends_a_lane_with_its_words() -> None:
    track = LaneTrack((*FABLE.standard[:5], Failed("X", "Title", "It broke.", "Mend it.", 2.0)))
    moment = track.at(2.0)
    assert (moment.finish_reason, moment.failure) == ("failed", "It broke.")
    assert moment.is_finished


def test_why_nothing_is_drafted() -> None:
    parked = LaneTrack(RACES[2].speculative)
    assert parked.at(1.0).note == "a pass over 2 rows costs 1.7 of one here"
    assert LaneTrack(FABLE.speculative).at(1.0).note == ""


def test_steps_go_from_round_to_round_and_stop_at_both_ends() -> None:
    track = LaneTrack(FABLE.speculative)
    ends = [event.at for event in rounds(FABLE)]
    seen, at = [], 0.0
    while (following := track.round_after(at)) is not None:
        seen.append(following)
        at = following
    assert seen == ends
    back = []
    while (before := track.round_before(at)) is not None:
        back.append(before)
        at = before
    assert back == ends[-2::-1]
    assert track.round_before((ends[0] + ends[1]) / 2) == ends[0]


def test_a_race_is_shown_as_far_as_both_lanes_have_come() -> None:
    prompt = Prefilled(4, 0, 0.5, 0.5)
    one, other = LaneTrack([prompt]), LaneTrack()
    assert race_limit(one, other) == (0.0, False)
    other.add(replace(prompt, at=0.4))
    assert race_limit(one, other) == (0.4, False)
    other.add(Finished("length", 2.0))
    assert race_limit(one, other) == (0.5, False)
    one.add(replace(rounds(FABLE)[0], at=3.0))
    assert race_limit(one, other) == (3.0, False)
    one.add(Finished("length", 4.0))
    assert race_limit(one, other) == (4.0, True)


@pytest.mark.parametrize("race", RACES)
def test_a_live_limit_never_falls(race: Recording) -> None:
    tracks = {"standard": LaneTrack(), "speculative": LaneTrack()}
    last = 0.0
    for item in race.in_order():
        tracks[item.lane].add(item.event)
        limit, is_final = race_limit(tracks["standard"], tracks["speculative"])
        assert limit >= last
        last = limit
    assert is_final

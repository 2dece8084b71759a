"""A recorded race on another chip's clock: the words stay, the seconds are the published ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from mlx_specdec.costs.machines import CHIPS, Chip
from mlx_specdec.costs.pair_costs import published_costs
from mlx_specdec.errors import InvalidRequestError
from mlx_specdec.events import Finished, Prefilled, Round
from mlx_specdec.race.lane_track import LaneTrack
from mlx_specdec.race.moment import RaceMoment, race_moment
from mlx_specdec.race.recording import LANES, Recording, read_recording_file
from mlx_specdec.race.retiming import chip_named, retimed, retimed_label
from mlx_specdec.race.words import NEVER_DRAFTED
from mlx_specdec.registry import Registry

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
FABLE, TINY, PARKED = (
    read_recording_file(GOLDEN / f"race_{name}.jsonl") for name in ("fable", "tiny", "parked")
)
PAIR = Registry.load().resolve_pair("qwen3-14b", "qwen3-0.6b")


def rounds(race: Recording, lane: str) -> list[Round]:
    return [event for event in race.lane(lane) if isinstance(event, Round)]


def end_of(race: Recording) -> RaceMoment:
    tracks = LaneTrack(race.standard), LaneTrack(race.speculative)
    return race_moment(race.header, *tracks, 1e9)


@pytest.mark.parametrize("race", [FABLE, TINY], ids=["fable", "tiny"])
@pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS)
def test_the_words_stay_and_each_lane_is_a_lane(race: Recording, chip: Chip) -> None:
    again = retimed(race, chip)
    for lane in LANES:
        before, after = race.lane(lane), again.lane(lane)
        assert LaneTrack(after).at(1e9).text == LaneTrack(before).at(1e9).text
        ats = [event.at for event in after]
        assert ats == sorted(ats)
        assert isinstance(after[0], Prefilled)
        assert isinstance(after[-1], Finished)
        assert after[-1].at == after[-2].at


def test_15_against_27_on_an_m3_pro() -> None:
    end = end_of(retimed(FABLE, CHIPS["m3-pro"]))
    assert end.standard.tokens_per_second == pytest.approx(15.7, abs=0.1)
    assert end.speculative.tokens_per_second == pytest.approx(25.6, abs=0.1)
    assert "the 14B" in end.sentence()
    fast = end_of(retimed(FABLE, CHIPS["m5-max"]))
    assert fast.standard.tokens_per_second == pytest.approx(63.6, abs=0.2)


def test_a_round_costs_what_the_table_says() -> None:
    chip = CHIPS["m3-max"]
    costs = published_costs(chip, PAIR.target, PAIR.draft)
    assert costs is not None
    again = retimed(FABLE, chip)
    drafted = rounds(again, "speculative")
    waking = drafted[1].timings.draft_prefill_seconds
    assert waking > 0
    for before, event in pairwise(drafted):
        context = event.position - 1
        expected = costs.cycle_seconds(len(event.proposed), context)
        extra = waking if event.index == 1 else 0.0
        assert event.at - before.at == pytest.approx(expected + extra)
        parts = event.timings
        whole = parts.wait_seconds + parts.after_seconds + parts.draft_prefill_seconds
        assert whole == pytest.approx(event.at - before.at)
    for before, event in pairwise(rounds(again, "standard")):
        expected = costs.cycle_seconds(0, event.position - 1)
        assert event.at - before.at == pytest.approx(expected)


def test_what_is_guessed_and_kept_is_as_recorded_where_drafting_pays() -> None:
    again = retimed(TINY, CHIPS["m3-pro"])
    for before, after in zip(
        rounds(TINY, "speculative"), rounds(again, "speculative"), strict=True
    ):
        assert replace(after, at=0.0, timings=before.timings) == replace(before, at=0.0)
    assert again.metrics("speculative").by_position == TINY.metrics("speculative").by_position


@pytest.mark.parametrize("name", ["m1", "m2", "m2-max"])
def test_where_nothing_pays_the_lane_is_parked_with_the_reason(name: str) -> None:
    again = retimed(TINY, CHIPS[name])
    end = end_of(again)
    assert end.is_parked
    assert end.speedup == pytest.approx(1.0)
    assert end.speculative.note == "a pass over 2 rows costs 1.7 of one here"
    assert end.sentence().startswith(f"Drafting does not pay on an {CHIPS[name].label}")
    assert end.equality.difference is None
    parked = rounds(again, "speculative")
    assert [event.index for event in parked] == list(range(len(end.speculative.emitted)))
    assert [event.position for event in parked] == [
        parked[0].position + event.index for event in parked
    ]
    assert {token.kind for event in parked for token in event.emitted} == {"sampled"}
    assert LaneTrack(again.speculative).clock == pytest.approx(LaneTrack(again.standard).clock)


def test_other_reasons_to_park() -> None:
    registry = Registry.load()
    equals = registry.resolve_pair("qwen3-0.6b", "qwen3-0.6b")
    end = end_of(retimed(FABLE, CHIPS["m3-pro"], equals))
    assert end.speculative.note == "the draft's pass costs 1.00 of the target's here"
    never = [
        replace(event, num_accepted=0, emitted=event.emitted[-1:])
        if isinstance(event, Round) and event.proposed
        else event
        for event in FABLE.speculative
    ]
    end = end_of(retimed(replace(FABLE, speculative=tuple(never)), CHIPS["m5-max"]))
    assert end.speculative.note == "too few guesses are kept for what checking them costs here"


def test_a_race_without_drafting_cannot_show_it_on_another_clock() -> None:
    end = end_of(retimed(PARKED, CHIPS["m5-max"]))
    assert end.is_parked
    assert end.speculative.note == NEVER_DRAFTED


def test_the_label_says_that_nothing_was_measured_and_whose_sizes_were_priced() -> None:
    toy = retimed(TINY, CHIPS["m5-max"]).header
    assert retimed_label(toy) == (
        "re-timed, not measured: published costs of M5 Max with qwen3-14b and qwen3-0.6b"
    )
    assert (toy.machine, toy.chip, toy.power) == ("M5 Max, re-timed", "m5-max", "")
    own = retimed(FABLE, CHIPS["m3-pro"]).header
    assert retimed_label(own) == (
        "re-timed, not measured: published costs of M3 Pro (scaled from its generation)"
    )
    assert retimed_label(FABLE.header) == ""
    unknown = replace(FABLE, header=replace(FABLE.header, target="nobody/knows-4bit"))
    assert "with qwen3-14b" in retimed(unknown, CHIPS["m5-max"]).header.retimed
    gone = replace(FABLE, header=replace(FABLE.header, target="/no/such/folder/at/all"))
    assert "with qwen3-14b" in retimed(gone, CHIPS["m5-max"]).header.retimed


def test_a_lookahead_past_the_table_goes_on_at_its_last_step() -> None:
    event = next(e for e in rounds(FABLE, "speculative") if e.num_accepted == 3)
    wide = replace(event, proposed=(event.proposed * 4)[:11])
    race = replace(FABLE, speculative=(FABLE.speculative[0], wide, FABLE.speculative[-1]))
    chip = CHIPS["m5-max"]
    costs = published_costs(chip, PAIR.target, PAIR.draft)
    assert costs is not None
    context = event.position - 1
    step = costs.cycle_seconds(8, context) - costs.cycle_seconds(7, context)
    got = rounds(retimed(race, chip), "speculative")[0].timings
    assert got.wait_seconds + got.after_seconds == pytest.approx(
        costs.cycle_seconds(8, context) + 3 * step
    )


@pytest.mark.parametrize("name", ["m3-pro", "M3 Pro", "m3_pro", " M3-PRO ", "Apple M3 Pro"])
def test_a_chip_may_be_written_in_several_ways(name: str) -> None:
    assert chip_named(name) is CHIPS["m3-pro"]


@pytest.mark.parametrize(
    ("name", "hint"), [("m3pro", "Did you mean m3-pro?"), ("rtx", "Known: m1, m1-pro")]
)
def test_an_unknown_chip_is_answered_with_those_there_are(name: str, hint: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        chip_named(name)
    assert hint in caught.value.hint
    assert "m5-max" in caught.value.hint

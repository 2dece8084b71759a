"""Both lanes at one second: the speedup, the comparison, and the sentence that says it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mlx_specdec.events import Emitted, Event, Failed, Finished, Prefilled, Proposed, Round, Timings
from mlx_specdec.metrics import speedup
from mlx_specdec.race.lane_track import LaneTrack
from mlx_specdec.race.moment import MEANINGFUL_TOKENS, RaceMoment, race_moment
from mlx_specdec.race.recording import Recording, RecordingHeader, read_recording_file
from mlx_specdec.race.words import NEVER_DRAFTED, draft_word, target_word

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
FABLE, TINY, PARKED, DIFFERENT = (
    read_recording_file(GOLDEN / f"race_{name}.jsonl")
    for name in ("fable", "tiny", "parked", "different")
)
SIZED = FABLE.header


def moment_of(race: Recording, seconds: float) -> RaceMoment:
    return race_moment(race.header, LaneTrack(race.standard), LaneTrack(race.speculative), seconds)


def lane(step: float, *, drafted: int = 0, tokens: int = 60, shift: int = 10**9) -> list[Event]:
    """A lane with a round each ``step`` seconds; tokens from ``shift`` on are others."""
    events: list[Event] = [Prefilled(4, 0, 0.5, 0.5)]
    written, at = 0, 0.5
    while written < tokens:
        at += step
        count = min(1 + (drafted if written else 0), tokens - written)
        ids = range(written, written + count)
        events.append(
            Round(
                index=len(events) - 1,
                position=4 + written,
                lookahead=drafted if written else 0,
                proposed=tuple(Proposed(i, "x", 0.5, 0.5) for i in ids[:-1]),
                checks=(),
                num_accepted=count - 1,
                emitted=tuple(Emitted(i + 500 * (i >= shift), f"w{i} ", "sampled", 2) for i in ids),
                timings=Timings(),
                at=at,
            )
        )
        written += count
    return [*events, Finished("length", at)]


def moment(
    standard: list[Event],
    speculative: list[Event],
    seconds: float = 1e9,
    header: RecordingHeader = SIZED,
) -> RaceMoment:
    return race_moment(header, LaneTrack(standard), LaneTrack(speculative), seconds)


def test_the_photo_finish_of_the_drawing() -> None:
    at_the_line = moment_of(FABLE, LaneTrack(FABLE.speculative).clock)
    assert at_the_line.is_photo_finish
    assert at_the_line.sentence() == (
        "Same words, 1.80 times sooner: the 14B made 60 passes; standard will need 159, "
        "and 4.6 s more."
    )
    assert (at_the_line.equality.num_equal, at_the_line.equality.num_compared) == (89, 89)
    left = LaneTrack(FABLE.standard).clock - at_the_line.seconds
    assert at_the_line.seconds_left == pytest.approx(left, abs=0.1)
    end = moment_of(FABLE, 99)
    assert end.sentence() == "Same words, 1.80 times sooner: 60 passes of the 14B instead of 159."
    assert end.equality.num_equal == 160
    assert end.acceptance_rate == 99 / 136
    assert len(end.acceptance_by_position) == 3


def test_a_toy_is_called_the_target() -> None:
    end = moment_of(TINY, 99)
    assert "35 passes of the target instead of 92" in end.sentence()
    assert target_word(SIZED) == "the 14B"
    assert draft_word(SIZED) == "the 0.6B"
    unknown = RecordingHeader("some/model", "other")
    assert (target_word(unknown), draft_word(unknown)) == ("the target", "the draft")


def test_the_speedup_is_blank_until_both_lanes_have_enough() -> None:
    for race in (FABLE, TINY):
        standard, speculative = LaneTrack(race.standard), LaneTrack(race.speculative)
        ends = [event.at for event in standard.rounds]
        for at in ends:
            now = race_moment(race.header, standard, speculative, at)
            few = now.standard.num_tokens < MEANINGFUL_TOKENS
            assert (now.speedup is None) == few
            if few:
                assert now.sentence().startswith(("Just started", "Both lanes read"))
        metrics = [race.metrics(name) for name in ("standard", "speculative")]
        assert moment_of(race, 99).speedup == pytest.approx(speedup(*metrics))


def test_before_the_first_token() -> None:
    assert moment_of(FABLE, 0.2).sentence() == "Both lanes read the prompt first."


def test_running_ahead() -> None:
    assert moment_of(FABLE, 2.5).sentence() == (
        "Running ahead, 1.68 times as fast: 53 tokens for 21 passes of the 14B, standard 33 for 32."
    )


def test_running_at_the_same_speed_and_slower() -> None:
    even = moment(lane(0.1), lane(0.2, drafted=1), 4)
    assert even.sentence().startswith("As fast as standard so far: 33 tokens against")
    behind = moment(lane(0.1), lane(0.22, drafted=1), 4)
    assert behind.sentence() == (
        "Slower here: 0.91 times; 2.0 tokens a pass do not pay for the drafting so far."
    )


def test_slower_at_the_line_and_at_the_end() -> None:
    standard, slow = lane(0.1), lane(0.22, drafted=1)
    line = moment(standard, slow, 6.6)
    assert line.standard.is_finished
    assert not line.speculative.is_finished
    assert line.sentence().startswith("Slower here: 0.91 times; 2.0 tokens a pass do not pay")
    assert line.sentence().endswith("; drafting needs 0.8 s more.")
    assert moment(standard, slow).sentence() == (
        "Slower here: 0.89 times; 2.0 tokens a pass do not pay for the drafting."
    )


def test_the_same_speed_at_the_end() -> None:
    end = moment(lane(0.1), lane(0.2, drafted=1))
    assert end.sentence().startswith("Same words at the same speed (0.98 times): 30 passes")


def test_parked_loses_nothing() -> None:
    for seconds in (0.5, 2.0, 99.0):
        now = moment_of(PARKED, seconds)
        assert now.is_parked
        assert now.acceptance_rate is None
        assert now.sentence() == (
            "Drafting does not pay on this machine, so it is parked and nothing is lost."
        )
    header = replace(PARKED.header, retimed="M2", chip="m2")
    assert "does not pay on an M2" in moment_of(replace(PARKED, header=header), 9).sentence()


def test_drafting_that_was_switched_off_is_not_blamed_on_the_machine() -> None:
    off = replace(PARKED, header=replace(PARKED.header, lookahead="0"))
    assert moment_of(off, 9).sentence() == "Drafting is switched off: both lanes do the same."


def test_a_recording_without_drafting_says_so_on_another_clock() -> None:
    events = [
        replace(event, note=NEVER_DRAFTED) if isinstance(event, Round) else event
        for event in PARKED.speculative
    ]
    said = moment_of(replace(PARKED, speculative=tuple(events)), 9).sentence()
    assert said.startswith("Nothing was drafted when this was recorded")


def test_where_the_texts_part() -> None:
    end = moment_of(DIFFERENT, 99)
    found = end.equality.difference
    assert found is not None
    assert (found.index, found.standard, found.speculative) == (134, " sunset", " evening")
    assert end.equality.num_equal == 134
    assert end.sentence().startswith("Different from token 135 on (gap 0.02), 1.80 times as fast")
    before = moment_of(DIFFERENT, 6.0)
    assert before.equality.difference is None
    assert before.equality.num_compared < 134


def test_a_difference_while_the_lanes_run_and_at_the_line() -> None:
    standard, other = lane(0.1), lane(0.11, drafted=1, shift=20)
    running = moment(standard, other, 3.5)
    assert running.sentence() == "Different from token 21 on (gap 2); 1.82 times as fast so far."
    line = moment(standard, other, LaneTrack(other).clock)
    assert line.seconds_left is None
    assert line.sentence().startswith("Different from token 21 on (gap 2); 1.79 times as fast: 30")


def test_a_rule_that_draws_anew_is_not_reported_as_a_fault() -> None:
    header = replace(SIZED, temperature=0.8, rule="rejection")
    end = moment(lane(0.1), lane(0.11, drafted=1, shift=20), header=header)
    assert end.sentence().startswith("Other words from token 21 on, by the same odds, 1.79 times")


def test_one_text_longer_than_the_other_is_a_difference_only_at_the_end() -> None:
    standard, longer = lane(0.1, tokens=40), lane(0.11, drafted=1, tokens=44)
    assert moment(standard, longer, 3.0).equality.difference is None
    found = moment(standard, longer).equality.difference
    assert found is not None
    assert (found.index, found.standard) == (40, "")


def test_a_short_answer_and_a_broken_race() -> None:
    short = moment(lane(0.1, tokens=5), lane(0.2, drafted=1, tokens=5))
    assert short.speedup is None
    assert short.sentence() == "Same words; the answer is too short to compare speeds."
    broken = [*lane(0.1)[:9], Failed("X", "T", "It broke.", "", 2.0)]
    assert moment(broken, lane(0.1)).sentence() == "The race broke off: It broke."


def test_a_stopped_race_keeps_what_it_has() -> None:
    standard = [*lane(0.1)[:31], Finished("cancelled", 4.0)]
    speculative = [*lane(0.1, drafted=1)[:31], Finished("cancelled", 4.0)]
    assert moment(standard, speculative).sentence() == (
        "Stopped at 59 tokens with drafting and 30 without; so far 2.00 times as fast."
    )
    early = moment([Finished("cancelled", 0.0)], [Finished("cancelled", 0.0)])
    assert early.sentence() == "Stopped at 0 tokens with drafting and 0 without."


@pytest.mark.parametrize("race", [FABLE, TINY, PARKED, DIFFERENT])
def test_every_second_has_one_sentence(race: Recording) -> None:
    standard, speculative = LaneTrack(race.standard), LaneTrack(race.speculative)
    for step in range(60):
        said = race_moment(race.header, standard, speculative, step / 5).sentence()
        assert said.endswith(".")
        assert "None" not in said
        assert "\n" not in said
        assert len(said) < 120


@pytest.mark.parametrize(
    ("note", "sentence"),
    [
        ("measuring a plain pass", "Nothing was copied so far, and nothing is lost."),
        ("not copying: x", "Not copying: x, so it is parked and nothing is lost."),
    ],
)
def test_a_parked_copying_lane_gives_its_reason_where_it_has_one(note: str, sentence: str) -> None:
    events = [
        replace(event, note=note) if isinstance(event, Round) else event
        for event in PARKED.speculative
    ]
    header = replace(PARKED.header, draft="copy")
    now = moment_of(replace(PARKED, header=header, speculative=tuple(events)), 9)
    assert now.sentence() == sentence

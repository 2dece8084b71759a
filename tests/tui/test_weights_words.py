"""What is said of other weight formats: the table, the sources, the row of the parked race."""

from __future__ import annotations

from dataclasses import replace

from mlx_specdec.costs.machines import DEFAULT_ACCEPTANCE
from mlx_specdec.forecast.format_table import TimedFormats
from mlx_specdec.forecast.weight_formats import FORMATS
from tests.forecasts import FLAT_ROWS, FLOAT32, SLOW_ROWS, format_row, timed_formats
from tests.race_screens import golden
from tui.race.seen_acceptance import KeptShare, SeenAcceptance
from tui.race.weights_words import COLUMNS, WeightsView, found_words
from tui.screens.weights import weights_rows

import pytest

ASSUMED = KeptShare(DEFAULT_ACCEPTANCE, "75 % of checked guesses kept", is_assumed=True)
STORED, MXFP4 = FORMATS[0], FORMATS[3]
PAYS, NONE_PAYS = timed_formats(FLAT_ROWS, FLAT_ROWS), timed_formats(SLOW_ROWS)


def view(found: TimedFormats, kept: KeptShare = ASSUMED) -> WeightsView:
    return WeightsView(found, kept, "M2 16 GB", "qwen3-0.6b")


def test_a_row_a_format_with_what_drafting_would_bring() -> None:
    head, *rows = (" ".join(row.split()) for row in view(PAYS).table())
    assert head == "a pass over tokens 1 2 4 8 does drafting pay"
    assert len(rows) == 5
    assert rows[0] == "affine 4-bit g64 (stored) 30.1 ms 1.74x 3.11x 5.60x no, 0.89x, 1 ahead"
    assert rows[3] == "mxfp4 28.7 ms 1.08x 1.40x 2.60x yes, 1.43x, 2 ahead"


def test_what_is_gained_follows_the_acceptance() -> None:
    poor = view(PAYS, KeptShare(0.1, "10 % kept"))
    assert "no, 0." in poor.table()[4]
    assert not poor.choice.makes_drafting_pay
    rich = view(PAYS, KeptShare(0.95, "95 % kept"))
    assert "yes, 1.88x, 3 ahead" in rich.table()[4]


def test_a_format_that_is_not_there_says_why() -> None:
    row = view(NONE_PAYS).table()[-1]
    assert "not here: [quantized_matmul]" in row
    assert len(row) <= COLUMNS


def test_widths_that_time_did_not_reach_stay_open() -> None:
    short = replace(PAYS, formats=(format_row(STORED, 0.5, (1.0, 1.9)),))
    assert " ".join(view(short).table()[1].split()).endswith("500 ms 1.90x - - no, 0.91x, 1 ahead")


def test_measured_and_assumed_are_told_apart() -> None:
    (_, measured), (_, assumed) = view(PAYS).sources()
    assert "passes over 1 to 9 tokens" in measured
    assert "a pass of the draft, 5.0 ms" in measured
    assert assumed.startswith("75 % of checked guesses kept; 512 tokens of context")
    seen = KeptShare(0.64, "64 % of checked guesses kept, as in this race (64 of 100)")
    (_, measured), (_, assumed) = view(replace(PAYS, interpolated=(6, 8)), seen).sources()
    assert "64 % of checked guesses kept" in measured
    assert "passes over 1, 2, 3, 4, 5, 7, 9 tokens" in measured
    assert "passes over 6, 8 tokens, on a line between their neighbours" in assumed
    assert "kept" not in assumed


def test_the_command_can_be_pasted_and_its_result_loaded() -> None:
    *command, then = view(PAYS).command_lines()
    assert " ".join(line.removesuffix(" \\") for line in command) == view(PAYS).verdict[1]
    assert all(line.endswith(" \\") for line in command[:-1])
    assert then == "then m, and type Qwen3-4B-mxfp4+qwen3-0.6b"
    assert view(NONE_PAYS).command_lines() == []


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (PAYS, "other weights: with mxfp4 drafting would pay, 1.43x"),
        (NONE_PAYS, "other weights: timed, and none would be faster here"),
        (
            timed_formats(FLAT_ROWS, held=FLOAT32),
            "other weights: all are held as float32 here, so none helps",
        ),
        (replace(PAYS, formats=PAYS.formats[1:]), "other weights: they could not be timed here"),
        (
            replace(PAYS, formats=(format_row(STORED, 9.0, SLOW_ROWS),)),
            "other weights: none helps here, affine 4-bit g64 is the quickest",
        ),
        (
            replace(
                PAYS,
                formats=(PAYS.formats[0], format_row(MXFP4, 0.02, SLOW_ROWS)),
            ),
            "other weights: with mxfp4 it would be 1.51 times as fast",
        ),
    ],
)
def test_the_parked_race_says_what_was_found(found: TimedFormats, words: str) -> None:
    assert found_words(view(found)) == words
    assert len(words) <= 70


@pytest.mark.parametrize("found", [PAYS, NONE_PAYS, replace(PAYS, interpolated=(3, 4, 6, 8))])
def test_the_page_fits_76_columns(found: TimedFormats) -> None:
    assert max(row.cell_length for row in weights_rows(view(found))) <= COLUMNS


def test_held_as_floats_no_gain_is_promised() -> None:
    rows = view(timed_formats(FLAT_ROWS, FLAT_ROWS, held=FLOAT32)).table()[1:]
    assert all(row.endswith("   -") for row in rows)


def test_the_acceptance_is_the_races_own_then_an_earlier_ones_then_assumed() -> None:
    from mlx_specdec.race.lane_track import LaneTrack
    from mlx_specdec.race.moment import RaceMoment, race_moment

    def at_the_end(name: str) -> RaceMoment:
        race = golden(name)
        return race_moment(
            race.header, LaneTrack(race.standard), LaneTrack(race.speculative), 100.0
        )

    drafted, parked = at_the_end("fable"), at_the_end("parked")
    same_pair = replace(parked, header=replace(parked.header, target=drafted.header.target))
    seen = SeenAcceptance()
    assert seen.of(same_pair).is_assumed
    assert seen.of(same_pair).words == "75 % of checked guesses kept (this race drafted nothing)"
    seen.see(parked)
    seen.see(drafted)
    assert seen.of(drafted).words == "73 % of checked guesses kept, as in this race (99 of 136)"
    assert seen.of(same_pair).rate == pytest.approx(99 / 136)
    assert "an earlier race of this pair (99 of 136)" in seen.of(same_pair).words
    assert seen.of(parked).is_assumed

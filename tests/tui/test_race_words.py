"""The small words and pictures of the race screen, from plain values."""

from __future__ import annotations

from mlx_specdec.race.lane_track import LaneTrack
from mlx_specdec.race.moment import RaceMoment, race_moment
from mlx_specdec.race.recording import Recording
from tests.race_screens import golden
from tui.widgets.big_figures import big_rows
from tui.widgets.race_bars import bar
from tui.widgets.race_pane import guess_pieces, shared_top
from tui.widgets.race_prompt import one_row
from tui.widgets.race_tape import seconds_per_column, tape_rows
from tui.widgets.race_words import (
    acceptance_words,
    equality_words,
    positions_words,
    speed_words,
)
from tui.widgets.top_line import fitted

import pytest


def moment_of(recording: Recording, seconds: float) -> RaceMoment:
    tracks = LaneTrack(recording.standard), LaneTrack(recording.speculative)
    return race_moment(recording.header, *tracks, seconds)


def test_big_figures_are_three_rows_of_one_width() -> None:
    rows = big_rows("27.7", 12)
    assert [len(row) for row in rows] == [12, 12, 12]
    assert rows == ("  ╶─╮╶─┐ ╶─┐", "  ┌─┘  │   │", "  ╰─╴  ╵•  ╵")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.501, 1.0, 1.7, -1.0])
def test_a_bar_always_has_its_width(share: float) -> None:
    assert len("".join(bar(share, 40))) == 40


@pytest.mark.parametrize(
    ("rate", "words"),
    [(1.0, "true speed"), (0.5, "half speed"), (0.05, "1/20 speed"), (0.02, "1/50 speed")],
)
def test_speeds_in_words(rate: float, words: str) -> None:
    assert speed_words(rate) == words


def test_f2_acceptance_says_of_how_many_it_is() -> None:
    moment = moment_of(golden("fable"), 100)
    assert acceptance_words(moment, True) == "accepted  73 % (99 of 136)"
    assert acceptance_words(moment, False) == "accepted  73 % of 136"
    few = moment_of(golden("fable"), 0.8)
    assert acceptance_words(few, False) != acceptance_words(moment, False)


def test_not_drafting_is_not_zero_percent() -> None:
    assert acceptance_words(moment_of(golden("parked"), 3), True) == "not drafting"
    assert positions_words(moment_of(golden("parked"), 3)) == ""


def test_a_difference_names_both_tokens_and_the_margin() -> None:
    moment = moment_of(golden("different"), 100)
    assert equality_words(moment, False) == ("≠ from token 135: “ sunset” or “ evening”, gap 0.02")


def test_the_tape_has_a_block_for_every_pass_and_its_tokens_above() -> None:
    recording = golden("fable")
    lane = moment_of(recording, 3.0)
    scale = seconds_per_column(lane.standard.rounds)
    assert scale is not None
    figures, blocks = tape_rows(lane.standard.rounds, 3.0, 60, scale)
    assert len(figures) == len(blocks) == 60
    assert set(figures) == {"1", " "}
    assert blocks.count("▄▄▄ ") >= 13
    figures, blocks = tape_rows(lane.speculative.rounds, 3.0, 60, scale)
    assert set(figures) <= set("1234 ")
    assert blocks.count("·") >= 8


def test_the_tape_shows_nothing_after_a_lanes_end() -> None:
    recording = golden("fable")
    end = moment_of(recording, 100)
    scale = seconds_per_column(end.standard.rounds)
    assert scale is not None
    _, blocks = tape_rows(end.speculative.rounds, 10.755, 100, scale)
    assert blocks.strip() == ""


@pytest.mark.parametrize(
    ("lines", "height", "top"), [((3, 5), 8, 0), ((10, 14), 8, 6), ((4, 30), 8, 1), ((1, 30), 8, 0)]
)
def test_both_panes_scroll_with_the_slower_lane_in_sight(
    lines: tuple[int, int], height: int, top: int
) -> None:
    assert shared_top(lines, height) == top


def test_h4_h5_a_prompt_stands_in_one_row_as_it_is() -> None:
    assert one_row("[/bold]\n\x1b[2Jx", 40) == "[/bold] ␛[2Jx"
    assert one_row("漢字漢字漢字", 7) == "漢字漢…"


def test_the_top_line_is_cut_from_the_right() -> None:
    words = "qwen3-14b + qwen3-0.6b · 4-bit · temp 0 · Intel(R) Xeon(R) Processor, 2 cores"
    assert fitted(words, 60) == "qwen3-14b + qwen3-0.6b · 4-bit · temp 0 · Intel(R) Xeon(R) …"[:60]
    assert fitted(words, 30) == "qwen3-14b + qwen3-0.6b · 4-bit"


def test_in_slow_motion_the_guess_stands_after_the_cursor_and_is_struck_when_it_misses() -> None:
    recording = golden("fable")
    track = LaneTrack(recording.speculative)
    missed = next(
        index
        for index, event in enumerate(track.rounds[:-1])
        if event.proposed and event.num_accepted < len(event.proposed)
    )
    before, event, after = track.rounds[missed - 1 : missed + 2]
    checked = track.at((before.at + 4 * event.at) / 5)
    assert guess_pieces(checked, 0.05) == tuple((token.text, "guess") for token in event.proposed)
    just_over = track.at(event.at + 0.1 * (after.at - event.at))
    thrown = event.proposed[event.num_accepted :]
    assert guess_pieces(just_over, 0.05) == tuple((token.text, "struck") for token in thrown)


def test_a_guess_that_would_only_flicker_is_not_shown() -> None:
    recording = golden("fable")
    track = LaneTrack(recording.speculative)
    assert guess_pieces(track.at(3.0), 0.05) != ()
    assert guess_pieces(track.at(3.0), 1.0) == ()
    assert guess_pieces(track.at(99.0), 0.05) == ()

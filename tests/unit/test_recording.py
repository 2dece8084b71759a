"""Recordings: what is written is what is read, and a damaged file says where."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

from mlx_specdec.errors import InvalidRequestError
from mlx_specdec.events import Emitted, Finished, LawEntry, Prefilled, Round, RowDetail
from mlx_specdec.race.recording import (
    SPECULATIVE,
    STANDARD,
    LaneEvent,
    Recording,
    RecordingHeader,
    read_recording,
    read_recording_file,
    write_recording,
    write_recording_file,
)
from tests.make_golden import INVENTED

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
HEADER = RecordingHeader("t", "d", versions={"mlx": "1"}, temperature=0.7, seed=3, is_toy=True)
FABLE = read_recording_file(GOLDEN / "race_fable.jsonl")


def written(recording: Recording) -> list[str]:
    stream = io.StringIO()
    write_recording(stream, recording)
    return stream.getvalue().splitlines(keepends=True)


def small() -> Recording:
    """Three rounds in all, of which the second of the drafting lane is beside a switch."""
    items = [
        LaneEvent(item.lane, item.event, isinstance(item.event, Round) and item.event.index == 1)
        for item in FABLE.in_order()
        if not isinstance(item.event, Round) or item.event.index < 3
    ]
    return Recording.of(HEADER, items)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("race_*.jsonl")), ids=lambda path: path.stem)
def test_what_is_written_is_what_is_read(path: Path) -> None:
    recording = read_recording_file(path)
    assert read_recording(written(recording)) == recording
    assert recording.is_finished


@pytest.mark.parametrize("name", sorted(INVENTED))
def test_the_invented_races_are_what_their_script_makes(name: str) -> None:
    assert read_recording_file(GOLDEN / f"{name}.jsonl") == INVENTED[name]()


def test_detail_text_of_any_kind_and_edges_survive() -> None:
    recording = small()
    event = recording.speculative[2]
    assert isinstance(event, Round)
    law = (LawEntry(5, "\x1b[2J\n\u200d家", 0.25),)
    odd = replace(
        event,
        emitted=(Emitted(1, '"]\\ é\U0001f469‍\U0001f467', "bonus", 1e9),),
        detail=(RowDetail(law, law, ()),),
    )
    lanes = (*recording.speculative[:2], odd, *recording.speculative[3:])
    recording = replace(recording, speculative=lanes)
    again = read_recording(written(recording))
    assert again == recording
    assert again.edges(SPECULATIVE) == frozenset({1})
    assert again.edges(STANDARD) == frozenset({1})
    assert sum('"edge": true' in line for line in written(recording)) == 2


def test_events_stand_in_the_order_of_the_race() -> None:
    ats = [item.event.at for item in FABLE.in_order()]
    assert ats == sorted(ats)
    first = next(FABLE.in_order())
    assert (first.lane, type(first.event)) == (STANDARD, Prefilled)
    assert FABLE.lane(STANDARD) == FABLE.standard
    assert FABLE.metrics(SPECULATIVE).target_passes == 60


def test_a_race_that_was_broken_off_is_a_recording_too() -> None:
    part = Recording(HEADER, FABLE.standard[:4], FABLE.speculative[:4])
    again = read_recording(written(part))
    assert again == part
    assert not again.is_finished
    assert not Recording(HEADER).is_finished
    ended = Recording(HEADER, (Finished("cancelled", 0.0),), (Finished("cancelled", 0.0),))
    assert ended.is_finished


def test_what_a_later_version_added_to_the_header_is_passed_over() -> None:
    lines = written(small())
    head = json.loads(lines[0])
    head["weather"] = "rain"
    assert read_recording([json.dumps(head), *lines[1:]]).header == HEADER


@pytest.mark.parametrize(
    ("number", "line", "words"),
    [
        (1, '{"target": "t"}', "does not begin with a recording's header"),
        (1, '{"mlx_specdec": "recording", "schema": 99}', "schema 99 is not known"),
        (1, "[1, 2]", "Line 1 of race.jsonl"),
        (3, "not json", "Line 3 of race.jsonl is not part of a recording"),
        (3, '{"lane": "third", "event": "finished", "reason": "stop", "at": 1}', "no lane 'third'"),
        (3, '{"event": "finished", "reason": "stop", "at": 1}', "Line 3"),
        (3, '{"lane": "standard", "event": "unheard"}', "not an event"),
        (3, '{"lane": "standard", "event": "finished", "colour": 1}', "not an event of this"),
    ],
)
def test_a_damaged_file_says_where(number: int, line: str, words: str) -> None:
    lines = written(small())
    lines[number - 1] = f"{line}\n"
    with pytest.raises(InvalidRequestError) as caught:
        read_recording(lines, "race.jsonl")
    assert words in caught.value.message
    assert "--record FILE" in caught.value.hint


def test_an_empty_file_a_missing_one_and_bytes(tmp_path: Path) -> None:
    empty, binary = tmp_path / "empty", tmp_path / "binary"
    empty.write_text("\n\n")
    binary.write_bytes(b"\xff\xfe\x00\x81")
    for path, words in (
        (empty, "empty is empty"),
        (tmp_path / "none", "No such file"),
        (tmp_path, "cannot be read"),
        (binary, "it is not text"),
    ):
        with pytest.raises(InvalidRequestError) as caught:
            read_recording_file(path)
        assert words in caught.value.message


def test_a_file_is_written_or_says_why_not(tmp_path: Path) -> None:
    path = tmp_path / "race.jsonl"
    write_recording_file(path, small())
    assert read_recording_file(path) == small()
    with pytest.raises(InvalidRequestError) as caught:
        write_recording_file(tmp_path / "nowhere" / "race.jsonl", small())
    assert "cannot be written" in caught.value.message
    assert "--record" in caught.value.hint

"""Events go to JSON lines and come back equal."""

from __future__ import annotations

import io
import json
from typing import Any

from mlx_specdec.events import (
    Check,
    Emitted,
    Event,
    Failed,
    Finished,
    LawEntry,
    Prefilled,
    Proposed,
    Round,
    RowDetail,
    Timings,
    event_from_dict,
    event_to_dict,
    read_events,
    write_events,
)
from mlx_specdec.request import SamplingParams
from tests.lanes import VOCAB, fresh_answer
from tests.toymodels import perturbed, toy_model

import pytest

FULL_ROUND = Round(
    index=3,
    position=17,
    lookahead=2,
    proposed=(Proposed(5, "é", 0.25, 0.5), Proposed(6, "\n", 0.1)),
    checks=(Check(0.5, 0.25, True, 0.5), Check(5.0, 6.0, False)),
    num_accepted=1,
    emitted=(Emitted(5, "é", "accepted", 1.5), Emitted(9, "😀", "recovered", float("inf"))),
    timings=Timings(0.001, 0.002, 0.003, 0.004),
    at=1.25,
    draft_top_probs=(0.5, 0.75),
    draft_entropies=(1.0, 2.0),
    draft_tokens_read=3,
    note="a note",
    detail=(RowDetail((LawEntry(5, "é", 0.25),), (LawEntry(6, "x", 0.5),), ()),),
)
EVENTS: list[Event] = [
    Prefilled(12, 4, 0.5, 0.5),
    FULL_ROUND,
    Round(0, 12, 0, (), (), 0, (Emitted(1, "a", "sampled", 0.1),), Timings(), 0.6),
    Finished("stop_string", 2.0, "held", 1024),
    Finished("cancelled", 2.0),
    Failed("GenerationError", "Title", "Message [/x]", "Hint", 3.0),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_kind_of_event_comes_back_equal(event: Event) -> None:
    line = json.dumps(event_to_dict(event))
    assert event_from_dict(json.loads(line)) == event


def test_a_stream_of_lines_comes_back_equal() -> None:
    stream = io.StringIO()
    write_events(stream, EVENTS)
    text = stream.getvalue()
    assert text.count("\n") == len(EVENTS)
    assert "é" in text
    assert list(read_events(text.splitlines())) == EVENTS
    assert list(read_events(["", "  \n", *text.splitlines()])) == EVENTS


def test_a_real_answer_holds_plain_values_and_comes_back_equal() -> None:
    """No lazy array rides in an event, with details either."""
    target = toy_model(VOCAB, layers=1, seed=4)
    events = fresh_answer(
        target,
        perturbed(target),
        (1, 2, 3),
        sampling=SamplingParams(temperature=0.8, top_k=20),
        rule="block",
        max_tokens=12,
        detail=4,
    )
    plain = (int, float, str, bool, type(None))

    def check(value: Any) -> None:
        if isinstance(value, dict):
            for each in value.values():
                check(each)
        elif isinstance(value, (tuple, list)):
            for each in value:
                check(each)
        else:
            assert type(value) in plain, value

    for event in events:
        check(event_to_dict(event))
    stream = io.StringIO()
    write_events(stream, events)
    assert list(read_events(stream.getvalue().splitlines())) == events


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"event": "rounds"},
        {"event": None},
        {"event": "finished", "reason": "stop", "at": 1.0, "surprise": 1},
        {"event": "prefilled"},
    ],
)
def test_what_is_no_event_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not an event"):
        event_from_dict(data)


def test_the_dict_that_was_read_is_left_as_it_was() -> None:
    data = event_to_dict(FULL_ROUND)
    copy = json.loads(json.dumps(data))
    event_from_dict(copy)
    assert copy["event"] == "round"
    assert copy == json.loads(json.dumps(data))

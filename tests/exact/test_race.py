"""The race: each lane has exactly the times and the words that it has alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from mlx_specdec.errors import ContextFullError, InvalidRequestError
from mlx_specdec.events import Event, Finished, Prefilled, Round, Timings
from mlx_specdec.race.playhead import SLICE_SECONDS
from mlx_specdec.race.race import LaneClock, Race, race_job
from mlx_specdec.race.recording import (
    LANES,
    SPECULATIVE,
    STANDARD,
    LaneEvent,
    Recording,
    RecordingHeader,
)
from mlx_specdec.session import Session
from mlx_specdec.settings import Settings, settings_from
from tests.lanes import reason_of, rounds_of, session_of, tokens_of, walk_away
from tests.pretend_device import PretendDevice, SleepingModel
from tests.toymodels import CountingModel, ForwardFailure, RaisingModel, perturbed, toy_model

import pytest

VOCAB = 270
PROMPT = list(range(3, 23))
# Powers of two, so that sums of them are exact in any order.
TARGET, MORE_ROWS, DRAFT = 1 / 16, 1 / 256, 1 / 128
SETTINGS = settings_from(
    Settings(max_tokens=40, rule="coupled", seed=9, lookahead=3), temperature=0.8
)
HEADER = RecordingHeader("toy", "toy-draft")


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> PretendDevice:
    made = PretendDevice()
    made.install(monkeypatch)
    return made


def sleeping_session(device: PretendDevice) -> Session:
    target = toy_model(VOCAB, lm_head_scale=4)
    draft = perturbed(target, 0.3)
    slow = SleepingModel(target, device, TARGET, MORE_ROWS)
    quick = SleepingModel(draft, device, DRAFT, 0.0)
    return session_of(slow.loaded, quick.loaded, clock=device.clock)


def alone(device: PretendDevice, settings: Settings, prompt: list[int] = PROMPT) -> list[Event]:
    session = sleeping_session(device)
    events = list(session.generate(prompt, settings))
    device.drain()
    return events


def raced(
    device: PretendDevice,
    settings: Settings,
    prompt: list[int] = PROMPT,
    *,
    drain: Callable[[], None] | None = None,
    slice_seconds: float = SLICE_SECONDS,
) -> list[LaneEvent]:
    race = Race(
        sleeping_session(device),
        prompt,
        settings,
        clock=device.clock,
        drain=drain or device.drain,
        slice_seconds=slice_seconds,
    )
    return list(race.events())


def lane(items: list[LaneEvent], name: str) -> list[Event]:
    return [item.event for item in items if item.lane == name]


def timeless(events: list[Event]) -> list[Event]:
    """Without what the host alone knows: how long it happened to wait for what."""
    bare: list[Event] = []
    for event in events:
        if isinstance(event, Round):
            event = replace(event, timings=Timings())
        elif isinstance(event, Finished):
            event = replace(event, peak_memory_bytes=0)
        bare.append(event)
    return bare


@pytest.mark.parametrize(
    ("lookahead", "temperature", "slice_seconds"),
    [(3, 0.8, 0.25), (3, 0.0, 0.25), (6, 0.8, 0.0), (1, 0.8, 1.0)],
)
def test_each_lane_has_the_times_of_its_lone_run(
    device: PretendDevice, lookahead: int, temperature: float, slice_seconds: float
) -> None:
    settings = settings_from(SETTINGS, temperature=temperature).changed(lookahead=lookahead)
    items = raced(device, settings, slice_seconds=slice_seconds)
    for name, drafts in ((STANDARD, False), (SPECULATIVE, True)):
        expected = alone(device, settings.changed(draft=drafts))
        assert timeless(lane(items, name)) == timeless(expected)
    switches = sum(one.lane != other.lane for one, other in pairwise(items))
    assert switches > 2 if slice_seconds < 1 else switches >= 1


def test_the_prompt_is_read_in_both_lanes_and_by_the_draft(device: PretendDevice) -> None:
    prompt = [3 + i % 200 for i in range(700)]  # several chunks
    items = raced(device, SETTINGS, prompt)
    for name, drafts in ((STANDARD, False), (SPECULATIVE, True)):
        expected = alone(device, SETTINGS.changed(draft=drafts), prompt)
        assert timeless(lane(items, name)) == timeless(expected)
    reads = [event for event in lane(items, SPECULATIVE) if isinstance(event, Prefilled)]
    assert reads[0].seconds > 0
    assert reads[0].prompt_tokens == 700
    assert rounds_of(lane(items, SPECULATIVE))[1].timings.draft_prefill_seconds > 0


def test_without_draining_a_lane_would_pay_for_the_other(device: PretendDevice) -> None:
    items = raced(device, SETTINGS, drain=lambda: None)
    expected = alone(device, SETTINGS.changed(draft=False))
    assert timeless(lane(items, STANDARD)) != timeless(expected)


def test_the_lane_that_is_behind_goes_next(device: PretendDevice) -> None:
    items = raced(device, SETTINGS)
    clocks = dict.fromkeys(LANES, 0.0)
    over: set[str] = set()
    current = ""
    for item in items:
        if item.lane != current:
            other = next(name for name in LANES if name != item.lane)
            # The other lane was drained: its clock had gone on by at most the pass in flight.
            in_flight = TARGET + 3 * (DRAFT + MORE_ROWS)
            assert other in over or clocks[item.lane] <= clocks[other] + in_flight
            current = item.lane
        clocks[item.lane] = item.event.at
        if isinstance(item.event, Finished):
            over.add(item.lane)
    assert over == set(LANES)


def test_neither_lane_runs_away_from_the_other(device: PretendDevice) -> None:
    a_round = TARGET + 4 * (DRAFT + MORE_ROWS)
    last = dict.fromkeys(LANES, 0.0)
    running = set(LANES)
    for item in raced(device, SETTINGS):
        last[item.lane] = item.event.at
        if len(running) == 2:
            assert abs(last[STANDARD] - last[SPECULATIVE]) <= 0.25 + 2 * a_round
        if isinstance(item.event, Finished):
            running.remove(item.lane)


def test_rounds_beside_a_switch_are_marked(device: PretendDevice) -> None:
    items = raced(device, SETTINGS)
    current, since = "", 0
    for item in items:
        if item.lane != current:
            current, since = item.lane, 0
        if isinstance(item.event, Round):
            assert item.is_edge == (since < 2)
            since += 1
    recording = Recording.of(HEADER, items)
    assert 0 in recording.edges(STANDARD)
    assert 0 < len(recording.edges(SPECULATIVE)) < len(rounds_of(recording.speculative))


def test_both_lanes_share_one_seed_that_was_drawn_for_them(device: PretendDevice) -> None:
    items = raced(device, SETTINGS.changed(seed=None))
    assert tokens_of(lane(items, STANDARD)) == tokens_of(lane(items, SPECULATIVE))


@pytest.mark.parametrize("after", [0, 3, 20])
def test_a_cancel_ends_both_lanes(device: PretendDevice, after: int) -> None:
    session = sleeping_session(device)
    race = Race(session, PROMPT, SETTINGS, clock=device.clock, drain=device.drain)
    items: list[LaneEvent] = []
    for item in race.events(lambda: len(items) >= after):
        items.append(item)
    for name in LANES:
        events = lane(items, name)
        assert reason_of(events) == "cancelled"
        assert len(rounds_of(events)) <= after + 1


def test_a_reader_who_walks_away_leaves_the_session_as_it_was(device: PretendDevice) -> None:
    session = sleeping_session(device)
    list(session.generate(PROMPT, SETTINGS.changed(max_tokens=4)))
    held = list(session.target.read)
    events = Race(session, PROMPT, SETTINGS, clock=device.clock, drain=device.drain).events()
    for _ in range(9):
        next(events)
    walk_away(events)
    assert session.target.read == held
    again = list(session.generate(PROMPT, SETTINGS.changed(draft=False)))
    assert tokens_of(again) == tokens_of(alone(device, SETTINGS.changed(draft=False)))


def test_an_error_in_a_lane_ends_the_race() -> None:
    target = toy_model(VOCAB)
    failing = RaisingModel(target, at=30)
    session = session_of(failing.loaded, perturbed(target))
    with pytest.raises(ForwardFailure):
        list(Race(session, PROMPT, SETTINGS).events())


def test_a_job_warms_up_and_takes_words_that_are_made_on_the_thread(
    device: PretendDevice,
) -> None:
    asked: list[str] = []

    def prompt() -> list[int]:
        asked.append("prompt")
        return PROMPT

    job = race_job(sleeping_session(device), prompt, SETTINGS, clock=device.clock)
    assert asked == []
    items = list(job(lambda: False))
    assert asked == ["prompt"]
    assert tokens_of(lane(items, STANDARD)) == tokens_of(lane(items, SPECULATIVE))
    assert items[0].event.at < 20 * (TARGET + MORE_ROWS)  # the warm-up is on nobody's clock


def test_a_warm_up_guesses_even_where_the_policy_might_not_yet() -> None:
    target = toy_model(VOCAB)
    draft = CountingModel(perturbed(target))
    session = session_of(target, draft.loaded)
    Race(session, PROMPT, SETTINGS.changed(lookahead="auto")).warm_up()
    assert draft.forwards > 0
    assert session.target.read == []


def test_both_lanes_together_stay_in_the_memory_there_is(device: PretendDevice) -> None:
    session = sleeping_session(device)
    room = session.room
    limit = room.bytes_at(300)  # a lane may hold half of 256 tokens
    session.room = replace(room, limit_bytes=limit)
    with pytest.raises(ContextFullError):
        list(Race(session, [3 + i % 200 for i in range(200)], SETTINGS).events())
    short = Race(session, PROMPT, SETTINGS, clock=device.clock, drain=device.drain)
    assert reason_of(lane(list(short.events()), STANDARD)) == "length"


def test_a_wrong_setting_is_an_error_before_anything_runs(device: PretendDevice) -> None:
    with pytest.raises(InvalidRequestError):
        Race(sleeping_session(device), PROMPT, SETTINGS.changed(lookahead=99))


def test_a_lane_clock_counts_only_its_own_turns() -> None:
    wall = iter([1.0, 3.0, 3.0, 10.0, 10.5, 11.0, 11.0])
    clock = LaneClock(lambda: next(wall))
    assert clock() == 0.0
    clock.start()
    assert clock() == 2.0
    clock.stop()
    assert clock() == 2.0
    clock.start()
    clock.start()
    assert clock() == 2.5
    clock.stop()
    assert clock() == 3.0


def test_peeking_at_a_race_needs_no_end(device: PretendDevice) -> None:
    events: Iterator[LaneEvent] = Race(
        sleeping_session(device), PROMPT, SETTINGS, clock=device.clock, drain=device.drain
    ).events()
    first = next(events)
    assert first.lane == STANDARD
    assert isinstance(first.event, Prefilled)


@pytest.mark.parametrize("draft", [True, "copy"])
def test_a_warm_up_changes_nothing_that_the_session_has_learned(
    draft: Literal[True, "copy"],
) -> None:
    target = toy_model(VOCAB)
    session = session_of(target, perturbed(target))
    for _ in range(2000):
        session.lookahead.belief.observe(1, 1)
        session.lookahead.belief.pass_by(2)
    known = session.lookahead.belief.carried
    Race(session, PROMPT, SETTINGS.changed(draft=draft)).warm_up()
    assert session.lookahead.costs.version == session.copying_lookahead.costs.version == 0
    session.beside(session.clock).clear()
    assert session.lookahead.belief.carried == known
    session.clear()
    assert session.lookahead.belief.carried != known

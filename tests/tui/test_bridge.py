"""Bridge and opening: nothing blocks, one thing runs at a time, and what fails is a state."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

from mlx_specdec.errors import InvalidRequestError, SpecdecError
from mlx_specdec.events import Event, Finished, Prefilled
from mlx_specdec.service import EngineThread
from mlx_specdec.settings import Settings, settings_from
from tui import opening as opening_module
from tui.bridge import Bridge
from tui.opening import OpeningJob, PairRequest

import pytest

ENOUGH_SECONDS = 60.0  # only fails a test that hangs


class StandInSession:
    """Answers until it is told to stop."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.asked: list[str | None] = []

    def ask(
        self, text: str, settings: Settings, *, is_cancelled: Callable[[], bool]
    ) -> Iterator[Event]:
        self.asked.append(text)
        yield Prefilled(3, 0, 0.1, 0.1)
        self.began.set()
        while not is_cancelled():
            threading.Event().wait(0.001)
        yield Finished("cancelled", 0.2)

    def reply(self, settings: Settings, *, is_cancelled: Callable[[], bool]) -> Iterator[Event]:
        self.asked.append(None)
        yield Finished("stop", 0.1)


class StandInEngine:
    def __init__(self) -> None:
        self.thread = EngineThread()
        self.session = StandInSession()


def bridge_with_engine() -> tuple[Bridge, StandInEngine]:
    bridge, engine = Bridge(), StandInEngine()
    bridge._engine = cast(Any, engine)
    return bridge, engine


def all_of(feed: Any) -> list[Any]:
    items: list[Any] = []
    feed._handle.wait(ENOUGH_SECONDS)
    items += feed.poll()
    return items


def test_what_starts_next_stops_what_runs() -> None:
    bridge, engine = bridge_with_engine()
    first = bridge.start_reply("one", Settings())
    assert engine.session.began.wait(ENOUGH_SECONDS)
    assert bridge.is_busy
    second = bridge.start_reply(None, Settings())
    assert all_of(first)[-1] == Finished("cancelled", 0.2)
    assert all_of(second) == [Finished("stop", 0.1)]
    assert engine.session.asked == ["one", None]
    assert bridge.close()


def test_h6_closing_stops_a_reply_and_its_thread() -> None:
    bridge, engine = bridge_with_engine()
    feed = bridge.start_reply("one", Settings())
    assert engine.session.began.wait(ENOUGH_SECONDS)
    bridge.close()
    assert engine.thread.close(ENOUGH_SECONDS)
    assert feed.is_done


def test_a_wrong_setting_is_refused_before_anything_starts() -> None:
    bridge, engine = bridge_with_engine()
    with pytest.raises(InvalidRequestError):
        bridge.start_reply("x", settings_from(Settings(), lookahead=99))
    assert engine.session.asked == []
    bridge.close()


def test_without_models_it_says_what_to_do() -> None:
    bridge = Bridge()
    with pytest.raises(SpecdecError) as caught:
        bridge.start_reply("x", Settings())
    assert "m" in caught.value.hint
    assert bridge.close()


def test_a_call_runs_on_the_engines_thread_and_brings_its_result_or_error() -> None:
    bridge, _engine = bridge_with_engine()
    name = bridge.conversation_call(lambda session: threading.current_thread().name)
    assert name.result(ENOUGH_SECONDS) == "mlx-specdec-engine"

    def fail(session: Any) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        bridge.conversation_call(fail).result(ENOUGH_SECONDS)
    assert bridge.close()


@pytest.mark.parametrize("how", ["close", "replace"])
def test_a_call_that_an_engine_never_began_is_cancelled(how: str) -> None:
    bridge, engine = bridge_with_engine()
    gate, began = threading.Event(), threading.Event()

    def wait(session: Any) -> bool:
        began.set()
        return gate.wait(ENOUGH_SECONDS)

    running = bridge.conversation_call(wait)
    queued = bridge.conversation_call(lambda session: 1)
    assert began.wait(ENOUGH_SECONDS)
    if how == "close":
        bridge.close()
    closing = threading.Thread(target=bridge._close_engine)
    closing.start()
    while not engine.thread._is_closed:
        threading.Event().wait(0.001)
    gate.set()
    closing.join(ENOUGH_SECONDS)
    assert running.result(ENOUGH_SECONDS)
    assert queued.cancelled()
    assert all(call.done() for call in bridge._calls)
    assert engine.thread.close(ENOUGH_SECONDS)


def test_weights_are_timed_beside_the_models_until_anything_else_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mlx_specdec.forecast import format_job

    asked: list[Any] = []
    began = threading.Event()

    def endless_job(pair: Any, seconds: float, *, taken_bytes: int) -> Any:
        def job(is_cancelled: Callable[[], bool]) -> Iterator[float]:
            asked.append((pair, seconds, taken_bytes, threading.current_thread().name))
            while not is_cancelled():
                yield 1.0
                began.set()

        return job

    monkeypatch.setattr(format_job, "formats_job", endless_job)
    bridge, engine = bridge_with_engine()
    cast(Any, engine.session).room = SimpleNamespace(weight_bytes=123)
    pair: Any = "the pair"
    timing = bridge.start_timing(pair, 20.0)
    assert began.wait(ENOUGH_SECONDS)
    assert bridge.is_busy
    reply = bridge.start_reply(None, Settings())
    assert all_of(reply) == [Finished("stop", 0.1)]
    assert set(all_of(timing)) == {1.0}
    assert asked == [("the pair", 20.0, 123, "mlx-specdec-engine")]
    assert bridge.close()


def settled(bridge: Bridge) -> Any:
    handle = bridge._opening
    assert handle is not None
    assert handle.wait(ENOUGH_SECONDS)
    return bridge.opening


def test_a_name_that_is_not_known_is_a_state_with_the_nearest_one() -> None:
    bridge = Bridge()
    bridge.open(PairRequest(target="qwen3-41b"))
    state = settled(bridge)
    assert state.phase == "failed"
    assert "qwen3" in state.failure.hint
    assert not bridge.is_ready
    assert bridge.close()


def test_a_second_request_after_a_failure_has_its_own_number() -> None:
    bridge = Bridge()
    bridge.open(PairRequest(target="nothing-like-it"))
    first = settled(bridge)
    bridge.open(PairRequest(target="nothing-at-all"))
    second = settled(bridge)
    assert (first.number, second.number) == (1, 2)
    assert second.phase == "failed"
    assert bridge.close()


def test_cancelling_the_question_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()
    job = OpeningJob(PairRequest(), 1)

    def question(plan: Any, registry: Any) -> Any:
        asked.set()
        return opening_module.Question(("a",))

    monkeypatch.setattr(opening_module, "_question", question)
    answers: list[str] = []
    thread = threading.Thread(
        target=lambda: answers.append(job._ask(cast(Any, None), cast(Any, None)))
    )
    thread.start()
    assert asked.wait(ENOUGH_SECONDS)
    job.cancel()
    thread.join(ENOUGH_SECONDS)
    assert answers == ["quit"]

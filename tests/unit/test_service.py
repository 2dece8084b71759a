"""The engine thread: the only one that works, whoever reads; it outlives what its jobs do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from mlx_specdec.backend import mx
from mlx_specdec.errors import GenerationError
from mlx_specdec.events import Event, Failed, Finished, Prefilled, Round
from mlx_specdec.service import EngineThread, JobHandle, is_any_running
from mlx_specdec.session import Session
from mlx_specdec.settings import Settings
from tests.lanes import VOCAB, answer_of, reason_of, rounds_of, session_of, tokens_of
from tests.toymodels import RaisingModel, perturbed, toy_model

import pytest

PATIENCE = 60.0  # seconds until a hanging test fails; nothing is measured by it
PROMPT = (5, 17, 200, 3, 9)
SETTINGS = Settings(max_tokens=10, seed=1)

IsCancelled = Callable[[], bool]


@pytest.fixture
def engine() -> Iterator[EngineThread]:
    engine = EngineThread()
    yield engine
    assert engine.close(PATIENCE)


def loaded() -> Session:
    target = toy_model(VOCAB, layers=1, seed=4)
    return session_of(target, perturbed(target, 0.1), ())


def generating(session: Session, settings: Settings = SETTINGS) -> Callable[..., Iterator[Event]]:
    def job(is_cancelled: IsCancelled) -> Iterator[Event]:
        return session.generate(PROMPT, settings, is_cancelled=is_cancelled)

    return job


def in_threads(functions: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=function, daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_i1_load_and_generate_on_the_engine_for_several_readers(engine: EngineThread) -> None:
    """Weights and caches never leave the thread that made them, lazy or not."""
    expected = tokens_of(answer_of(loaded(), PROMPT, max_tokens=10, seed=1))
    texts: dict[int, list[int]] = {}

    def reader(number: int) -> Callable[[], None]:
        def read() -> None:
            session = engine.call(loaded)
            events = list(engine.submit(generating(session)))
            events = list(engine.submit(generating(session)))
            texts[number] = tokens_of(events)

        return read

    in_threads([reader(number) for number in range(3)])
    assert texts == dict.fromkeys(range(3), expected)


def test_i1_arrays_that_are_lazy_stay_with_their_thread(engine: EngineThread) -> None:
    lazy = engine.call(lambda: mx.arange(4) * 2)
    assert engine.call(lambda: lazy.tolist()) == [0, 2, 4, 6]


def test_jobs_run_one_after_the_other_in_order(engine: EngineThread) -> None:
    log: list[str] = []

    def named(name: str) -> Callable[[IsCancelled], Iterator[Event]]:
        def job(is_cancelled: IsCancelled) -> Iterator[Event]:
            log.append(f"{name} began")
            yield Prefilled(1, 0, 0.0, 0.0)
            log.append(f"{name} ended")
            yield Finished("length", 0.0)

        return job

    handles = [engine.submit(named(name)) for name in "ab"]
    assert [reason_of(list(handle)) for handle in handles] == ["length", "length"]
    assert log == ["a began", "a ended", "b began", "b ended"]


def blocked(started: threading.Event, go: threading.Event) -> Any:
    """A job that waits to be let go and then ends as it was told."""

    def job(is_cancelled: IsCancelled) -> Iterator[Event]:
        started.set()
        yield Prefilled(1, 0, 0.0, 0.0)
        assert go.wait(PATIENCE)
        yield Finished("cancelled" if is_cancelled() else "length", 1.0)

    return job


def test_cancel_ends_the_job_that_runs_and_not_the_next(engine: EngineThread) -> None:
    started, go = threading.Event(), threading.Event()
    session = engine.call(loaded)
    first = engine.submit(blocked(started, go))
    second = engine.submit(generating(session))
    assert started.wait(PATIENCE)
    first.cancel()
    assert first.is_cancelled
    go.set()
    assert reason_of(list(first)) == "cancelled"
    assert reason_of(list(second)) == "length"


def test_a_job_cancelled_before_its_turn_never_begins(engine: EngineThread) -> None:
    started, go = threading.Event(), threading.Event()
    first = engine.submit(blocked(started, go))
    begun = threading.Event()
    second = engine.submit(blocked(begun, go))
    second.cancel()
    go.set()
    assert list(second) == [Finished("cancelled", 0.0)]
    assert reason_of(list(first)) == "length"
    assert not begun.is_set()


def test_a_generation_stops_at_the_next_round(engine: EngineThread) -> None:
    session = engine.call(loaded)
    handle_box: list[JobHandle[Event]] = []
    ready = threading.Event()

    def job(is_cancelled: IsCancelled) -> Iterator[Event]:
        assert ready.wait(PATIENCE)
        long = SETTINGS.changed(max_tokens=200)
        for event in session.generate(PROMPT, long, is_cancelled=is_cancelled):
            if isinstance(event, Round) and event.index == 2:
                handle_box[0].cancel()
            yield event

    handle_box.append(engine.submit(job))
    ready.set()
    events = list(handle_box[0])
    assert reason_of(events) == "cancelled"
    assert len(rounds_of(events)) <= 4


def failed_job(error: BaseException) -> Callable[[IsCancelled], Iterator[Event]]:
    def job(is_cancelled: IsCancelled) -> Iterator[Event]:
        yield Prefilled(1, 0, 0.0, 0.0)
        raise error

    return job


@pytest.mark.parametrize(
    "error",
    [
        GenerationError("It broke.", "Mend it."),
        RuntimeError("it broke"),
        KeyboardInterrupt(),
        SystemExit(3),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_failing_job_gives_failed_and_the_engine_lives_on(
    engine: EngineThread, error: BaseException
) -> None:
    handle = engine.submit(failed_job(error))
    events = list(handle)
    last = events[-1]
    assert isinstance(last, Failed)
    assert last.kind == type(error).__name__
    assert last.title
    assert last.hint
    assert handle.error is error
    assert handle.is_done
    assert reason_of(list(engine.submit(generating(engine.call(loaded))))) == "length"


def test_a_pass_that_fails_gives_failed_and_the_session_lives_on(engine: EngineThread) -> None:
    def broken() -> Session:
        target = RaisingModel(toy_model(VOCAB, layers=1, seed=4), 4).loaded
        return session_of(target, None, ())

    session = engine.call(broken)
    assert isinstance(list(engine.submit(generating(session)))[-1], Failed)
    expected = tokens_of(answer_of(loaded(), PROMPT, max_tokens=10, seed=1))
    assert tokens_of(engine.submit(generating(session))) == expected


def test_call_hands_over_results_and_errors(engine: EngineThread) -> None:
    assert engine.call(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        engine.call(lambda: 1 // 0)
    assert engine.call(threading.current_thread) is not threading.current_thread()


def test_poll_and_iteration_see_the_same_events(engine: EngineThread) -> None:
    handle = engine.submit(generating(engine.call(loaded)))
    assert handle.wait(PATIENCE)
    polled = handle.poll()
    assert tokens_of(polled)
    assert handle.poll() == []
    assert list(handle) == []
    assert list(handle) == []


def test_close_cancels_what_runs_and_what_waits() -> None:
    ended = threading.Event()
    engine = EngineThread(at_end=ended.set)
    started, go, begun = threading.Event(), threading.Event(), threading.Event()
    first = engine.submit(blocked(started, go))
    second = engine.submit(blocked(begun, go))
    assert started.wait(PATIENCE)
    assert not engine.close(0.0)  # still inside a pass, so it says so at once
    assert is_any_running()
    go.set()
    assert engine.close(PATIENCE)
    assert reason_of(list(first)) == "cancelled"
    assert reason_of(list(second)) == "cancelled"
    assert not begun.is_set()
    assert ended.is_set()
    with pytest.raises(RuntimeError):
        engine.submit(blocked(begun, go))


def test_a_job_may_yield_what_it_likes_and_still_ends_with_its_failure(
    engine: EngineThread,
) -> None:
    def job(is_cancelled: IsCancelled) -> Iterator[str]:
        yield "one"
        raise GenerationError("It broke.", "Mend it.")

    handle: JobHandle[str] = engine.submit(job)
    first, last = handle
    assert first == "one"
    assert isinstance(last, Failed)
    assert last.message == "It broke."

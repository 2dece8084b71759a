"""The engine works ahead of its reader, who may be slow or never read at all."""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from mlx_specdec.backend import mx
from mlx_specdec.events import Event
from mlx_specdec.service import EngineThread
from mlx_specdec.settings import Settings
from tests.lanes import VOCAB, rounds_of, session_of, tokens_of
from tests.toymodels import perturbed, toy_model

import pytest

PROMPT = (5, 17, 200, 3, 9)
PATIENCE = 60.0  # seconds until a hanging test fails; nothing is measured by it


@functools.cache
def target() -> Any:
    return toy_model(VOCAB, layers=1, seed=4)


@functools.cache
def draft() -> Any:
    return perturbed(target(), 0.1)


class FakeDevice:
    """A clock that only the device's work and the reader move.

    What is started runs behind what was started before; a read waits for its own pass alone.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._free_at = 0.0
        self._owed = 0.0
        self._ready_at: dict[int, float] = {}

    def clock(self) -> float:
        return self.now

    def book(self, cost: float) -> None:
        self._owed += cost

    def start(self, array: mx.array) -> None:
        self._free_at = max(self._free_at, self.now) + self._owed
        self._owed = 0.0
        self._ready_at[id(array)] = self._free_at

    def wait(self, array: mx.array) -> None:
        self.now = max(self.now, self._ready_at.pop(id(array)))


class TimedModel:
    """Books ``cost`` seconds of the device at every pass."""

    def __init__(self, inner: Any, device: FakeDevice, cost: float) -> None:
        self._inner = inner
        self._device = device
        self._cost = cost
        self.layers = inner.layers

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        self._device.book(self._cost)
        logits: mx.array = self._inner(inputs, cache=cache)
        return logits


def simulated_seconds(settings: Settings, pause: float) -> float:
    """Lane seconds of an answer whose reader takes ``pause`` seconds over each event."""
    device = FakeDevice()

    def timed(loaded: Any, cost: float) -> Any:
        model: Any = TimedModel(loaded.model, device, cost)
        return dataclasses.replace(loaded, model=model)

    session = session_of(timed(target(), 1.0), timed(draft(), 0.1), (), clock=device.clock)
    tolist: Callable[[mx.array], Any] = mx.array.tolist
    async_eval: Callable[[mx.array], None] = mx.async_eval

    def read(array: mx.array) -> Any:
        device.wait(array)
        return tolist(array)

    def start(array: mx.array) -> None:
        device.start(array)
        async_eval(array)

    at = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mx.array, "tolist", read)
        patch.setattr(mx, "async_eval", start)
        for event in session.generate(PROMPT, settings):
            assert not hasattr(event, "kind"), event
            at = event.at
            device.now += pause
    return at


@pytest.mark.parametrize("lookahead", [0, 4])
def test_a_reader_that_takes_half_a_round_costs_less_than_a_twentieth(lookahead: int) -> None:
    """Even without a thread between the two: the next pass is queued before this one is shown."""
    settings = Settings(max_tokens=120, lookahead=lookahead, seed=1)
    alone = simulated_seconds(settings, 0.0)
    round_seconds = 1.0 + 0.1 * lookahead
    assert alone > 20 * round_seconds
    assert simulated_seconds(settings, 0.5 * round_seconds) < 1.05 * alone
    # A reader slower than the device does hold it up: the clock is no ornament.
    assert simulated_seconds(settings, 2 * round_seconds) > 1.5 * alone


def test_a_reader_that_never_reads_holds_nothing_up() -> None:
    """The consumer stops at the first event; all rounds are made and wait for it."""
    engine = EngineThread()
    may_go_on, first_came = threading.Event(), threading.Event()
    settings = Settings(max_tokens=40, seed=1)
    read: list[Event] = []

    def job(is_cancelled: Callable[[], bool]) -> Iterator[Event]:
        yield from session_of(target(), draft(), ()).generate(PROMPT, settings)

    handle = engine.submit(job)

    def consume() -> None:
        for event in handle:
            read.append(event)
            first_came.set()
            may_go_on.wait(PATIENCE)

    reader = threading.Thread(target=consume, daemon=True)
    reader.start()
    assert first_came.wait(PATIENCE)
    assert handle.wait(PATIENCE), "the engine waited for its reader"
    assert len(read) == 1
    may_go_on.set()
    reader.join(PATIENCE)
    assert len(tokens_of(read)) == 40
    assert len(rounds_of(read)) > 3
    assert engine.close(PATIENCE)

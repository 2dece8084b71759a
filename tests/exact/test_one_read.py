"""One blocking device read a round, and nothing of the draft before the first token."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

from mlx_specdec.backend import mx
from mlx_specdec.events import Event, Finished, Prefilled, Round
from mlx_specdec.request import SamplingParams
from mlx_specdec.settings import Settings
from tests.lanes import RULES, VOCAB, session_of
from tests.toymodels import perturbed, toy_model

import pytest

PROMPT = (5, 17, 200, 3, 9)
READS = (
    "item",
    "tolist",
    "__array__",
    "__int__",
    "__index__",
    "__float__",
    "__bool__",
    "__complex__",
    "__iter__",
    "__repr__",
    "__format__",
    "__dlpack__",
)
"""Every method of an array that waits for its value."""

SAMPLINGS = {
    "greedy": SamplingParams(),
    "warm": SamplingParams(temperature=0.8),
    "everything": SamplingParams(
        temperature=0.8,
        top_p=0.9,
        min_p=0.01,
        top_k=30,
        repetition_penalty=1.2,
        presence_penalty=0.3,
        frequency_penalty=0.2,
        logit_bias=((3, 1.0),),
    ),
    "greedy with penalties": SamplingParams(repetition_penalty=1.2, frequency_penalty=0.2),
}


@functools.cache
def target() -> Any:
    return toy_model(VOCAB, layers=1, seed=4)


@functools.cache
def draft() -> Any:
    return perturbed(target(), 0.1)


Log = list[str]


class LoggedModel:
    """Writes its name into the log at every pass."""

    def __init__(self, inner: Any, name: str, log: Log) -> None:
        self._inner = inner
        self._name = name
        self._log = log
        self.layers = inner.layers

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        self._log.append(self._name)
        logits: mx.array = self._inner(inputs, cache=cache)
        return logits


def logged_session(log: Log) -> Any:
    def wrapped(loaded: Any, name: str) -> Any:
        model: Any = LoggedModel(loaded.model, name, log)
        return dataclasses.replace(loaded, model=model)

    return session_of(wrapped(target(), "target"), wrapped(draft(), "draft"), ())


@contextlib.contextmanager
def logged_reads(log: Log) -> Iterator[None]:
    """Write ``read`` for every way to wait for the device, ``start`` for async_eval."""
    with pytest.MonkeyPatch.context() as patch:

        def wrap(owner: Any, name: str, word: str) -> None:
            inner: Callable[..., Any] = getattr(owner, name)

            def wrapper(*args: Any, **kwargs: Any) -> Any:
                log.append(word)
                return inner(*args, **kwargs)

            patch.setattr(owner, name, wrapper)

        for name in READS:
            if hasattr(mx.array, name):
                wrap(mx.array, name, "read")
        for name in ("eval", "synchronize"):
            wrap(mx, name, "read")
        wrap(mx, "async_eval", "start")
        yield


def logged_rounds(log: Log, settings: Settings) -> list[tuple[Event, Log]]:
    """Every event with what was logged since the one before."""
    session = logged_session(log)
    pairs = []
    with logged_reads(log):
        for event in session.generate(PROMPT, settings):
            pairs.append((event, list(log)))
            log.clear()
    return pairs


@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize("rule", RULES)
def test_one_blocking_read_a_round(rule: str, name: str) -> None:
    """With filters, penalties and details too; none between two passes of the draft."""
    settings = Settings(SAMPLINGS[name], rule=rule, max_tokens=14, lookahead=3, seed=1, detail=4)
    for event, log in logged_rounds([], settings):
        if isinstance(event, Round):
            assert log.count("read") == 1, log
        if isinstance(event, Finished):
            assert "read" not in log
        between = [word for word in log if word != "start"]
        text = " ".join(between)
        assert "draft read draft" not in text
        assert "draft read target" not in text


def test_plain_decoding_reads_once_a_token() -> None:
    settings = Settings(SAMPLINGS["everything"], draft=False, max_tokens=8, seed=1)
    for event, log in logged_rounds([], settings):
        if isinstance(event, Round):
            assert log.count("read") == 1
            assert "draft" not in log


def test_the_wrappers_see_every_way_to_read() -> None:
    import numpy as np

    log: Log = []
    value = mx.array(3)
    with logged_reads(log):
        int(value), float(value), bool(value), value.item(), value.tolist(), repr(value)
        [1, 2, 3, 4][value]
        mx.eval(value)
        assert log.count("read") >= 8
        log.clear()
        value.__array__()
        list(mx.array([1, 2]))
        assert log.count("read") >= 2
    assert np.array(value) == 3


def test_the_engine_does_not_read_through_numpy() -> None:
    """A buffer is the one way to read that cannot be wrapped."""
    from mlx_specdec import (
        acceptance,
        answer,
        distributions,
        forward,
        generation,
        noise,
        readout,
        speculative,
        standard,
    )
    from mlx_specdec.proposers import draft_model

    modules = (acceptance, answer, distributions, forward, generation, noise, readout)
    for module in (*modules, speculative, standard, draft_model):
        assert not {"np", "numpy", "memoryview"} & set(vars(module))


def test_nothing_of_the_draft_is_built_before_the_first_token() -> None:
    seen: Log = []
    for event, log in logged_rounds([], Settings(max_tokens=6, lookahead=3, seed=1)):
        seen += log
        if isinstance(event, Prefilled) or (isinstance(event, Round) and event.index == 0):
            assert "draft" not in seen
    assert "draft" in seen


def test_the_next_round_is_under_way_before_this_one_is_handed_out() -> None:
    """Each event comes with the start of the following pass behind it."""
    settings = Settings(max_tokens=12, lookahead=2, seed=1)
    events = [pair for pair in logged_rounds([], settings) if isinstance(pair[0], Round)]
    for _, log in events[2:-1]:
        assert log.index("read") < log.index("draft") < log.index("target")
        assert log[-1] == "start"

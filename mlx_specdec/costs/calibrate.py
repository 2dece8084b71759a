"""Calibrate: time a pair's passes on this machine, well enough to decide by.

Everything is timed as the loops run it: passes depend on one another and the next one is queued
while this one computes, so that building the graph is hidden where it is hidden in earnest. All
figures are timed in turns, again and again, so that a machine that warms up does so for all of
them alike. Longer contexts are made by filling the caches, not by reading.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from ..backend import mx, release_unused_memory
from ..events import Round
from ..forward import ModelRunner, never
from ..ledger.latency import LatencyModel
from ..loaded import LoadedModel
from ..request import SamplingParams
from ..session import Session
from ..settings import Settings
from .calibration import Calibration, CalibrationKey, Spread
from .known_costs import calibration_key
from .pair_costs import PairCosts
from .store import save_calibration

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["calibrate", "measured_calibration"]

SECONDS = 20.0
ROWS = tuple(range(1, 10))
CONTEXTS = (64, 2048, 8192)
WANTED_SHARE = 0.03
_FIRST = (1, 2, 4, 9, 3, 5, 7, 6, 8)  # when the time is short, the ends and a middle are known
_CHAIN = 4  # passes in a row that are timed together
_BULK = 256  # tokens that are read at once
_CATCH_UP = 8
_MIN_REPEATS, _MAX_REPEATS = 3, 60
_SLOW_SHARE = 0.25  # of the repeats, the slowest: something else ran
_CONFIDENCE = 2.0  # standard errors on either side
_FIRST_CONTEXT_SHARE = 0.5  # of the time: most conversations are short
_LOOP_SHARE = 0.2  # of the time, for whole rounds of both loops
_LOOP_TOKENS, _LOOP_LOOKAHEAD, _LOOP_REPEATS = 24, 3, 5


@dataclass(slots=True)
class _Figure:
    """One figure and its repeats in seconds."""

    name: str
    measure: Callable[[], float]
    seen: list[float] = field(default_factory=list)

    def spread(self, where: str = "") -> Spread:
        name = f"{self.name}{where}"
        kept = sorted(self.seen)[: math.ceil(len(self.seen) * (1 - _SLOW_SHARE))]
        mean = sum(kept) / len(kept)
        if len(kept) < 2 or mean <= 0:
            return Spread(name, median(kept), 1.0 if mean > 0 else 0.0, len(self.seen))
        variance = sum((value - mean) ** 2 for value in kept) / (len(kept) - 1)
        error = _CONFIDENCE * math.sqrt(variance / len(kept))
        return Spread(name, mean, error / mean, len(self.seen))

    @property
    def is_settled(self) -> bool:
        if len(self.seen) >= _MAX_REPEATS:
            return True
        return len(self.seen) >= _MIN_REPEATS and self.spread().share <= WANTED_SHARE


class _Bench:
    """Both models with caches of their own, filled to one context length.

    Args:
        clock: seconds.
    """

    def __init__(self, session: Session, clock: Callable[[], float]) -> None:
        def runner(model: LoadedModel) -> ModelRunner:
            return ModelRunner(
                model, kv_bits=session.kv_bits, kv_group_size=session.kv_group_size, clock=clock
            )

        draft = session.pair.draft
        self._clock = clock
        self.target = runner(session.pair.target)
        self.draft = None if draft is None else runner(draft)
        self.context = 0

    def fill(self, context: int) -> None:
        """Go to a context length."""
        for model in (self.target, self.draft):
            if model is not None:
                model.drop()
                mx.eval(model.extend([0]))
                model.cache.fill_to(context)
        self.context = context

    def passes(self, model: ModelRunner, rows: int) -> float:
        """Seconds of a pass over ``rows`` rows, in a chain of passes each made of the one before.

        As in the plain loop, a pass is queued before the one ahead of it is waited for.
        """
        tokens = mx.zeros((rows,), dtype=mx.int32)
        mx.eval(tokens)
        began, ahead = self._clock(), None
        for _ in range(_CHAIN):
            logits = model.extend([], tokens)
            tokens = mx.broadcast_to(mx.argmax(logits[-1:], axis=-1), (rows,)).astype(mx.int32)
            mx.async_eval(tokens)
            if ahead is not None:
                mx.eval(ahead)
            ahead = tokens
        mx.eval(tokens)
        seconds = (self._clock() - began) / _CHAIN
        model.cache.truncate_to(self.context)
        return seconds

    def reading(self, model: ModelRunner, count: int) -> float:
        """Seconds a token of reading ``count`` tokens at once, without the head."""
        began = self._clock()
        model.extend([], mx.zeros((count,), dtype=mx.int32))
        model.cache.evaluate()
        seconds = self._clock() - began
        model.cache.truncate_to(self.context)
        return seconds / count


def calibrate(
    engine: Engine,
    seconds: float = SECONDS,
    *,
    clock: Callable[[], float] = time.perf_counter,
    is_cancelled: Callable[[], bool] = never,
) -> Calibration:
    """Measure an engine's pair; waits for it. The session's caches stay as they are.

    A usable result is kept on the disk for the next time, and is what the session decides by.

    Args:
        seconds: about how long it may take. It stops earlier when every figure's interval (two
            standard errors on either side) is within 3 %.

    Raises:
        SpecdecError: what went wrong on the engine's thread.
    """
    session = engine.session

    def work() -> Calibration:
        key = calibration_key(session.pair, session.kv_bits)
        calibration = measured_calibration(
            session, key, seconds, clock=clock, is_cancelled=is_cancelled
        )
        if calibration.is_usable:
            session.take_costs(calibration.costs)
            save_calibration(calibration)
        return calibration

    return engine.thread.call(work)


def measured_calibration(
    session: Session,
    key: CalibrationKey,
    seconds: float,
    *,
    clock: Callable[[], float] = time.perf_counter,
    now: Callable[[], float] = time.time,
    is_cancelled: Callable[[], bool] = never,
    contexts: tuple[int, ...] = CONTEXTS,
) -> Calibration:
    """The same on the calling thread.

    Args:
        clock: seconds, for passes and for the time that is left.
        now: seconds since the epoch.
        contexts: lengths to measure at; those that a model cannot hold are left out.
    """
    from ..this_machine import power_source

    bench = _Bench(session, clock)
    until = clock() + seconds
    whole, plain = _whole_rounds(session.beside(clock), clock() + _LOOP_SHARE * seconds)
    limit = session.pair.context_length
    fitting = [n for n in contexts if limit is None or n + 2 * _BULK <= limit] or [0]
    measured: dict[int, dict[str, _Figure]] = {}
    for context in fitting:
        left = until - clock()
        if measured and (left <= 0 or is_cancelled()):
            break
        share = 1.0 if measured or len(fitting) == 1 else _FIRST_CONTEXT_SHARE
        bench.fill(context)
        measured[context] = _context_figures(bench, clock() + share * left, clock, is_cancelled)
    release_unused_memory()
    first = measured[fitting[0]]
    # The plain loop queues a pass while the last one runs, so its round is not a lone pass.
    alone = _seconds(first, "pass over 1 rows")
    queued = plain / alone if plain > 0 and alone > 0 else 1.0
    overhead = _overhead(_model(first, queued), whole)
    costs = PairCosts(
        tuple((n, _model(figures, queued, overhead)) for n, figures in measured.items()),
        _seconds(first, "draft reads a token"),
        _seconds(first, "target reads a token"),
    )
    complete = len(measured) == len(fitting)
    every = [figure for figures in measured.values() for figure in figures.values()]
    settled = complete and all(figure.is_settled for figure in every)
    stopped = "cancelled" if is_cancelled() else "interval" if settled else "time"
    return Calibration(key, costs, now(), stopped, _spreads(measured), power_source())


def _spreads(measured: dict[int, dict[str, _Figure]]) -> tuple[Spread, ...]:
    """How well every figure is known, with its context length in its name."""
    return tuple(
        figure.spread(f", {context} tokens")
        for context, figures in measured.items()
        for figure in figures.values()
        if figure.seen
    )


def _whole_rounds(session: Session, until: float) -> tuple[float, float]:
    """What a round takes beyond its passes, to be worked out once these are known: the seconds
    of a round of _LOOP_LOOKAHEAD guesses (0.0 without a draft), and of a plain round.

    Both loops run in turns until ``until``, once at least and _LOOP_REPEATS times at most.
    """
    tokens = session.chat_tokens("Count from one to a hundred in words.")
    settings = Settings(
        SamplingParams(), max_tokens=_LOOP_TOKENS, rule="coupled", seed=0, ignore_eos=True
    )
    loops = [settings.changed(draft=False)]
    if session.pair.draft is not None:
        loops.append(settings.changed(lookahead=_LOOP_LOOKAHEAD))
    seen: list[list[float]] = [[] for _ in loops]
    clock = session.clock
    for _ in range(_LOOP_REPEATS):
        for loop, cycles in zip(loops, seen, strict=True):
            rounds = [event for event in session.generate(tokens, loop) if isinstance(event, Round)]
            # The first rounds come after a switch, and the last ones may be shorter.
            guesses = _LOOP_LOOKAHEAD if cycles is not seen[0] else 0
            cycles += [
                after.at - before.at
                for before, after in pairwise(rounds[2:])
                if len(after.proposed) == guesses
            ]
        if clock() >= until:
            break
    session.clear()
    plain, *drafting = (median(cycles) if cycles else 0.0 for cycles in seen)
    return (drafting[0] if drafting else 0.0), plain


def _context_figures(
    bench: _Bench, until: float, clock: Callable[[], float], is_cancelled: Callable[[], bool]
) -> dict[str, _Figure]:
    """Every figure at one context, measured in turns until all are settled or the time is up.

    The passes over one and over two rows and the draft's are measured whatever they take.
    """
    figures = {figure.name: figure for figure in _figures(bench)}
    needed = {"pass over 1 rows", "pass over 2 rows", "draft pass"}
    for figure in figures.values():
        if figure.name in needed or clock() < until:
            figure.measure()  # compiled, loaded, in the cache: not counted
    while not is_cancelled():
        waiting = [figure for figure in figures.values() if not figure.is_settled]
        for figure in waiting:
            if clock() < until or (figure.name in needed and not figure.seen):
                figure.seen.append(figure.measure())
        if not waiting or clock() >= until:
            break
    for name in needed & figures.keys():
        if not figures[name].seen:  # cancelled at once
            figures[name].seen.append(figures[name].measure())
    return figures


def _figures(bench: _Bench) -> Iterator[_Figure]:
    target, draft = bench.target, bench.draft

    def passes(rows: int) -> Callable[[], float]:
        return lambda: bench.passes(target, rows)

    for rows in _FIRST:
        yield _Figure(f"pass over {rows} rows", passes(rows))
    if draft is not None:
        yield _Figure("draft pass", lambda: bench.passes(draft, 1))
        yield _Figure("draft catches up", lambda: bench.passes(draft, _CATCH_UP))
        yield _Figure("draft reads a token", lambda: bench.reading(draft, _BULK))
    yield _Figure("target reads a token", lambda: bench.reading(target, _BULK))


def _seconds(figures: dict[str, _Figure], name: str) -> float:
    figure = figures.get(name)
    return figure.spread().seconds if figure is not None and figure.seen else 0.0


def _model(figures: dict[str, _Figure], queued: float, overhead: float = 0.0) -> LatencyModel:
    """The table of one context; more rows never cost less.

    Args:
        queued: a round of the plain loop by a lone pass over one row, at a short context.
    """
    table: list[tuple[int, float]] = []
    for rows in ROWS:
        seconds = _seconds(figures, f"pass over {rows} rows")
        if seconds > 0:
            table.append((rows, max(seconds, table[-1][1]) if table else seconds * queued))
    return LatencyModel.measured(table, _seconds(figures, "draft pass"), overhead)


def _overhead(short: LatencyModel, whole: float) -> float:
    """What a round of _LOOP_LOOKAHEAD guesses takes that its passes do not explain."""
    if whole <= 0 or (short.max_lookahead or 0) < _LOOP_LOOKAHEAD:
        return 0.0
    return max(whole - short.cycle_seconds(_LOOP_LOOKAHEAD), 0.0)

"""Calibrate: time a pair's passes on this machine, well enough to decide by.

Everything is timed as the loops run it: passes depend on one another and the next one is queued
while this one computes, so that building the graph is hidden where it is hidden in earnest. All
figures are timed in turns, again and again, so that a machine that warms up does so for all of
them alike. Longer contexts are made by filling the caches, not by reading.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from ..backend import release_unused_memory
from ..events import Round
from ..forward import Cancelled, never
from ..ledger.latency import LatencyModel
from ..memory_room import wired
from ..request import SamplingParams
from ..session import Session
from ..settings import Settings
from .calibration import Calibration, CalibrationKey, Spread
from .known_costs import calibration_key
from .pair_costs import PairCosts
from .pass_bench import BULK, PassBench
from .store import save_calibration

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["calibrate", "measured_calibration"]

SECONDS = 20.0
ROWS = tuple(range(1, 10))
CONTEXTS = (64, 2048, 8192)
WANTED_SHARE = 0.03
_FIRST = (1, 2, 4, 9, 3, 5, 7, 6, 8)  # when the time is short, the ends and a middle are known
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


def calibrate(
    engine: Engine,
    seconds: float = SECONDS,
    *,
    clock: Callable[[], float] = time.perf_counter,
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
        calibration = measured_calibration(session, key, seconds, clock=clock)
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
    longest_step: float = math.inf,
    contexts: tuple[int, ...] = CONTEXTS,
) -> Calibration:
    """The same on the calling thread.

    Args:
        clock: seconds, for passes and for the time that is left.
        now: seconds since the epoch.
        is_cancelled: asked before every pass.
        longest_step: seconds that reading in bulk may take at once; a cancel waits for it.
        contexts: lengths to measure at; those that the session cannot hold are left out.

    Raises:
        Cancelled: the reader wants no more; nothing of it is kept.
    """
    from ..this_machine import power_source

    bench = PassBench(session, clock, is_cancelled, longest_step)
    until = clock() + seconds
    fitting = _fitting(session, contexts)
    try:
        loops_until = clock() + _LOOP_SHARE * seconds
        whole, plain = _whole_rounds(session.beside(clock), loops_until, is_cancelled)
        with wired(session.room, session.target.length + fitting[-1] + 2 * BULK):
            measured = _by_context(bench, fitting, until, clock)
    finally:
        release_unused_memory()
    costs = _costs(measured, whole, plain)
    complete = len(measured) == len(fitting)
    every = [figure for figures in measured.values() for figure in figures.values()]
    settled = complete and all(figure.is_settled for figure in every)
    stopped = "interval" if settled else "time"
    return Calibration(key, costs, now(), stopped, _spreads(measured), power_source())


def _fitting(session: Session, contexts: Sequence[int]) -> list[int]:
    """The context lengths that the models can hold, beside what the session's own caches do."""
    most, room = session.pair.context_length, session.room.tokens()
    left = None if room is None else room - session.target.length
    limit = min((each for each in (most, left) if each is not None), default=None)
    return [n for n in contexts if limit is None or n + 2 * BULK <= limit] or [0]


def _by_context(
    bench: PassBench, contexts: Sequence[int], until: float, clock: Callable[[], float]
) -> dict[int, dict[str, _Figure]]:
    """The figures at each context length, as many of them as there is time for; one at least."""
    measured: dict[int, dict[str, _Figure]] = {}
    for context in contexts:
        left = until - clock()
        if measured and left <= 0:
            break
        share = 1.0 if measured or len(contexts) == 1 else _FIRST_CONTEXT_SHARE
        bench.fill(context)
        measured[context] = _context_figures(bench, clock() + share * left, clock)
    return measured


def _costs(measured: dict[int, dict[str, _Figure]], whole: float, plain: float) -> PairCosts:
    """What the figures come to, the shortest context first.

    Args:
        whole, plain: seconds of a round that drafts and of a plain one, see ``_whole_rounds``.
    """
    first = next(iter(measured.values()))
    # The plain loop queues a pass while the last one runs, so its round is not a lone pass.
    alone = _seconds(first, "pass over 1 rows")
    queued = plain / alone if plain > 0 and alone > 0 else 1.0
    overhead = _overhead(_model(first, queued), whole)
    return PairCosts(
        tuple((n, _model(figures, queued, overhead)) for n, figures in measured.items()),
        _seconds(first, "draft reads a token"),
        _seconds(first, "target reads a token"),
        _catch_up(first),
    )


def _spreads(measured: dict[int, dict[str, _Figure]]) -> tuple[Spread, ...]:
    """How well every figure is known, with its context length in its name."""
    return tuple(
        figure.spread(f", {context} tokens")
        for context, figures in measured.items()
        for figure in figures.values()
        if figure.seen
    )


def _whole_rounds(
    session: Session, until: float, is_cancelled: Callable[[], bool] = never
) -> tuple[float, float]:
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
            events = list(session.generate(tokens, loop, is_cancelled=is_cancelled, learns=False))
            if is_cancelled():
                raise Cancelled
            rounds = [event for event in events if isinstance(event, Round)]
            # The first rounds come after a switch, and the last ones may be shorter.
            guesses = _LOOP_LOOKAHEAD if cycles is not seen[0] else 0
            cycles += [
                after.at - before.at
                for before, after in pairwise(rounds[2:])
                if len(after.proposed) == guesses
            ]
        if clock() >= until:
            break
    session.drop_caches()
    plain, *drafting = (median(cycles) if cycles else 0.0 for cycles in seen)
    return (drafting[0] if drafting else 0.0), plain


def _context_figures(
    bench: PassBench, until: float, clock: Callable[[], float]
) -> dict[str, _Figure]:
    """Every figure at one context, measured in turns until all are settled or the time is up.

    The passes over one and over two rows and the draft's are measured whatever they take.
    """
    figures = {figure.name: figure for figure in _figures(bench)}
    needed = {"pass over 1 rows", "pass over 2 rows", "draft pass"}
    for figure in figures.values():
        if figure.name in needed or clock() < until:
            figure.measure()  # compiled, loaded, in the cache: not counted
    while True:
        waiting = [figure for figure in figures.values() if not figure.is_settled]
        for figure in waiting:
            if clock() < until or (figure.name in needed and not figure.seen):
                figure.seen.append(figure.measure())
        if not waiting or clock() >= until:
            return figures


def _figures(bench: PassBench) -> Iterator[_Figure]:
    target, draft = bench.target, bench.draft

    def passes(rows: int) -> Callable[[], float]:
        return lambda: bench.passes(target, rows)

    for rows in _FIRST:
        yield _Figure(f"pass over {rows} rows", passes(rows))
    if draft is not None:
        yield _Figure("draft pass", lambda: bench.passes(draft, 1))
        yield _Figure("draft catches up", lambda: bench.passes(draft, _CATCH_UP))
        yield _Figure("draft reads a token", lambda: bench.reading(draft))
    yield _Figure("target reads a token", lambda: bench.reading(target))


def _seconds(figures: dict[str, _Figure], name: str) -> float:
    figure = figures.get(name)
    return figure.spread().seconds if figure is not None and figure.seen else 0.0


def _catch_up(figures: dict[str, _Figure]) -> float | None:
    """Seconds of a token more in a pass of the draft; None without either pass."""
    one, several = (_seconds(figures, name) for name in ("draft pass", "draft catches up"))
    return max(several - one, 0.0) / (_CATCH_UP - 1) if min(one, several) > 0 else None


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

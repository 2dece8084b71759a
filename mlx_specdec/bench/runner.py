"""The benchmark: every arm on every prompt, in an order that is fair, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..costs.prices import Prices
from ..engine import Engine
from ..errors import SpecdecError
from ..events import Event, Failed, Round
from ..ledger.latency import LatencyLedger
from ..metrics import Metrics, fold
from ..parts import Parts
from ..session import Session
from ..settings import Settings
from .baseline import baseline_events
from .forecast import BenchForecast
from .plan import PLAIN, Arm, BenchPlan, Turn
from .workloads import Workload

__all__ = ["BenchResult", "BenchRunner", "EngineRunner", "Sample", "run_bench"]

WARM_UP_TOKENS = 16
SEED = 20_240_601  # of every run: arms that draw position by position then write the same text


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed run.

    ``predicted`` is the speedup that was written down before it, ``ledger`` where its seconds went.
    """

    turn: Turn
    metrics: Metrics
    tokens: tuple[int, ...]
    predicted: float | None = None
    ledger: LatencyLedger | None = None


@dataclass(slots=True)
class BenchResult:
    """The plan and what was measured of it; less than planned when it was stopped."""

    plan: BenchPlan
    samples: list[Sample] = field(default_factory=list)
    prices: Prices | None = None

    @property
    def is_complete(self) -> bool:
        return len(self.samples) == self.plan.num_turns

    @property
    def num_repeats(self) -> int:
        """Repeats of which every run was finished, of the workloads that were reached."""
        counts: dict[tuple[str, int, str], int] = {}
        for sample in self.samples:
            key = (sample.turn.workload.kind, sample.turn.prompt, sample.turn.arm.name)
            counts[key] = counts.get(key, 0) + 1
        return min(counts.values(), default=0)


class BenchRunner(Protocol):
    """Runs one answer from empty caches."""

    def run(self, prompt: str, arm: Arm, settings: Settings) -> list[Event]: ...

    def warm_up(self, prompt: str, arm: Arm, settings: Settings) -> None:
        """The same, unseen: it teaches nothing of what rounds cost."""
        ...


class EngineRunner:
    """Runs answers on a loaded pair.

    Args:
        clock: seconds, for mlx-lm's loops; ours have the session's.
        system: what the model is told beforehand.
    """

    def __init__(self, engine: Engine, clock: Callable[[], float], system: str = "") -> None:
        self.engine = engine
        self.clock = clock
        self.system = system
        self._profiled: Session | None = None

    def run(self, prompt: str, arm: Arm, settings: Settings) -> list[Event]:
        """One answer's events.

        Raises:
            SpecdecError: what went wrong.
        """
        from ..backend import reset_peak_memory

        engine = self.engine
        session = engine.session
        tokens = self._tokens(prompt, settings)
        engine.thread.call(session.clear)
        engine.thread.call(reset_peak_memory)
        if arm.profile:
            profiled, wanted = self._profiling(), arm.settings(settings)
            return self._events(lambda stop: profiled.generate(tokens, wanted, is_cancelled=stop))
        if not arm.baseline:
            return list(engine.answer(tokens, arm.settings(settings)).events())
        lookahead = arm.lookahead if isinstance(arm.lookahead, int) else None

        return self._events(
            lambda stop: baseline_events(
                session.pair,
                tokens,
                settings.sampling,
                settings.max_tokens or 1,
                lookahead,
                settings.seed or 0,
                self.clock,
            )
        )

    def warm_up(self, prompt: str, arm: Arm, settings: Settings) -> None:
        """One answer that nobody sees and nothing is learned from.

        Raises:
            SpecdecError: what went wrong.
        """
        if arm.profile or arm.baseline:  # neither learns
            self.run(prompt, arm, settings)
            return
        session, wanted = self.engine.session, arm.settings(settings)
        tokens = self._tokens(prompt, settings)
        self._events(lambda stop: session.generate(tokens, wanted, is_cancelled=stop, learns=False))

    def _tokens(self, prompt: str, settings: Settings) -> list[int]:
        session = self.engine.session
        return self.engine.thread.call(
            lambda: session.chat_tokens(prompt, self.system, settings.think)
        )

    def _profiling(self) -> Session:
        """A second session on the same weights, with its caches emptied."""
        engine = self.engine

        def ready() -> Session:
            if self._profiled is None:
                self._profiled = Session(engine.pair, parts=Parts(profile=True))
            self._profiled.clear()
            return self._profiled

        return engine.thread.call(ready)

    def _events(self, job: Callable[[Callable[[], bool]], Iterator[Event]]) -> list[Event]:
        handle = self.engine.thread.submit(job)
        events = list(handle)
        if isinstance(handle.error, SpecdecError):
            raise handle.error
        if events and isinstance(events[-1], Failed):
            raise SpecdecError(events[-1].message, events[-1].hint) from handle.error
        return events


def run_bench(
    plan: BenchPlan,
    runner: BenchRunner,
    prices: Prices | None = None,
    on_turn: Callable[[int, Turn | None], None] = lambda done, turn: None,
    sleep: Callable[[float], None] = lambda seconds: None,
) -> BenchResult:
    """Warm up, look at the pilots, then run every turn; Ctrl-C keeps what is finished.

    Args:
        prices: what passes cost here; with them every drafting run is predicted before it begins.
        on_turn: told before each timed run how many are done; turn None is the warm-up.
        sleep: waits for the cool-down.

    Raises:
        SpecdecError: what went wrong in a run.
    """
    result = BenchResult(plan, prices=prices)
    num_tokens = plan.settings.max_tokens or 1
    forecast = BenchForecast(prices, num_tokens) if prices is not None else None
    try:
        on_turn(0, None)
        _warm_up(plan, runner)
        if forecast is not None:
            _pilots(plan, runner, forecast)
        repeat = 1
        for turn in plan.turns():
            if turn.repeat != repeat and plan.cool_down_seconds:
                sleep(plan.cool_down_seconds)
            repeat = turn.repeat
            on_turn(len(result.samples), turn)
            result.samples.append(_sample(plan, runner, turn, forecast))
    except KeyboardInterrupt:
        if not result.samples:
            raise
    return result


def _sample(
    plan: BenchPlan, runner: BenchRunner, turn: Turn, forecast: BenchForecast | None
) -> Sample:
    predicted = forecast.speedup(turn) if forecast is not None else None
    events = runner.run(
        turn.workload.prompts[turn.prompt], turn.arm, _settings(plan, turn.workload)
    )
    metrics = fold(events)
    if forecast is not None:
        forecast.learn(turn.workload.kind, turn.prompt, turn.arm, events)
    tokens = tuple(t.token for event in events if isinstance(event, Round) for t in event.emitted)
    ledger = LatencyLedger()
    for event in events:
        ledger.add(event)
    return Sample(turn, metrics, tokens, predicted, ledger)


def _warm_up(plan: BenchPlan, runner: BenchRunner) -> None:
    """Each arm once: kernels are compiled, buffers are there, the draft's pages are in memory."""
    prompt = plan.workloads[0].prompts[0]
    limit = min(plan.settings.max_tokens or WARM_UP_TOKENS, WARM_UP_TOKENS)
    for arm in plan.arms:
        runner.warm_up(prompt, arm, _settings(plan, plan.workloads[0]).changed(max_tokens=limit))


def _pilots(plan: BenchPlan, runner: BenchRunner, forecast: BenchForecast) -> None:
    """The first look at what each kind's rounds keep and take, on prompts that are not measured:
    plain decoding once and, of each rule, the arm that looks furthest."""
    ours = [arm for arm in plan.arms if arm.is_ours]
    furthest = {arm.rule: arm for arm in sorted(ours, key=_reach)}
    for workload in plan.workloads:
        for number, pilot in enumerate(workload.pilots):
            for arm in [PLAIN, *furthest.values()] if number == 0 else furthest.values():
                events = runner.run(pilot, arm, _settings(plan, workload))
                forecast.learn(workload.kind, None, arm, events)


def _reach(arm: Arm) -> int:
    """How far an arm is sure to look."""
    return arm.lookahead if isinstance(arm.lookahead, int) else 0


def _settings(plan: BenchPlan, workload: Workload) -> Settings:
    think = plan.settings.think if workload.think is None else workload.think
    return plan.settings.changed(seed=SEED, ignore_eos=True, think=think)


def texts_equal(mine: Sequence[Sample], plain: Sequence[Sample]) -> tuple[int, int]:
    """Runs whose tokens are those of plain decoding on the same prompt, and of how many."""
    reference = {sample.turn.prompt: sample.tokens for sample in plain}
    known = [sample for sample in mine if sample.turn.prompt in reference]
    return sum(s.tokens == reference[s.turn.prompt] for s in known), len(known)


def workload_samples(samples: Sequence[Sample], workload: Workload, arm: Arm) -> list[Sample]:
    """The runs of one arm on one workload, in order."""
    return [
        sample
        for sample in samples
        if sample.turn.workload.kind == workload.kind and sample.turn.arm == arm
    ]

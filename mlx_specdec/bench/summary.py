"""A benchmark's figures: per workload and arm, medians over the repeats with their range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, harmonic_mean, median

from ..metrics import Metrics, end_to_end_speedup, pool, speedup
from .plan import PLAIN, Arm
from .runner import BenchResult, Sample, texts_equal, workload_samples
from .workloads import Workload

PHASES = (
    *("prefill", "draft_prefill", "draft", "verify", "build", "wait", "after"),
    *("unattributed", "lane"),
)

__all__ = [
    "ArmSummary",
    "Interval",
    "WorkloadSummary",
    "mean_speedups",
    "phase_seconds",
    "summarise",
]


@dataclass(frozen=True, slots=True)
class Interval:
    """The median of the repeats, with the lowest and the highest of them."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval | None:
        """None of no values."""
        if not values:
            return None
        return cls(median(values), min(values), max(values), len(values))


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """One arm on one workload (or on all of them).

    ``metrics`` pools every run. The speedups compare with plain decoding of the same repeat, all
    prompts pooled, so that a long answer counts for what it is. ``predicted`` is the harmonic mean
    of what was written down before the runs (the seconds of replies of one length add up), None
    where nothing was. ``seconds`` of all runs by phase, as
    far as the host can know; draft and verify only of a profiled arm.
    """

    arm: Arm
    metrics: Metrics
    tokens_per_second: Interval | None
    speedup: Interval | None
    end_to_end: Interval | None
    predicted: float | None
    equal_texts: tuple[int, int]
    seconds: dict[str, float]

    @property
    def prediction_error(self) -> float | None:
        """Predicted / measured - 1."""
        if self.predicted is None or self.speedup is None:
            return None
        return self.predicted / self.speedup.median - 1


@dataclass(frozen=True, slots=True)
class WorkloadSummary:
    """All arms on one workload."""

    workload: Workload
    arms: tuple[ArmSummary, ...]

    def best_fixed(self) -> ArmSummary | None:
        """The fastest arm of ours with a fixed lookahead, by decoding."""
        fixed = [
            arm
            for arm in self.arms
            if isinstance(arm.arm.lookahead, int) and arm.arm.is_ours and arm.speedup
        ]
        return max(fixed, key=lambda arm: arm.speedup.median if arm.speedup else 0, default=None)


def summarise(result: BenchResult) -> tuple[WorkloadSummary, ...]:
    """Per workload that was reached, every arm that was run on it."""
    found = []
    for workload in result.plan.workloads:
        arms = [
            _arm(workload_samples(result.samples, workload, arm), result.samples, workload, arm)
            for arm in result.plan.arms
            if workload_samples(result.samples, workload, arm)
        ]
        if arms:
            found.append(WorkloadSummary(workload, tuple(arms)))
    return tuple(found)


def mean_speedups(
    summaries: Sequence[WorkloadSummary], arm: Arm
) -> tuple[float | None, float | None]:
    """Geometric means over the workloads of one arm's decode and end-to-end speedups."""
    mine = [item for summary in summaries for item in summary.arms if item.arm == arm]
    decode = [item.speedup.median for item in mine if item.speedup]
    whole = [item.end_to_end.median for item in mine if item.end_to_end]
    return (
        geometric_mean(decode) if decode else None,
        geometric_mean(whole) if whole else None,
    )


def phase_seconds(samples: Sequence[Sample]) -> dict[str, float]:
    """Seconds by phase, added over runs; with ``unattributed`` they make up the lane clocks."""
    ledgers = [sample.ledger for sample in samples if sample.ledger is not None]
    return {name: sum(getattr(each, f"{name}_seconds") for each in ledgers) for name in PHASES}


def _arm(
    mine: Sequence[Sample], everything: Sequence[Sample], workload: Workload, arm: Arm
) -> ArmSummary:
    plain = workload_samples(everything, workload, PLAIN)
    predicted = [sample.predicted for sample in mine if sample.predicted is not None]
    rates = [
        rate
        for repeat in _repeats(mine)
        if (rate := pool(_metrics(mine, repeat)).tokens_per_second) is not None
    ]
    return ArmSummary(
        arm=arm,
        metrics=pool([sample.metrics for sample in mine]),
        tokens_per_second=Interval.of(rates),
        speedup=_ratios(plain, mine, speedup),
        end_to_end=_ratios(plain, mine, end_to_end_speedup),
        predicted=harmonic_mean(predicted) if predicted else None,
        equal_texts=texts_equal(mine, plain),
        seconds=phase_seconds(mine),
    )


def _ratios(
    plain: Sequence[Sample],
    mine: Sequence[Sample],
    ratio: Callable[[Metrics, Metrics], float | None],
) -> Interval | None:
    """Repeat by repeat, over the prompts that both arms finished in it."""
    values = []
    for repeat in _repeats(mine):
        done = {s.turn.prompt for s in mine if s.turn.repeat == repeat} & {
            s.turn.prompt for s in plain if s.turn.repeat == repeat
        }
        if not done:
            continue
        both = [pool(_metrics(arm, repeat, done)) for arm in (plain, mine)]
        value = ratio(both[0], both[1])
        if value is not None:
            values.append(value)
    return Interval.of(values)


def _repeats(samples: Sequence[Sample]) -> list[int]:
    return sorted({sample.turn.repeat for sample in samples})


def _metrics(
    samples: Sequence[Sample], repeat: int, prompts: set[int] | None = None
) -> list[Metrics]:
    return [
        sample.metrics
        for sample in samples
        if sample.turn.repeat == repeat and (prompts is None or sample.turn.prompt in prompts)
    ]

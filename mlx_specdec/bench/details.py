"""What the benchmark's table has no room for: latencies, acceptance in full, memory."""

from __future__ import annotations

from dataclasses import replace

from .. import figures
from ..memory import bytes_text
from ..metrics import Metrics, percentile, pool
from .plan import Arm
from .runner import BenchResult
from .summary import phase_seconds

__all__ = ["bench_detail_lines"]


def bench_detail_lines(result: BenchResult) -> list[str]:
    """Per arm, over all texts: step and token latency, the three acceptance figures, memory."""
    lines = ["Latency of a step and of a token, in ms: p50 / p95 / p99"]
    pooled = {arm: _pooled(result, arm) for arm in result.plan.arms if not arm.profile}
    for arm, metrics in pooled.items():
        step, token = _percentiles(metrics.step_gaps), _percentiles(metrics.token_gaps)
        lines.append(f"  {arm.name:<21} step {step}   token {token}")
    drafting = {arm: metrics for arm, metrics in pooled.items() if metrics.tested}
    if drafting:
        lines += ["", "Guesses: kept of those checked, kept of all, share of the text"]
    for arm, metrics in drafting.items():
        three = (metrics.acceptance_rate, metrics.accepted_per_proposed, metrics.draft_share)
        lines.append(f"  {arm.name:<21} {' / '.join(figures.percent(value) for value in three)}")
        if arm.baseline:
            continue  # its loop does not tell which guess was checked
        lines.append(f"  {'':<21} by place: {figures.by_position(metrics)}")
    peaks = [m.peak_memory_bytes for m in pooled.values() if m.peak_memory_bytes]
    if peaks:
        lines += ["", f"Peak memory of MLX in any run: {bytes_text(max(peaks))}"]
    return [*lines, *_split_lines(result)]


def _split_lines(result: BenchResult) -> list[str]:
    """Where a profiled arm's time went, and what the profiling itself cost."""
    lines: list[str] = []
    for arm in result.plan.arms:
        mine = [sample for sample in result.samples if sample.turn.arm == arm]
        if not arm.profile or not mine:
            continue
        seconds = phase_seconds(mine)
        usual = _pooled(result, replace(arm, name=arm.name.rpartition(",")[0], profile=False))
        rate, usual_rate = _pooled(result, arm).tokens_per_second, usual.tokens_per_second
        cost = ""
        if rate and usual_rate:
            cost = f"; measuring it so cost {max(0.0, 1 - rate / usual_rate):.0%} of the speed"
        lines += ["", f"Where the time of {arm.name} went{cost}"]
        shares = {
            "reading the prompt": seconds["prefill"],
            "the draft reading it": seconds["draft_prefill"],
            "drafting": seconds["draft"],
            "checking": seconds["verify"],
            "host": seconds["build"] + seconds["wait"] + seconds["after"],
            "not accounted for": seconds["unattributed"],
        }
        lines += [
            f"  {name:<21} {value:8.3f} s  {value / seconds['lane']:4.0%}"
            for name, value in shares.items()
        ]
    return lines


def _pooled(result: BenchResult, arm: Arm) -> Metrics:
    return pool([sample.metrics for sample in result.samples if sample.turn.arm == arm])


def _percentiles(values: tuple[float, ...]) -> str:
    found = [percentile(values, p) for p in (50, 95, 99)]
    return " / ".join(figures.UNKNOWN if v is None else f"{v * 1000:.1f}" for v in found)

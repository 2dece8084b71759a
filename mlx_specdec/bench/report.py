"""A benchmark in words: the table, a Markdown block to paste, and the document for JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .. import figures
from ..metrics import to_json
from .plan import PLAIN
from .runner import BenchResult
from .summary import ArmSummary, Interval, WorkloadSummary, mean_speedups, summarise

__all__ = ["BenchPlace", "bench_document", "bench_lines", "bench_markdown"]

_COLUMNS = ("arm", "tok/s", "decoding", "whole", "kept", "a pass", "first", "forecast")
WIDTH = 80
_WIDTHS = (18, 5, 14, 5, 5, 6, 7, 8)
_LEGEND = (
    "decoding: speedup against plain after the first token; whole: with both prefills. "
    "kept: share of the guesses checked; a pass: tokens per target pass; first: seconds to the "
    "first token; forecast: of decoding, written down before each run."
)


@dataclass(frozen=True, slots=True)
class BenchPlace:
    """Where and how a benchmark was run, for whoever reads it elsewhere."""

    pair: str
    quantization: str
    machine: str
    power: str
    versions: Mapping[str, str]
    command: str
    date: str
    is_toy: bool = False


def bench_lines(result: BenchResult) -> list[str]:
    """The terminal's table: a block a workload, the means, and how to read it."""
    summaries = summarise(result)
    lines: list[str] = []
    for summary in summaries:
        title = summary.workload.kind
        words = f", {summary.workload.words}" if summary.workload.words else ""
        lines += ["", f"{title}{words}: {_prompts(summary)}", _row(_COLUMNS)]
        lines += [_row(_cells(arm)) for arm in summary.arms if not arm.arm.profile]
    lines += ["", *_means(result, summaries), *_notes(result, summaries), _LEGEND]
    return [part for line in lines[1:] for part in textwrap.wrap(line, WIDTH) or [""]]


def bench_markdown(result: BenchResult, place: BenchPlace) -> str:
    """A block to paste: where, a table, how it was made."""
    summaries = summarise(result)
    toy = " (a toy: says nothing of real pairs)" if place.is_toy else ""
    power = f", {place.power}" if place.power else ""
    versions = ", ".join(f"{name} {version}" for name, version in place.versions.items() if version)
    lines = [
        f"**{place.pair}**{toy}, {place.quantization}, {place.machine}{power}",
        "",
        f"| text | {' | '.join(_COLUMNS)} |",
        f"|---|---|{'---:|' * (len(_COLUMNS) - 1)}",
    ]
    for summary in summaries:
        for arm in (arm for arm in summary.arms if not arm.arm.profile):
            lines.append(f"| {summary.workload.kind} | {' | '.join(_cells(arm))} |")
    lines += ["", *(line for line in _means(result, summaries)), ""]
    lines += [
        *_notes(result, summaries),
        _LEGEND,
        "",
        f"`{place.command}`, {place.date}, {versions}",
    ]
    return "\n".join(lines) + "\n"


def bench_document(result: BenchResult, place: BenchPlace) -> dict[str, Any]:
    """Everything, for JSON: a list ``workloads``, each with its arms."""
    summaries = summarise(result)
    settings = asdict(result.plan.settings)
    return {
        **asdict(place),
        "complete": result.is_complete,
        "repeats": result.plan.repeats,
        "settings": settings,
        "prices": None if result.prices is None else result.prices.words,
        "workloads": [
            {
                "kind": summary.workload.kind,
                "prompts": list(summary.workload.prompts),
                "pilot": summary.workload.pilot,
                "arms": [_arm_fields(arm) for arm in summary.arms],
            }
            for summary in summaries
        ],
        "means": {
            arm.name: dict(
                zip(("speedup", "end_to_end_speedup"), mean_speedups(summaries, arm), strict=True)
            )
            for arm in result.plan.arms
            if arm != PLAIN
        },
    }


def _arm_fields(arm: ArmSummary) -> dict[str, Any]:
    def interval(value: Interval | None) -> dict[str, Any] | None:
        return None if value is None else asdict(value)

    return {
        "name": arm.arm.name,
        "lookahead": arm.arm.lookahead,
        "rule": arm.arm.rule if arm.arm.drafts else None,
        "baseline": arm.arm.baseline,
        "profiled": arm.arm.profile,
        "tokens_per_second": interval(arm.tokens_per_second),
        "speedup": interval(arm.speedup),
        "end_to_end_speedup": interval(arm.end_to_end),
        "predicted_speedup": arm.predicted,
        "prediction_error": arm.prediction_error,
        "texts_equal_to_plain": arm.equal_texts[0],
        "texts_compared": arm.equal_texts[1],
        "seconds": arm.seconds,
        "metrics": to_json(arm.metrics),
    }


def _row(cells: Sequence[str]) -> str:
    first, *rest = zip(cells, _WIDTHS, strict=True)
    line = f"  {first[0]:<{first[1]}}" + "".join(f" {cell:>{width}}" for cell, width in rest)
    return line.rstrip()


def _cells(arm: ArmSummary) -> tuple[str, ...]:
    metrics = arm.metrics
    speed = arm.tokens_per_second
    return (
        arm.arm.name,
        figures.rate(speed.median if speed else None),
        "" if arm.arm == PLAIN else _interval(arm.speedup),
        ""
        if arm.arm == PLAIN
        else figures.times(arm.end_to_end.median if arm.end_to_end else None),
        figures.percent(metrics.acceptance_rate) if arm.arm.drafts else "",
        f"{metrics.tokens_per_target_pass:.2f}" if metrics.tokens_per_target_pass else "",
        figures.seconds(metrics.ttft_seconds),
        figures.times(arm.predicted) if arm.predicted is not None else "",
    )


def _interval(value: Interval | None) -> str:
    if value is None:
        return figures.UNKNOWN
    if value.count == 1:
        return figures.times(value.median)
    return f"{value.median:.2f} {value.low:.2f}-{value.high:.2f}"


def _prompts(summary: WorkloadSummary) -> str:
    count = len(summary.workload.prompts)
    return f"{count} prompt{'' if count == 1 else 's'}"


def _means(result: BenchResult, summaries: Sequence[WorkloadSummary]) -> list[str]:
    lines = []
    for arm in result.plan.arms:
        if arm == PLAIN or arm.profile:
            continue
        decode, whole = mean_speedups(summaries, arm)
        if decode is not None:
            lines.append(
                f"{arm.name}: {figures.times(decode)} in the mean over texts, "
                f"{figures.times(whole)} end to end."
            )
    return lines


def _notes(result: BenchResult, summaries: Sequence[WorkloadSummary]) -> list[str]:
    repeats = result.num_repeats
    lines = []
    if not result.is_complete:
        lines.append(f"Stopped after {len(result.samples)} of {result.plan.num_turns} runs.")
    if repeats > 1:
        lines.append(f"Medians of {repeats} repeats, with the lowest and the highest of them.")
    else:
        lines.append("One repeat: there is no range, and small differences mean nothing.")
    ours = [arm for s in summaries for arm in s.arms if arm.arm.is_ours]
    if result.plan.settings.sampling.is_greedy and ours:
        equal, count = (sum(arm.equal_texts[i] for arm in ours) for i in (0, 1))
        lines.append(f"Texts equal to plain decoding: {equal} of {count} runs.")
    errors = [abs(arm.prediction_error) for arm in ours if arm.prediction_error is not None]
    if errors and result.prices is not None:
        lines.append(
            f"Forecasts, written before each run from {result.prices.words}, put right by the "
            "runs before, and from other prompts: "
            f"off by {100 * sum(errors) / len(errors):.0f} % on average, "
            f"{100 * max(errors):.0f} % at most."
        )
    return lines

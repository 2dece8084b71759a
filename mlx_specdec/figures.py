"""Figures in words: one place for how rates, shares, seconds and names are written."""

from __future__ import annotations

from pathlib import Path

from .metrics import Metrics
from .model_spec import ModelSpec, PairSpec
from .request import COPY

__all__ = [
    "acceptance",
    "by_position",
    "limit_note",
    "model_label",
    "pair_label",
    "pair_names",
    "percent",
    "rate",
    "seconds",
    "short_name",
    "summary",
    "times",
]

UNKNOWN = "-"


def rate(value: float | None) -> str:
    """Tokens a second: ``27.7``, ``140``; a dash when unknown."""
    if value is None:
        return UNKNOWN
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}"


def times(value: float | None) -> str:
    """A speedup: ``1.80x``."""
    return UNKNOWN if value is None else f"{value:.2f}x"


def seconds(value: float | None) -> str:
    """``0.42 s``; below 10 ms in milliseconds."""
    if value is None:
        return UNKNOWN
    return f"{value * 1000:.1f} ms" if value < 0.01 else f"{value:.2f} s"


def percent(value: float | None) -> str:
    """``73 %``."""
    return UNKNOWN if value is None else f"{value * 100:.0f} %"


def acceptance(metrics: Metrics) -> str:
    """``accepted 73 % (99 of 136)``, or ``not drafting`` where nothing was tested."""
    if metrics.acceptance_rate is None:
        return "not drafting"
    rate_text = percent(metrics.acceptance_rate)
    return f"accepted {rate_text} ({metrics.accepted} of {metrics.tested})"


def by_position(metrics: Metrics) -> str:
    """``1st 76 % (51/67), 2nd 73 % (37/51)``; empty where nothing was tested."""
    names = {1: "1st", 2: "2nd", 3: "3rd"}
    return ", ".join(
        f"{names.get(place, f'{place}th')} {percent(kept / tested)} ({kept}/{tested})"
        for place, (kept, tested) in enumerate(metrics.by_position, start=1)
        if tested
    )


def summary(metrics: Metrics) -> str:
    """The one line after an answer."""
    parts = [f"{metrics.emitted_tokens} token{'' if metrics.emitted_tokens == 1 else 's'}"]
    if metrics.tokens_per_second is not None:
        parts.append(f"{rate(metrics.tokens_per_second)} tokens/s")
    if metrics.tokens_per_target_pass is not None and metrics.acceptance_rate is not None:
        parts.append(f"{metrics.tokens_per_target_pass:.2f} per pass")
    parts.append(acceptance(metrics))
    if metrics.ttft_seconds is not None:
        parts.append(f"first {seconds(metrics.ttft_seconds)}")
    return "  ".join(parts)


def limit_note(reason: str, max_tokens: int | None, is_thinking: bool) -> str:
    """What a person should know about how an answer ended; empty after a natural end."""
    if reason == "length" and is_thinking:
        return f"stopped while thinking (limit {max_tokens}): raise --max-tokens, or --no-think"
    if reason == "length":
        return f"stopped at --max-tokens {max_tokens}"
    if reason == "context":
        where = " while thinking" if is_thinking else ""
        return f"stopped{where}: the model's context is full"
    return ""


def model_label(spec: ModelSpec) -> str:
    """A model's name as people write it: ``Qwen3-14B-4bit``."""
    if spec.path is not None:
        return Path(spec.path).name
    return spec.repo.rsplit("/", 1)[-1] if spec.repo else spec.alias


def short_name(spec: ModelSpec) -> str:
    """A model as ``--target`` takes it: ``qwen3-14b``; of a folder its name, not its path."""
    return spec.alias if spec.path is None else model_label(spec)


def pair_names(pair: PairSpec, joint: str = " + ") -> str:
    """Both in short: ``qwen3-14b + qwen3-0.6b``."""
    names = [short_name(spec) for spec in pair.specs]
    return joint.join([*names, COPY] if pair.copies else names)


def pair_label(pair: PairSpec) -> str:
    """``Qwen3-14B-4bit + 0.6B``: of the draft only what differs; a toy pair says so. Without a
    draft ``Qwen3-14B-4bit``, or ``Qwen3-14B-4bit + copy``."""
    target, draft = pair.target, pair.draft
    first = model_label(target)
    if pair.copies:
        return f"toy {first} + {COPY}" if target.built_in else f"{first} + {COPY}"
    if draft is None:
        return first
    second = model_label(draft)
    mine, its = first.split("-"), second.split("-")
    while len(its) > 1 and len(mine) > 1 and mine[0] == its[0]:
        mine, its = mine[1:], its[1:]
    while len(its) > 1 and len(mine) > 1 and mine[-1] == its[-1]:
        mine, its = mine[:-1], its[:-1]
    label = f"{first} + {'-'.join(its)}"
    return f"toy pair {first} + {second}" if target.built_in else label

"""The one question before a download: what it costs, and what it brings on this machine.

Everything said of speed comes from published tables; the text says so.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal, TextIO

from ..costs.machines import Chip, PublishedForecast, pass_seconds, published_forecast
from ..errors import UsageError
from ..locate import Origin
from ..memory import MemoryNeed, bytes_text, fits
from ..model_spec import ModelSpec
from ..registry import Registry
from .plan import DownloadPlan, ModelPlan

__all__ = ["Answer", "Better", "Machine", "ask", "better_here", "question_lines"]

WIDTH = 80
DEFAULT_CONTEXT = 4096
_NAME_WIDTH = 24
# Tokens a second: below the first people wait, from the second on they do not.
SLOW, COMFORTABLE = 12.0, 20.0
_WHERE: dict[Origin, str] = {
    "built-in": "built in",
    "folder": "in its folder",
    "Hugging Face cache": "in the hub's cache",
    "LM Studio": "in LM Studio",
}


@dataclass(frozen=True, slots=True)
class Machine:
    """This machine, as far as the question needs it.

    ``limit_bytes`` is what the GPU (or, without one, the program) may use of ``memory_bytes``;
    ``chip`` is None when there is no published table for it.
    """

    name: str
    memory_bytes: int
    limit_bytes: int
    chip: Chip | None = None


@dataclass(frozen=True, slots=True)
class Better:
    """A smaller model that would run well here."""

    spec: ModelSpec
    tokens_per_second: float

    @property
    def key(self) -> str:
        """The key that takes it: the first digit of its size."""
        digits = [letter for letter in self.spec.alias.rpartition("-")[2] if letter.isdigit()]
        return digits[0] if digits else "t"


@dataclass(frozen=True, slots=True)
class Answer:
    """``choice``: ``download``, ``better`` (then ``spec`` is what to take), ``forecast`` (time the
    pair's shapes here, then ask again) or ``quit``."""

    choice: Literal["download", "better", "forecast", "quit"]
    spec: ModelSpec | None = None


def better_here(
    registry: Registry, target: ModelSpec, machine: Machine, context: int = DEFAULT_CONTEXT
) -> Better | None:
    """The largest model of the same family that fits with room and runs at a comfortable rate.

    None when the chosen one does already, or when nothing is known.
    """
    chip = machine.chip
    if chip is None or not target.weight_bytes:
        return None
    fit = fits(target, None, context, machine.limit_bytes).verdict
    if fit == "fits" and _rate(chip, target) >= SLOW:
        return None
    candidates = [
        spec
        for spec in registry
        if spec.family == target.family
        and not spec.built_in
        and spec.kind == "dense"
        and spec.weight_bytes < target.weight_bytes
        and _rate(chip, spec) >= COMFORTABLE
        and fits(spec, None, context, machine.limit_bytes).verdict == "fits"
    ]
    best = max(candidates, key=lambda spec: spec.weight_bytes, default=None)
    return None if best is None else Better(best, _rate(chip, best))


def _rate(chip: Chip, spec: ModelSpec) -> float:
    seconds = pass_seconds(chip, spec)
    return 1 / seconds if seconds > 0 else 0.0


def question_lines(
    plan: DownloadPlan,
    machine: Machine,
    need: MemoryNeed,
    forecast: PublishedForecast | None,
    better: Better | None = None,
    last_bytes_per_second: float | None = None,
) -> list[str]:
    """The question as plain lines, at most 80 columns wide, choices last."""
    lines = [*_model_lines(plan), _download_line(plan, last_bytes_per_second), ""]
    source = "no published figures"
    if forecast is not None:
        label = forecast.chip.label
        source = "published figures" + (", scaled" if forecast.chip.is_scaled else f" for {label}")
    size = f"{machine.memory_bytes / 2**30:.0f} GB"
    rest = f", {size} ({source}; nothing measured yet):"
    name = machine.name.removeprefix("Apple ")
    if len(name) + len(rest) + len("  On this ") > WIDTH:
        name = "machine"
    lines.append(f"  On this {name}{rest}")
    lines.append(_fact("memory", _memory_text(machine, need), need.verdict))
    if forecast is not None:
        plain = forecast.plain_tokens_per_second
        words = f"about {_number(plain)} tokens a second"
        lines.append(_fact("plain", words, "slow" if plain < SLOW else ""))
        if forecast.speedups:
            lines.extend(_drafting_lines(forecast))
    if better is not None:
        size, rate = bytes_text(better.spec.weight_bytes), _number(better.tokens_per_second)
        lines += ["", f"  Better here:  {better.spec.alias}  {size}  about {rate} tokens a second"]
    name = plan.models[0].spec.alias
    timing = f"  In a minute, without a download:  mlx-specdec forecast {name}"
    if plan.models[0].spec.has_shape and len(timing) <= WIDTH:
        lines += [*([""] if better is None else []), timing]
    return [*lines, "", f"  {_choices(better)}"]


def _model_lines(plan: DownloadPlan) -> list[str]:
    width = min(_NAME_WIDTH, max(len(model.spec.alias) for model in plan.models))
    lines = []
    for model in plan.models:
        name = model.spec.alias
        if len(name) > width:
            lines.append(f"  {name if len(name) <= WIDTH - 2 else '…' + name[3 - WIDTH :]}")
            name = ""
        bits = f"{model.spec.bits}-bit" if model.spec.bits else ""
        repo = "" if model.spec.alias == model.spec.where else model.spec.where
        left = f"  {name:<{width}} {bytes_text(model.total_bytes):>8}  {bits:>6}  {repo}"
        where = _state(model)
        if len(left) + len(where) + 2 <= WIDTH:
            lines.append(f"{left}{where:>{WIDTH - len(left)}}")
        else:
            lines += [left[:WIDTH], f"{where:>{WIDTH}}"]
    return lines


def _state(model: ModelPlan) -> str:
    if model.complete and model.found is not None:
        return _WHERE[model.found.origin]
    if model.on_disk_bytes:
        return f"{bytes_text(model.fetch_bytes)} still to download"
    return "to download"


def _download_line(plan: DownloadPlan, rate: float | None) -> str:
    text = f"{bytes_text(plan.fetch_bytes)} to download"
    if rate:
        text += f" at your last {bytes_text(rate)}/s: about {_duration(plan.fetch_bytes / rate)}"
    if any(model.sizes_from == "registry" for model in plan.models):
        text += " (the hub did not answer)"
    text += f"; {bytes_text(plan.free_bytes)} free"
    return f"{text:>{WIDTH}}"


def _memory_text(machine: Machine, need: MemoryNeed) -> str:
    if need.verdict == "unknown":
        return "not known before the download"
    limit = f"about {machine.limit_bytes / 1e9:.0f} GB"
    owner = "that macOS lets a GPU use" if machine.chip is not None else "of this machine"
    text = f"{need.total_bytes / 1e9:.1f} of {limit} {owner}"
    if need.context:
        size = f"{need.context // 1024}k" if need.context >= 1024 else str(need.context)
        text += f", {size} context"
    return text


def _drafting_lines(forecast: PublishedForecast) -> list[str]:
    assumed = f"(if {forecast.acceptance:.0%} of the checked guesses are kept)"
    if forecast.parked:
        text = f"{forecast.speedup:.1f}x, so parked: {forecast.reason}"
    else:
        rate = _number(forecast.speculative_tokens_per_second)
        count = forecast.best_lookahead
        guesses = "1 guess" if count == 1 else f"{count} guesses"
        text = f"{forecast.speedup:.1f}x, about {rate} tokens a second with {guesses} a round"
    return [_fact("drafting", text, ""), _fact("", assumed, "")]


def _fact(name: str, text: str, verdict: str) -> str:
    left = f"    {name:<9}{text}"
    return f"{left}{verdict:>{WIDTH - len(left)}}" if verdict else left


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} seconds"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes"
    return f"{seconds / 3600:.1f} hours"


def _choices(better: Better | None) -> str:
    parts = ["[d] download anyway" if better else "[d] download"]
    if better is not None:
        parts.append(f"[{better.key}] take {better.spec.alias}")
    return "   ".join([*parts, "[f] forecast", "[q] quit"])


def ask(
    plan: DownloadPlan,
    machine: Machine,
    registry: Registry,
    *,
    yes: bool = False,
    context: int = DEFAULT_CONTEXT,
    last_bytes_per_second: float | None = None,
    source: TextIO | None = None,
    output: TextIO | None = None,
) -> Answer:
    """Ask on the terminal whether to download; without a question when there is nothing to fetch.

    Args:
        yes: take it as answered (``--yes``).
        source, output: where the answer is read and the question written; standard input and
            standard error.

    Raises:
        DiskFullError: it would not fit on the disk, whatever the answer.
        UsageError: there is nobody to ask.
    """
    plan.check_disk()
    if yes or plan.complete:
        return Answer("download")
    source, output = source or sys.stdin, output or sys.stderr
    names = "+".join(model.spec.alias for model in plan.models)
    if not source.isatty():
        raise UsageError(
            f"{names} must be downloaded first ({bytes_text(plan.fetch_bytes)}), "
            "and there is no terminal to ask on.",
            f"Add --yes, or run `mlx-specdec pull {names}`.",
        )
    target = plan.models[0].spec
    draft = plan.models[1].spec if len(plan.models) > 1 else None
    need = fits(target, draft, context, machine.limit_bytes)
    forecast = published_forecast(machine.chip, target, draft, context) if machine.chip else None
    better = better_here(registry, target, machine, context)
    lines = question_lines(plan, machine, need, forecast, better, last_bytes_per_second)
    output.write("\n".join(["", *lines]) + "  > ")
    return _read_answer(better, source, output)


def _read_answer(better: Better | None, source: TextIO, output: TextIO) -> Answer:
    """Ask until a line begins with one of the keys; the end of the input is ``quit``."""
    while True:
        output.flush()
        line = source.readline()
        letter = line.strip().lower()[:1]
        if not line or letter == "q":
            return Answer("quit")
        if letter == "d":
            return Answer("download")
        if letter == "f":
            return Answer("forecast")
        if better is not None and letter == better.key:
            return Answer("better", better.spec)
        output.write(f"  {_choices(better)}  > ")

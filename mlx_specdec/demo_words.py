"""A demo's result in words: the sentence on top, the table, the line that people share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .demo import DemoResult, Lane
from .figures import acceptance, by_position, pair_label, percent, rate, seconds, times
from .model_spec import PairSpec
from .settings import Settings

__all__ = ["Circumstances", "headline", "result_lines", "share_line"]

_SAME_SPEED = (0.97, 1.03)
_SHARED_FROM = 100  # tokens; from fewer no rate is worth a word


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a result depends on, and a shared one must name.

    ``power`` is empty where the system does not say; ``prompt_id`` where the prompt is a person's
    own.
    """

    pair: PairSpec
    machine: str
    power: str
    mlx_version: str
    prompt_id: str
    runs: int

    @property
    def is_toy(self) -> bool:
        return bool(self.pair.target.built_in)


def headline(result: DemoResult, settings: Settings, is_toy: bool) -> list[str]:
    """One plain sentence, which can also say "slower"; a second one about a toy."""
    lines = [_verdict(result, settings)]
    if is_toy:
        lines.append(
            "This is the built-in toy pair: it shows how drafting works, not what it says or gains."
        )
    return lines


def _verdict(result: DemoResult, settings: Settings) -> str:
    fast, speed = result.speculative.metrics, result.speedup
    if speed is None:
        return "The answer is too short to compare speeds."
    if fast.acceptance_rate is None:
        return "Nothing was drafted, so there is nothing to gain."
    passes = f"{fast.target_passes} passes of the target instead of {_passes(result.standard)}"
    low, high = _SAME_SPEED
    same = "The same words" if result.identical else "Other words"
    if speed > high:
        return f"{same}, {speed:.2f} times as fast: {passes}."
    if speed >= low:
        return f"{same} at the same speed ({times(speed)}): {passes}."
    per_pass = f"{fast.tokens_per_target_pass or 0:.2f} tokens a pass"
    return f"{same}, and slower ({times(speed)}): {per_pass} do not pay for the drafting here."


def _passes(lane: Lane) -> int:
    return lane.metrics.target_passes


def result_lines(result: DemoResult, settings: Settings, runs: int) -> list[str]:
    """The figures of both lanes, each beside its name."""
    plain, fast = result.standard.metrics, result.speculative.metrics
    lines = [
        f"{'':13}{'tokens/s':>9}{'tokens':>8}{'passes':>8}{'per pass':>10}{'first token':>13}"
        f"{'in all':>9}",
        _lane_line("standard", result.standard),
        _lane_line("speculative", result.speculative),
        "",
        f"speedup      {times(result.speedup)} after the first token, "
        f"{times(result.end_to_end_speedup)} from the request on",
    ]
    if fast.acceptance_rate is None:
        lines.append("acceptance   not drafting")
    else:
        lines.append(
            f"acceptance   {acceptance(fast)[len('accepted ') :]}; "
            f"of all {fast.proposed} proposed {percent(fast.accepted_per_proposed)}"
        )
        lines += _wrapped("by position  ", by_position(fast))
        lines.append(
            f"draft        {seconds(fast.draft_prefill_seconds)} to read the prompt itself, "
            "in its first round"
        )
    lines.append(f"texts        {_comparison(result, settings)}")
    spread = ""
    if len(result.speedups) > 1:
        spread = f"; speedup {times(min(result.speedups))} to {times(max(result.speedups))}"
    lines.append(f"runs         {runs} of each{', in alternation, medians' * (runs > 1)}{spread}")
    if plain.decode_tokens == 0:
        lines.append("An answer of one token has no speed.")
    return lines


def _wrapped(name: str, text: str, width: int = 80) -> list[str]:
    lines, current = [], name
    for part in text.split(", "):
        if len(current) + len(part) + 2 > width:
            lines.append(f"{current.rstrip()}")
            current = " " * len(name)
        current += f"{part}, "
    return [*lines, current.rstrip(", ")]


def _lane_line(name: str, lane: Lane) -> str:
    figures = lane.metrics
    per_pass = figures.tokens_per_target_pass
    return (
        f"{name:13}{rate(figures.tokens_per_second):>9}{figures.emitted_tokens:>8}"
        f"{figures.target_passes:>8}{'-' if per_pass is None else f'{per_pass:.2f}':>10}"
        f"{seconds(figures.ttft_seconds):>13}{seconds(figures.end_to_end_seconds):>9}"
    )


def _comparison(result: DemoResult, settings: Settings) -> str:
    count = len(result.speculative.tokens)
    found = result.difference
    if found is None:
        return f"{count} of {count} tokens identical"
    where = f"different from token {found.index + 1} on"
    if settings.sampling.temperature > 0 and settings.rule != "coupled":
        return f"{where}: rule {settings.rule} draws anew from the same law"
    return (
        f"{where}: {found.standard!r} (standard) or {found.speculative!r}, "
        f"scores {found.margin:.2g} apart"
    )


def share_line(result: DemoResult, settings: Settings, where: Circumstances) -> str:
    """The result in one line; empty when it is not worth one (fewer than 100 tokens)."""
    count = min(len(result.standard.tokens), len(result.speculative.tokens))
    fast = result.speculative.metrics
    if count < _SHARED_FROM or result.speedup is None or fast.acceptance_rate is None:
        return ""
    rates = f"{rate(result.standard.metrics.tokens_per_second)} -> {rate(fast.tokens_per_second)}"
    found = result.difference
    equal = f"{count}/{count} tokens equal"
    if found is not None:
        equal = f"different from token {found.index + 1} (gap {found.margin:.2g})"
    temperature = settings.sampling.temperature
    parts: Sequence[str] = (
        f"{rates} tok/s ({times(result.speedup)})",
        equal,
        f"{fast.tokens_per_target_pass or 0:.2f} a pass",
        f"temp {temperature:g}" + (f", rule {settings.rule}" if temperature else ""),
        f"prompt {where.prompt_id or 'own'}",
        f"{where.runs} run{'' if where.runs == 1 else 's'}",
        where.power,
        f"mlx {where.mlx_version}",
    )
    label = pair_label(where.pair.target, where.pair.draft)
    return f"{label}, {where.machine}: " + ", ".join(part for part in parts if part)

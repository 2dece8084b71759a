"""A demo's result in words: the sentence on top, the table, the line that people share."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from ..events import Round
from ..figures import acceptance, by_position, pair_label, percent, rate, seconds, times
from ..forecast.prediction import Score, score_words
from ..metrics import Metrics
from ..model_spec import PairSpec
from ..request import AUTO, COPY
from ..settings import Settings
from .demo_result import DemoResult, Lane

__all__ = [
    "Circumstances",
    "forecast_lines",
    "headline",
    "result_lines",
    "share_line",
    "why_no_line",
]

_SAME_SPEED = (0.97, 1.03)
_SHARED_FROM = 100  # tokens; from fewer no rate is worth a word


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a result depends on, and a shared one must name.

    ``power`` is empty where the system does not say; ``prompt_id`` where the prompt is a person's
    own. ``retimed`` says whose published costs replaced the clock; empty for a measured race.
    ``forecast`` is what was said of the speedup before the run, beside what it was.
    """

    pair: PairSpec
    machine: str
    power: str
    mlx_version: str
    prompt_id: str
    runs: int
    forecast: Score | None = None
    retimed: str = ""

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
        return _undrafted(result)
    passes = f"{fast.target_passes} passes of the target instead of {_passes(result.standard)}"
    low, high = _SAME_SPEED
    same = "The same words" if result.identical else "Other words"
    if speed > high:
        return f"{same}, {speed:.2f} times as fast: {passes}."
    if speed >= low:
        return f"{same} at the same speed ({times(speed)}): {passes}."
    per_pass = f"{fast.tokens_per_target_pass or 0:.2f} tokens a pass"
    return f"{same}, and slower ({times(speed)}): {per_pass} do not pay for the drafting here."


def _undrafted(result: DemoResult) -> str:
    events = result.race.speculative if result.race is not None else ()
    notes = [event.note for event in events if isinstance(event, Round) and event.note]
    if not notes:
        return "Nothing was drafted, so there is nothing to gain."
    # While a plain pass is measured the note gives no reason.
    reasons = [reason for note in notes if (reason := note.partition(": ")[2])]
    because = f": {reasons[-1]}" if reasons else ""
    if result.race is not None and result.race.header.draft == COPY:
        return f"Nothing was copied, and nothing is lost{because}."
    if not reasons:
        return "Nothing was drafted, and nothing is lost."
    return f"Drafting does not pay here, so it was parked and nothing is lost{because}."


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
        lines.append(f"lookahead    {lookahead_words(settings, fast)}")
        if fast.draft_prefill_seconds > 0:
            lines.append(
                f"draft        {seconds(fast.draft_prefill_seconds)} to read the prompt itself, "
                "in its first round"
            )
    lines.append(f"texts        {_comparison(result, settings)}")
    spread = ""
    if len(result.speedups) > 1:
        spread = f"; speedup {times(min(result.speedups))} to {times(max(result.speedups))}"
    lines.append(f"races        {runs}{', medians' * (runs > 1)}{spread}")
    if plain.decode_tokens == 0:
        lines.append("An answer of one token has no speed.")
    return lines


def forecast_lines(where: Circumstances, width: int = 80) -> list[str]:
    """What was forecast beside what was measured; nothing when there was no forecast."""
    if where.forecast is None:
        return []
    return textwrap.wrap(
        score_words(where.forecast),
        width,
        initial_indent="forecast     ",
        subsequent_indent=" " * 13,
    )


def lookahead_words(settings: Settings, metrics: Metrics) -> str:
    """``3``; of the adaptive one ``3 auto``: guesses in a round that drafts, on average; and how
    often it did not."""
    if settings.lookahead != AUTO:
        return str(settings.lookahead)
    drafting = metrics.drafting_rounds
    if not drafting:
        return "0 auto"
    parked = metrics.target_passes - drafting
    words = f"{metrics.proposed / drafting:.0f} auto"
    return (
        f"{words}; {parked} of {metrics.target_passes} passes without guesses" if parked else words
    )


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


def why_no_line(result: DemoResult, where: Circumstances) -> str:
    """Why there is no line to share, as a sentence; empty where there is one."""
    if where.retimed:
        return "No line to share: the race was re-timed, not measured."
    if min(len(result.standard.tokens), len(result.speculative.tokens)) < _SHARED_FROM:
        return f"No line to share: it takes an answer of at least {_SHARED_FROM} tokens."
    if result.speculative.metrics.acceptance_rate is None:
        return "No line to share: nothing was drafted."
    return "" if result.speedup is not None else "No line to share: the speeds cannot be compared."


def share_line(result: DemoResult, settings: Settings, where: Circumstances) -> str:
    """The result in one line; empty when it is not worth one: fewer than 100 tokens, nothing
    drafted, or a clock that was put in afterwards."""
    count = min(len(result.standard.tokens), len(result.speculative.tokens))
    fast = result.speculative.metrics
    if why_no_line(result, where):
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
        f"lookahead {lookahead_words(settings, fast).partition(';')[0]}",
        f"temp {temperature:g}" + (f", rule {settings.rule}" if temperature else ""),
        f"prompt {where.prompt_id or 'own'}",
        f"{where.runs} run{'' if where.runs == 1 else 's'}",
        where.power,
        f"mlx {where.mlx_version}",
    )
    label = pair_label(where.pair)
    return f"{label}, {where.machine}: " + ", ".join(part for part in parts if part)

"""The demo: the same prompt without and with drafting, in alternation; medians and a comparison.

A lane is one way of decoding. Both start from empty caches in every run, so that the reading of
the prompt counts, and which one goes first changes from run to run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from .backend import reset_peak_memory
from .engine import Engine
from .events import Emitted, Event, Finished, Round
from .metrics import Metrics, end_to_end_speedup, fold, speedup
from .settings import Settings

__all__ = ["DemoResult", "Difference", "Lane", "first_difference", "run_demo"]

WARM_UP_TOKENS = 12


@dataclass(frozen=True, slots=True)
class Lane:
    """One way of decoding: its text, and the figures of the run with the median speed.

    ``runs`` are the figures of every run.
    """

    text: str
    emitted: tuple[Emitted, ...]
    finish_reason: str
    metrics: Metrics
    runs: tuple[Metrics, ...]

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(token.token for token in self.emitted)


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two texts part: token ``index`` (from 0), what each lane has there, and how close
    the standard lane's choice was (the gap between its two best scores)."""

    index: int
    standard: str
    speculative: str
    margin: float


@dataclass(frozen=True, slots=True)
class DemoResult:
    """Both lanes of a demo.

    ``speedup`` is of decoding after the first token, at the medians; ``end_to_end_speedup`` with
    both prefills; ``speedups`` per run. ``difference`` is None when the tokens are identical.
    """

    standard: Lane
    speculative: Lane
    speedup: float | None
    end_to_end_speedup: float | None
    speedups: tuple[float, ...]
    difference: Difference | None

    @property
    def identical(self) -> bool:
        return self.difference is None


def run_demo(
    engine: Engine,
    prompt_tokens: Sequence[int],
    settings: Settings,
    runs: int = 3,
    on_run: Callable[[int, str], None] = lambda run, lane: None,
) -> DemoResult:
    """Warm both lanes up, then time each ``runs`` times.

    Args:
        settings: as for any answer; ``seed`` is kept the same for every run when it is given.
        on_run: told before each run: its number (0 is the warm-up) and the lane's name.

    Raises:
        SpecdecError: what went wrong in a run.
    """
    lanes = {
        "standard": settings.changed(draft=False),
        "speculative": settings.changed(draft=True),
    }
    warm_up = min(settings.max_tokens or WARM_UP_TOKENS, WARM_UP_TOKENS)
    for name, wanted in lanes.items():
        on_run(0, name)
        _run(engine, prompt_tokens, wanted.changed(max_tokens=warm_up))
    events: dict[str, list[list[Event]]] = {name: [] for name in lanes}
    for run in range(1, runs + 1):
        order = list(lanes) if run % 2 else list(reversed(lanes))
        for name in order:
            on_run(run, name)
            events[name].append(_run(engine, prompt_tokens, lanes[name]))
    return _result(_lane(events["standard"]), _lane(events["speculative"]))


def _run(engine: Engine, prompt_tokens: Sequence[int], settings: Settings) -> list[Event]:
    engine.thread.call(engine.session.clear)
    engine.thread.call(reset_peak_memory)
    return list(engine.answer(prompt_tokens, settings).events())


def _lane(runs: list[list[Event]]) -> Lane:
    folded = [fold(events) for events in runs]
    by_speed = sorted(range(len(runs)), key=lambda i: folded[i].seconds_per_token or 0.0)
    middle = by_speed[(len(by_speed) - 1) // 2]
    emitted: list[Emitted] = []
    reason = trailing = ""
    for event in runs[middle]:
        if isinstance(event, Round):
            emitted += event.emitted
        elif isinstance(event, Finished):
            reason, trailing = event.reason, event.trailing_text
    text = "".join(token.text for token in emitted) + trailing
    return Lane(text, tuple(emitted), reason, folded[middle], tuple(folded))


def _result(standard: Lane, speculative: Lane) -> DemoResult:
    pairs = list(zip(standard.runs, speculative.runs, strict=True))
    whole = [ratio for plain, fast in pairs if (ratio := end_to_end_speedup(plain, fast))]
    return DemoResult(
        standard=standard,
        speculative=speculative,
        speedup=speedup(standard.metrics, speculative.metrics),
        end_to_end_speedup=median(whole) if whole else None,
        speedups=tuple(ratio for plain, fast in pairs if (ratio := speedup(plain, fast))),
        difference=first_difference(standard.emitted, speculative.emitted),
    )


def first_difference(
    standard: Sequence[Emitted], speculative: Sequence[Emitted]
) -> Difference | None:
    """Where two answers part, None when they hold the same tokens."""
    for index, (one, other) in enumerate(zip(standard, speculative, strict=False)):
        if one.token != other.token:
            return Difference(index, one.text, other.text, one.margin)
    if len(standard) == len(speculative):
        return None
    index = min(len(standard), len(speculative))
    rest = [lane[index].text if index < len(lane) else "" for lane in (standard, speculative)]
    margin = standard[index].margin if index < len(standard) else 0.0
    return Difference(index, rest[0], rest[1], margin)

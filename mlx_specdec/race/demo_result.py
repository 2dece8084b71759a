"""A demo's result: both lanes of one race or of several, their figures and their comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ..events import Emitted, Event, Finished, Round
from ..metrics import Metrics, end_to_end_speedup, fold, speedup
from .difference import Difference, first_difference
from .recording import SPECULATIVE, STANDARD, Recording

__all__ = ["DemoResult", "Lane", "demo_result"]


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
class DemoResult:
    """Both lanes of a demo.

    ``speedup`` is of decoding after the first token, at the medians; ``end_to_end_speedup`` with
    both prefills; ``speedups`` per run. ``difference`` is None when the tokens are identical.
    ``races`` are all of them, ``race`` is the one with the median speedup.
    """

    standard: Lane
    speculative: Lane
    speedup: float | None
    end_to_end_speedup: float | None
    speedups: tuple[float, ...]
    difference: Difference | None
    races: tuple[Recording, ...] = ()
    race: Recording | None = None

    @property
    def identical(self) -> bool:
        return self.difference is None


def demo_result(races: Sequence[Recording]) -> DemoResult:
    """What one race or several of one prompt came to; at least one."""
    standard = _lane([race.lane(STANDARD) for race in races])
    speculative = _lane([race.lane(SPECULATIVE) for race in races])
    pairs = list(zip(standard.runs, speculative.runs, strict=True))
    whole = [ratio for plain, fast in pairs if (ratio := end_to_end_speedup(plain, fast))]
    ratios = [speedup(plain, fast) for plain, fast in pairs]
    return DemoResult(
        standard=standard,
        speculative=speculative,
        speedup=speedup(standard.metrics, speculative.metrics),
        end_to_end_speedup=median(whole) if whole else None,
        speedups=tuple(ratio for ratio in ratios if ratio),
        difference=first_difference(standard.emitted, speculative.emitted),
        races=tuple(races),
        race=races[_middle([ratio or 0.0 for ratio in ratios])],
    )


def _middle(values: Sequence[float]) -> int:
    """Index of the median; of two in the middle the lower."""
    return sorted(range(len(values)), key=values.__getitem__)[(len(values) - 1) // 2]


def _lane(runs: Sequence[Sequence[Event]]) -> Lane:
    folded = [fold(events) for events in runs]
    middle = _middle([figures.seconds_per_token or 0.0 for figures in folded])
    emitted: list[Emitted] = []
    reason = trailing = ""
    for event in runs[middle]:
        if isinstance(event, Round):
            emitted += event.emitted
        elif isinstance(event, Finished):
            reason, trailing = event.reason, event.trailing_text
    text = "".join(token.text for token in emitted) + trailing
    return Lane(text, tuple(emitted), reason, folded[middle], tuple(folded))

"""Prices: what a round costs here and where that is known from, for whoever shows or explains it.

Three sources, the best one wins: passes measured on this machine, published figures of its chip,
or one run's own totals. The words always say which.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Literal, Protocol

from ..events import Event, Round
from ..ledger.latency import LatencyModel
from ..model_spec import PairSpec
from .machines import Chip
from .pair_costs import PairCosts, published_costs

if TYPE_CHECKING:
    from .calibration import Calibration

__all__ = ["Prices", "Source", "known_prices", "run_prices", "usual_rounds"]

Source = Literal["measured", "published", "run"]
_MIN_ROUNDS = 3  # fewer rounds at a lookahead say nothing of it, when another was seen more often
_SMALLEST_SHARE = 1e-3  # of a plain pass: what is left for a check that seems to cost nothing


class HasChip(Protocol):
    """A machine, as far as prices need it."""

    @property
    def chip(self) -> Chip | None: ...


@dataclass(frozen=True, slots=True)
class Prices:
    """What a round costs, and where that is known from.

    Args:
        model: the arithmetic, at the context length that was asked for.
        source: measured (on this machine), published (tables of its chip) or run (one race).
        words: the source as a person reads it, such as ``published figures for M3 Pro``.
        costs: the same by context length; None for a run's own totals.
    """

    model: LatencyModel
    source: Source
    words: str
    costs: PairCosts | None = None

    def without_draft(self) -> Prices:
        """The same where guesses cost nothing: they are copied, not drafted."""
        costs = None if self.costs is None else self.costs.without_draft()
        return replace(self, model=replace(self.model, draft_cost=0.0), costs=costs)


def known_prices(
    pair: PairSpec,
    machine: HasChip | None,
    calibration: Calibration | None = None,
    now: float = 0.0,
    context: int = 0,
) -> Prices | None:
    """What is known before anything runs; None when nothing is.

    Args:
        machine: this machine, with its chip's published table if there is one.
        calibration: an earlier one of this machine, MLX, pair and quantisation (see
            ``calibration_store``).
        now: seconds since the epoch, for the age of the calibration.
        context: tokens in the cache.
    """
    if calibration is not None:
        return calibration.prices(now, context)
    chip = machine.chip if machine is not None else None
    costs = published_costs(chip, pair.target, pair.draft) if chip is not None else None
    if chip is None or costs is None:
        return None
    scaled = " (scaled from its generation)" if chip.is_scaled else ""
    words = f"published figures for {chip.label}{scaled}"
    return Prices(costs.at(context), "published", words, costs)


def run_prices(
    standard: Sequence[Event],
    speculative: Sequence[Event],
    draft_cost: float | None = None,
    *,
    standard_edges: Collection[int] = (),
    speculative_edges: Collection[int] = (),
) -> Prices | None:
    """What one race says of its own rounds; None while a lane has too few of them.

    The plain pass is the median of the standard lane's rounds, the cycle at each lookahead seen
    the median of its rounds (one statistic for both, or a few slow rounds would favour one), the
    overhead what the host did after its read while the device waited. How the rest divides
    between drafting and checking the host cannot know: the draft is charged ``draft_cost`` plain
    passes a guess where that is given, half of the extra seconds otherwise, and never more than
    there are.

    Args:
        standard: events of the plain lane.
        speculative: events of the drafting lane.
        draft_cost: one pass of the draft in passes of the target, known from elsewhere.
        standard_edges, speculative_edges: indices of rounds next to a switch of lanes (see
            ``LaneEvent``), which do not count where a lane has others.
    """
    plain = [seconds for _, seconds in _cycles(standard, standard_edges)]
    drafted = defaultdict(list)
    after = []
    for event, seconds in _cycles(speculative, speculative_edges):
        if event.proposed:
            drafted[len(event.proposed)].append(seconds)
            after.append(event.timings.after_seconds)
    if not plain or not drafted:
        return None
    target_seconds = median(plain)
    enough = {g: seen for g, seen in drafted.items() if len(seen) >= _MIN_ROUNDS} or drafted
    cycles = {g: median(seen) for g, seen in sorted(enough.items())}
    if target_seconds <= 0 or min(cycles.values()) <= 0:
        return None
    model = _divided(target_seconds, cycles, median(after), draft_cost)
    words = "this run's own totals; drafting and checking divided by estimate"
    return Prices(model, "run", words)


def _cycles(events: Sequence[Event], lane_edges: Collection[int]) -> list[tuple[Round, float]]:
    """Rounds with the seconds from the read before to theirs. Edge rounds are left out: the
    first after a switch between the two loops, one in which the draft read the prompt, what was
    cut at the end, and those next to a switch of lanes unless all are."""
    found = list(usual_rounds(events))
    inside = [(event, seconds) for event, seconds in found if event.index not in lane_edges]
    return inside or found


def usual_rounds(events: Sequence[Event]) -> Iterator[tuple[Round, float]]:
    """Rounds with the seconds from the read before to theirs, but for the first one after a
    switch between the two loops, one in which the draft read the prompt, and what was cut."""
    rounds = [event for event in events if isinstance(event, Round)]
    for before, event in pairwise(rounds):
        is_switch = bool(before.proposed) != bool(event.proposed)
        is_cut = bool(event.proposed) and len(event.emitted) <= event.num_accepted
        if not is_switch and not is_cut and not event.timings.draft_prefill_seconds:
            yield event, event.at - before.at


def _divided(
    target_seconds: float,
    cycles: dict[int, float],
    after_seconds: float,
    draft_cost: float | None,
) -> LatencyModel:
    """A model whose cycle at every lookahead seen is what was seen."""
    smallest = _SMALLEST_SHARE * target_seconds
    room = min(cycles.values()) - smallest
    overhead = min(max(after_seconds, 0.0), max(room, 0.0))
    extra = [(seconds - overhead - target_seconds) / g for g, seconds in cycles.items()]
    most = max(min(extra), 0.0)
    wanted = most / 2 if draft_cost is None else draft_cost * target_seconds
    draft_seconds = min(wanted, most)
    table = [(1, target_seconds)]
    for g, seconds in cycles.items():
        table.append((g + 1, max(seconds - overhead - g * draft_seconds, smallest)))
    return LatencyModel.measured(table, draft_seconds, overhead)

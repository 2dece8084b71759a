"""What a benchmark expects of a run before it begins: from calibration and from other prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import mean, median

from ..costs.cost_table import CostTable
from ..costs.pair_costs import PairCosts
from ..costs.prices import Prices, usual_rounds
from ..events import Event, Round
from ..forecast.reply import drafting_seconds
from ..metrics import fold
from .plan import Arm, Turn

__all__ = ["AcceptanceSeen", "BenchForecast"]

_MIN_ROUNDS = 3  # of a run at one lookahead, that say what it costs
_ENOUGH_PROMPTS = 2  # other prompts of a kind, that tell more than its pilots do
_RECENT = 15  # runs of a kind whose beginnings count
# A prior of one guess kept of two at every place: it stands in where nothing was seen.
_PRIOR_KEPT, _PRIOR_TESTED = 1.0, 2.0


@dataclass(slots=True)
class AcceptanceSeen:
    """Counts by kind of text, rule and prompt; prompt None is the kind's pilot."""

    _counts: dict[tuple[str, str], dict[int | None, list[tuple[int, int]]]] = field(
        default_factory=dict
    )

    def add(
        self, kind: str, prompt: int | None, rule: str, by_position: Sequence[tuple[int, int]]
    ) -> None:
        """Take in one run's (kept, tested) by position."""
        counts = self._counts.setdefault((kind, rule), {}).setdefault(prompt, [])
        for place, (kept, tested) in enumerate(by_position):
            if place == len(counts):
                counts.append((0, 0))
            counts[place] = (counts[place][0] + kept, counts[place][1] + tested)

    def others(self, kind: str, prompt: int, rule: str) -> list[float] | None:
        """Chance by position from all prompts of the kind but this one; None before any.

        Pilots stand in while few others were run: what is peculiar to them would else be in every
        forecast and in nothing that is measured. At a place that was seldom reached the chance
        over all places counts as two more guesses.
        """
        prompts = self._counts.get((kind, rule), {})
        besides = {n: counts for n, counts in prompts.items() if n != prompt and counts}
        measured = [counts for number, counts in besides.items() if number is not None]
        used = measured if len(measured) >= _ENOUGH_PROMPTS else list(besides.values())
        if not used:
            return None
        depth = max(len(counts) for counts in used)
        kept = [sum(c[i][0] for c in used if i < len(c)) for i in range(depth)]
        tested = [sum(c[i][1] for c in used if i < len(c)) for i in range(depth)]
        overall = (sum(kept) + _PRIOR_KEPT) / (sum(tested) + _PRIOR_TESTED)
        return [(k + 2 * overall) / (t + 2) for k, t in zip(kept, tested, strict=True)]


@dataclass(slots=True)
class _ArmRuns:
    """Rounds by lookahead, and the tokens that they gave, of one arm's runs on one prompt."""

    rounds: Counter[int] = field(default_factory=Counter)
    num_tokens: int = 0

    def add(self, rounds: Sequence[Round]) -> None:
        self.rounds.update(len(event.proposed) for event in rounds)
        self.num_tokens += sum(len(event.emitted) for event in rounds)

    def seconds_per_token(self, cycle_seconds: Callable[[int], float]) -> float:
        """At today's prices."""
        seconds = sum(count * cycle_seconds(g) for g, count in self.rounds.items())
        return seconds / self.num_tokens


class BenchForecast:
    """Predicts a run's speedup of decoding, from what is known before it.

    What rounds cost: the calibration, corrected by the rounds of every run so far, plain and
    drafting ones alike, so that a machine that has changed since does so for both. Which rounds
    there will be: those of the same arm on other prompts of the kind, as soon as there are a few;
    until then the arithmetic of what was kept by place, an end included that leaves no room for
    all guesses. What stands before them: what the first guesses of runs took beyond a usual round,
    above all the draft's reading of the prompt.

    Args:
        prices: measured before anything is predicted.
        num_tokens: of every reply.
    """

    def __init__(self, prices: Prices, num_tokens: int) -> None:
        costs = prices.costs or PairCosts(((0, prices.model),))
        self._costs = CostTable(costs)
        self._num_tokens = num_tokens
        self._seen = AcceptanceSeen()
        self._arm_runs: dict[tuple[str, Arm], dict[int, _ArmRuns]] = {}
        self._beginnings: dict[str, list[float]] = {}
        self._prompt_tokens: dict[str, list[int]] = {}

    def learn(self, kind: str, prompt: int | None, arm: Arm, events: Sequence[Event]) -> None:
        """Take in one run of an arm; prompt None is one that is not measured."""
        if arm.baseline or arm.profile:
            return
        metrics = fold(events)
        self._prompt_tokens.setdefault(kind, []).append(metrics.prompt_tokens)
        cycles: dict[int, list[tuple[int, float]]] = {}
        for event, seconds in usual_rounds(events):
            cycles.setdefault(len(event.proposed), []).append((event.position, seconds))
        for lookahead, found in cycles.items():
            if len(found) >= _MIN_ROUNDS and lookahead <= self._costs.max_lookahead:
                context = round(mean(position for position, _ in found))
                self._costs.record(lookahead, context, mean(seconds for _, seconds in found))
        if arm.drafts:
            rounds = [event for event in events if isinstance(event, Round)]
            self._seen.add(kind, prompt, arm.rule, metrics.by_position)
            self._learn_beginning(kind, rounds)
            if prompt is not None and len(rounds) > 1:
                runs = self._arm_runs.setdefault((kind, arm), {})
                runs.setdefault(prompt, _ArmRuns()).add(rounds[1:])

    def _learn_beginning(self, kind: str, rounds: Sequence[Round]) -> None:
        """What the first guesses took beyond a usual round; nothing where that has no price."""
        for before, event in pairwise(rounds):
            guesses = len(event.proposed)
            if 0 < guesses <= self._costs.max_lookahead:
                usual = self._costs.cycle_seconds(guesses, event.position)
                more = max(event.at - before.at - usual, 0.0)
                self._beginnings.setdefault(kind, []).append(more)
            if guesses:
                return

    def speedup(self, turn: Turn) -> float | None:
        """None for arms that do not draft, for mlx-lm's, and where nothing was seen yet.

        For the adaptive lookahead it is, until it has run, that of the best fixed one, plain
        decoding among them.
        """
        arm, kind, count = turn.arm, turn.workload.kind, self._num_tokens - 1
        if not arm.is_ours or count < 1:
            return None
        chances = self._seen.others(kind, turn.prompt, arm.rule)
        if chances is None or kind not in self._beginnings:
            return None
        prompt_tokens = median(self._prompt_tokens.get(kind, [0]))
        context = round(prompt_tokens + self._num_tokens / 2)

        def cycle(lookahead: int) -> float:
            return self._costs.cycle_seconds(lookahead, context)

        limit = self._costs.max_lookahead
        if isinstance(arm.lookahead, int) and arm.lookahead > limit:
            return None
        plain = count * cycle(0)
        beginning = median(self._beginnings[kind][-_RECENT:])
        runs = self._arm_runs.get((kind, arm), {})
        others = [run for prompt, run in runs.items() if prompt != turn.prompt]
        if len(others) >= _ENOUGH_PROMPTS:
            a_token = mean(run.seconds_per_token(cycle) for run in others)
            return plain / (count * a_token + beginning)
        lookaheads = [arm.lookahead] if isinstance(arm.lookahead, int) else range(1, limit + 1)
        seconds = [drafting_seconds(cycle, chances, g, count) + beginning for g in lookaheads]
        return plain / min([*seconds, plain] if arm.lookahead == "auto" else seconds)

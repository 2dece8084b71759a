"""What a benchmark expects of a run before it begins: from calibration and from other prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..ledger.latency import LatencyModel
from .plan import Turn

__all__ = ["AcceptanceSeen", "BenchForecast"]

_LONGEST = 16
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

        At a place that was seldom reached the chance over all places counts as two more guesses.
        """
        prompts = self._counts.get((kind, rule), {})
        used = [counts for number, counts in prompts.items() if number != prompt and counts]
        if not used:
            return None
        depth = max(len(counts) for counts in used)
        kept = [sum(c[i][0] for c in used if i < len(c)) for i in range(depth)]
        tested = [sum(c[i][1] for c in used if i < len(c)) for i in range(depth)]
        overall = (sum(kept) + _PRIOR_KEPT) / (sum(tested) + _PRIOR_TESTED)
        return [(k + 2 * overall) / (t + 2) for k, t in zip(kept, tested, strict=True)]


@dataclass(frozen=True, slots=True)
class BenchForecast:
    """Predicts a run's speedup of decoding from the price of passes and acceptance elsewhere."""

    model: LatencyModel
    seen: AcceptanceSeen

    def speedup(self, turn: Turn) -> float | None:
        """None for arms that do not draft, for mlx-lm's, and where nothing was seen yet.

        For the adaptive lookahead it is that of the best fixed one, plain decoding among them.
        """
        arm = turn.arm
        if not arm.is_ours:
            return None
        chances = self.seen.others(turn.workload.kind, turn.prompt, arm.rule)
        if chances is None:
            return None
        limit = self.model.max_lookahead
        if arm.lookahead == "auto":
            best = self.model.best_lookahead(chances, _LONGEST if limit is None else limit)
            return self.model.speedup(chances, best)
        assert isinstance(arm.lookahead, int)
        if limit is not None and arm.lookahead > limit:
            return None
        return self.model.speedup(chances, arm.lookahead)

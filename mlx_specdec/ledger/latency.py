"""The ledger of seconds: what a lookahead should cost, what it did cost, and where time went.

``LatencyModel`` is the arithmetic and ``LatencyLedger`` the account of one answer (the price list
that real rounds correct is ``cost_table``'s). All times are seconds. Acceptance is per tested
token everywhere: the chance that a proposed token is kept, given that all before it were. A
guess after a miss was never tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import InvalidRequestError
from ..events import Event, Prefilled, Round

__all__ = [
    "Acceptance",
    "LatencyLedger",
    "LatencyModel",
    "Waterfall",
    "expected_accepted",
    "expected_tokens",
]

Acceptance = float | Sequence[float]
"""One chance for every position, or one per position (the last one holds from there on)."""

_BISECTIONS = 60


def _require(condition: bool, message: str, hint: str) -> None:
    if not condition:
        raise InvalidRequestError(message, hint)


def _chances(acceptance: Acceptance, lookahead: int) -> list[float]:
    _require(lookahead >= 0, f"lookahead {lookahead} is negative.", "Take 0 (plain) or more.")
    given = [acceptance] if isinstance(acceptance, int | float) else list(acceptance)
    _require(len(given) > 0, "acceptance is empty.", "Give at least one number from 0 to 1.")
    for chance in given:  # the comparison is false for NaN too
        _require(
            0 <= chance <= 1, f"acceptance {chance} is out of range.", "Take 0 to 1: 74 % is 0.74."
        )
    return [given[min(i, len(given) - 1)] for i in range(lookahead)]


def expected_accepted(acceptance: Acceptance, lookahead: int) -> float:
    """Proposed tokens kept in a round, on average: a + a^2 + ... + a^lookahead.

    Raises:
        InvalidRequestError: an acceptance outside 0 to 1, or a negative lookahead.
    """
    total, alive = 0.0, 1.0
    for chance in _chances(acceptance, lookahead):
        alive *= chance
        total += alive
    return total


def expected_tokens(acceptance: Acceptance, lookahead: int) -> float:
    """Tokens a round yields, its own token of the target included.

    (1 - a^(g+1)) / (1 - a), and g + 1 at a = 1 (Leviathan et al. 2023, equation 1), computed as
    the sum 1 + a + ... + a^g, which has no special case.
    """
    return 1.0 + expected_accepted(acceptance, lookahead)


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Why n tokens a pass are not n times as fast: the speedup as each cost is charged."""

    tokens_per_pass: float
    after_verify: float
    after_draft: float
    after_overhead: float


@dataclass(frozen=True, slots=True)
class LatencyModel:
    """What a round costs on one machine, and what that makes of an acceptance.

    cycle = lookahead * draft pass + verify pass + overhead; at lookahead 0 the plain loop runs
    and a cycle is one pass of the target, without overhead.

    Args:
        target_seconds: one pass of the target over one row.
        draft_cost: one pass of the draft / one pass of the target.
        verify_tax: extra cost of the verify pass, as a share of target_seconds, for each
            proposed token after the first (the convention of the founding ledger: 80 ms at tax
            0.03 and lookahead 5 verify in 80 * (1 + 0.03 * 4) = 89.6 ms). Unused with a table.
        overhead_seconds: sampling, Python and waiting, per round.
        seconds_by_rows: measured (rows, seconds) of the target; lookahead g is a pass over
            g + 1 rows. Steps, never a line: between two measured widths the wider one's price
            holds, and past the last the lookahead is not offered.

    Raises:
        InvalidRequestError: a value outside its range.
    """

    target_seconds: float
    draft_cost: float
    verify_tax: float = 0.0
    overhead_seconds: float = 0.0
    seconds_by_rows: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        for name, value, minimum in (
            ("target seconds", self.target_seconds, math.ulp(0.0)),
            ("draft cost", self.draft_cost, 0.0),
            ("verify tax", self.verify_tax, 0.0),
            ("overhead seconds", self.overhead_seconds, 0.0),
        ):
            _require(
                minimum <= value < math.inf,
                f"{name} {value} is out of range.",
                f"Take a number {'above 0' if minimum else '0 or more'}.",
            )
        rows = [row for row, _ in self.seconds_by_rows]
        _require(
            rows == sorted(set(rows)) and all(row >= 1 for row in rows),
            "the table of passes is not in order.",
            "Give each row count from 1 once, rising.",
        )
        _require(
            all(0 < seconds < math.inf for _, seconds in self.seconds_by_rows),
            "the table of passes holds a time that is not above 0.",
            "Measure it again.",
        )

    @classmethod
    def measured(
        cls,
        seconds_by_rows: Sequence[tuple[int, float]],
        draft_seconds: float,
        overhead_seconds: float = 0.0,
    ) -> LatencyModel:
        """From timed passes: (rows, seconds) of the target, the first over one row."""
        table = tuple(seconds_by_rows)
        _require(
            bool(table) and table[0][0] == 1 and table[0][1] > 0,
            "the table of passes does not begin with the time of one row.",
            "Time a pass over 1 row first.",
        )
        plain = table[0][1]
        return cls(plain, draft_seconds / plain, 0.0, overhead_seconds, table)

    @property
    def max_lookahead(self) -> int | None:
        """The largest lookahead that the table prices; None when there is no table."""
        return self.seconds_by_rows[-1][0] - 1 if self.seconds_by_rows else None

    def draft_seconds(self, lookahead: int) -> float:
        """All draft passes of a round."""
        return lookahead * self.draft_cost * self.target_seconds

    def verify_seconds(self, lookahead: int) -> float:
        """The target's pass over what was proposed and the token before it."""
        if self.seconds_by_rows:
            for rows, seconds in self.seconds_by_rows:
                if rows >= lookahead + 1:
                    return seconds
            raise InvalidRequestError(
                f"lookahead {lookahead} was not timed.", f"Take at most {self.max_lookahead}."
            )
        return self.target_seconds * (1 + self.verify_tax * max(lookahead - 1, 0))

    def cycle_seconds(self, lookahead: int) -> float:
        """One round: draft + verify + overhead; at lookahead 0 one plain pass."""
        if lookahead == 0:
            return self.target_seconds
        passes = self.draft_seconds(lookahead) + self.verify_seconds(lookahead)
        return passes + self.overhead_seconds

    def seconds_per_token(self, acceptance: Acceptance, lookahead: int) -> float:
        """Cycle seconds / expected tokens."""
        return self.cycle_seconds(lookahead) / expected_tokens(acceptance, lookahead)

    def speedup(self, acceptance: Acceptance, lookahead: int) -> float:
        """Plain seconds per token / speculative seconds per token.

        Without tax and overhead it is (1 - a^(g+1)) / ((1 - a)(g c + 1)) (Leviathan et al. 2023,
        theorem 3.8).
        """
        return self.target_seconds / self.seconds_per_token(acceptance, lookahead)

    def wasted_drafts(self, acceptance: Acceptance, lookahead: int) -> float:
        """Proposed tokens a round that are not kept, tested or not."""
        return lookahead - expected_accepted(acceptance, lookahead)

    def break_even_acceptance(self, lookahead: int) -> float | None:
        """The acceptance at which a lookahead is exactly as fast as plain decoding.

        None when it is slower even if everything is kept; 0.0 at lookahead 0.
        """
        needed = self.cycle_seconds(lookahead) / self.target_seconds
        if needed > lookahead + 1:
            return None
        if needed <= 1:
            return 0.0
        low, high = 0.0, 1.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            if expected_tokens(middle, lookahead) >= needed:
                high = middle
            else:
                low = middle
        return high

    def best_lookahead(self, acceptance: Acceptance, max_lookahead: int) -> int:
        """The fastest lookahead from 0 to ``max_lookahead``; of equals the shortest."""
        if self.max_lookahead is not None:
            max_lookahead = min(max_lookahead, self.max_lookahead)
        speeds = [self.speedup(acceptance, g) for g in range(max_lookahead + 1)]
        return speeds.index(max(speeds))

    def waterfall(self, acceptance: Acceptance, lookahead: int) -> Waterfall:
        """The speedup as the verify pass, the draft and the overhead are charged in turn."""
        tokens = expected_tokens(acceptance, lookahead)
        plain = self.target_seconds
        verify = self.verify_seconds(lookahead)
        drafted = verify + self.draft_seconds(lookahead)
        final = self.speedup(acceptance, lookahead)
        return Waterfall(tokens, tokens * plain / verify, tokens * plain / drafted, final)


@dataclass(slots=True)
class LatencyLedger:
    """Where one answer's seconds went, as far as the host can know.

    Phases are timed independently of the lane clock, so what remains between them,
    ``unattributed_seconds``, may be negative, and is shown as it is.
    A second belongs to one phase: the draft's prefill is not part of a round's build, and where
    the decoder profiles, draft and verify stand for the build.
    """

    prefill_seconds: float = 0.0
    build_seconds: float = 0.0
    wait_seconds: float = 0.0
    after_seconds: float = 0.0
    draft_prefill_seconds: float = 0.0
    lane_seconds: float = 0.0
    num_rounds: int = 0
    draft_seconds: float = 0.0
    verify_seconds: float = 0.0

    def add(self, event: Event) -> None:
        """Take in the next event of the answer."""
        if isinstance(event, Prefilled):
            self.prefill_seconds += event.seconds
        elif isinstance(event, Round):
            self.build_seconds += event.timings.build_seconds
            self.wait_seconds += event.timings.wait_seconds
            self.after_seconds += event.timings.after_seconds
            self.draft_prefill_seconds += event.timings.draft_prefill_seconds
            self.draft_seconds += event.timings.draft_seconds
            self.verify_seconds += event.timings.verify_seconds
            self.num_rounds += 1
        self.lane_seconds = max(self.lane_seconds, event.at)

    @property
    def attributed_seconds(self) -> float:
        """The sum of the phases."""
        host = self.build_seconds + self.wait_seconds + self.after_seconds
        measured = self.draft_seconds + self.verify_seconds
        return self.prefill_seconds + host + self.draft_prefill_seconds + measured

    @property
    def unattributed_seconds(self) -> float:
        """Lane clock minus the sum of the phases."""
        return self.lane_seconds - self.attributed_seconds

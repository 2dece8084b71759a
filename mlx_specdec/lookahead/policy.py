"""How many tokens to guess in the next round, or whether to guess at all.

A policy decides on the host, from what earlier rounds' reads brought back, before anything of the
round is drafted; a token already drawn is never dropped because its own chance was low (that
would bias the text). So whatever it decides, the rules stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..costs.cost_table import CostTable

__all__ = ["FOREVER", "Choice", "FixedLookahead", "LookaheadPolicy", "RoundOutcome", "Situation"]

FOREVER = 1 << 30
"""Plain rounds without another question."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Where an answer stands when the next round is decided.

    Args:
        emitted_tokens: of the answer so far; 0 before its first.
        context_length: tokens of prompt and answer.
        owed_tokens: of those, what the draft has not read (at least the last one).
        room: tokens that the answer may still get.
        elapsed_seconds: since the request.
    """

    emitted_tokens: int
    context_length: int
    owed_tokens: int
    room: int
    elapsed_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Choice:
    """What to do next.

    Args:
        lookahead: guesses in the next round; 0 parks: the plain loop runs, pipelined.
        num_rounds: parked, plain rounds until the next question.
        note: why nothing is drafted, for the screen; empty when something is.
    """

    lookahead: int
    num_rounds: int = 1
    note: str = ""


@dataclass(frozen=True, slots=True)
class RoundOutcome:
    """What a round brought.

    Args:
        lookahead: tokens that were proposed.
        num_accepted: kept.
        num_tested: looked at by the rule and part of the text: the kept ones and the miss. Of a
            plain round 1 where its token was guessed at no cost, though not proposed.
        num_emitted: tokens that joined the answer.
        context_length: tokens of prompt and answer when it began.
        seconds: of the whole round; None at an edge (after a switch, a pause, a cut).
        owed_tokens: what the draft read first.
        catch_up_seconds: what that took, as far as it is known.
    """

    lookahead: int
    num_accepted: int
    num_tested: int
    num_emitted: int
    context_length: int
    seconds: float | None
    owed_tokens: int = 0
    catch_up_seconds: float = 0.0


class LookaheadPolicy(Protocol):
    """Decides for one answer."""

    def choose(self, situation: Situation) -> Choice:
        """Asked before the first token and before every round; parked, while the last of
        ``num_rounds`` runs, whose token then counts as written but was not observed yet."""
        ...

    def observe(self, outcome: RoundOutcome) -> None:
        """Told of every round, in order."""
        ...


@dataclass(frozen=True, slots=True)
class FixedLookahead:
    """Always the same; 0 is plain decoding.

    Args:
        costs: what rounds cost here, which these rounds correct; None keeps nothing.
    """

    lookahead: int
    costs: CostTable | None = field(default=None, compare=False)

    def choose(self, situation: Situation) -> Choice:
        return Choice(self.lookahead, 1 if self.lookahead else FOREVER)

    def observe(self, outcome: RoundOutcome) -> None:
        if self.costs is not None:
            self.costs.observe(outcome)

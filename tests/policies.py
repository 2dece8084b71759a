"""Lookahead policies for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mlx_specdec.lookahead.policy import Choice, RoundOutcome, Situation


@dataclass
class ScriptedLookahead:
    """Follows a script of (lookahead, plain rounds), over and over; keeps what it was told."""

    script: Sequence[tuple[int, int]]
    situations: list[Situation] = field(default_factory=list)
    outcomes: list[RoundOutcome] = field(default_factory=list)

    def choose(self, situation: Situation) -> Choice:
        self.situations.append(situation)
        lookahead, plain_rounds = self.script[(len(self.situations) - 1) % len(self.script)]
        return Choice(lookahead, plain_rounds, "" if lookahead else "not drafting: the script")

    def observe(self, outcome: RoundOutcome) -> None:
        self.outcomes.append(outcome)

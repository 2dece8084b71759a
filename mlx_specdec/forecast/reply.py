"""What a whole reply should take, from what rounds cost and what they keep: its end included."""

from __future__ import annotations

from collections.abc import Callable

from ..ledger.latency import Acceptance

__all__ = ["drafting_seconds"]

CycleSeconds = Callable[[int], float]
"""From a lookahead (0: a plain pass) to the seconds of a round."""


def drafting_seconds(
    cycle_seconds: CycleSeconds, acceptance: Acceptance, lookahead: int, num_tokens: int
) -> float:
    """Expected seconds of ``num_tokens`` by rounds of ``lookahead`` guesses.

    Exact where each guess is kept with its place's chance, whatever came before: the expectation
    over what a round keeps, for every number of tokens that may be left. As in the engine, a
    round guesses one token fewer than there is room for, so the last ones are smaller. Far from
    the end a token costs cycle / expected tokens, which is ``LatencyModel``'s figure.

    Args:
        acceptance: chance that a tested guess is kept: one, or one by place (the last one holds
            from there on).
    """
    given = [acceptance] if isinstance(acceptance, int | float) else list(acceptance)
    chances = [given[min(place, len(given) - 1)] for place in range(lookahead)]
    cycles = [cycle_seconds(guesses) for guesses in range(lookahead + 1)]
    totals = [0.0]
    for left in range(1, num_tokens + 1):
        guesses = min(lookahead, left - 1)
        seconds, alive = cycles[guesses], 1.0
        for kept in range(guesses):
            seconds += alive * (1 - chances[kept]) * totals[left - kept - 1]
            alive *= chances[kept]
        totals.append(seconds + alive * totals[left - guesses - 1])
    return totals[-1]

"""When a parked answer should look again whether guesses are kept by now.

Guessing costs more than it brings at present, but the text may have turned, and while nothing is
guessed nobody sees it. A look costs a round and what the draft has to read before it; a wait
costs what drafting would save meanwhile, had the text turned. Both follow from the belief: its
drift towards what is usual is the chance that the text has turned. The wait with the least of
both is taken (the trade of change-point detection: look often where a turn is likely and worth
much, or a look cheap).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .belief import AcceptanceBelief
from .round_prices import RoundPrices

__all__ = ["Probe", "next_probe"]

WAITS = (0, 6, 12, 24, 48, 96, 192)
"""Plain rounds before a look; after six the draft still reads what it owes in its first pass."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A drafting round that is expected to lose.

    Args:
        wait: plain rounds before it.
        lookahead: its guesses.
        seconds: what it is expected to cost, reading included.
    """

    wait: int
    lookahead: int
    seconds: float


def next_probe(
    prices: RoundPrices,
    belief: AcceptanceBelief,
    reading: Callable[[int], float],
    owed_tokens: int,
    remaining: float,
) -> Probe | None:
    """The next look at whether guesses are kept; None when the rest is better decoded plainly.

    Args:
        reading: the draft's seconds for so many tokens.
        owed_tokens: that the draft has not read now.
        remaining: tokens that the answer is expected to go on for.
    """
    now = float(belief.weights @ prices.gains)

    def missed(wait: int) -> float:
        """Seconds that drafting would have saved meanwhile, as likely as the text turns."""
        return wait * (now + float(belief.after(wait) @ prices.gains)) / 2

    looks: list[tuple[float, float, Probe]] = []  # seconds until a look is over, tokens after it
    lasting: list[float] = []  # seconds a token that looking on and on at each interval costs
    for wait in WAITS:
        if wait + 1 >= remaining:  # the last token is never guessed at
            break
        lookahead, loss, tokens = prices.cheapest_look(belief.after(wait))
        cost, read = loss + missed(wait), reading(owed_tokens + wait)
        lasting.append((cost + reading(wait + 2)) / (wait + tokens))
        rest = max(remaining - wait - tokens, 0.0)
        looks.append((cost + read, rest, Probe(wait, lookahead, read + max(loss, 0.0))))
    best, least = None, missed(max(int(remaining) - 1, 0))
    for seconds, rest, probe in looks:
        total = seconds + rest * min(lasting)
        if total < least:
            best, least = probe, total
    return best

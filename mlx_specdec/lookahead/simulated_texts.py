"""Texts as a draft sees them, for the simulated clock; written down before any policy was.

A text is the list of its places at which the draft's guess is the target's token. Drafting from a
place keeps the guesses up to the first that is not, whatever the round: a guess that is tested
stands after the text itself (exact at temperature 0 and under the coupled rule).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from ..ledger.latency import expected_accepted

import numpy as np
import numpy.typing as npt

__all__ = ["SEGMENTED", "STATIONARY", "SimulatedText", "TextSource", "coin_texts", "trace_texts"]

Hits = npt.NDArray[np.bool_]
_LONGEST = 16
_REPLIES_OF_A_DRAW = 100_000

SEGMENTED = ((0.9, 0.3), (0.85, 0.4), (0.8, 0.5))
"""Chances that take turns, in stretches of 150 to 300 tokens."""
STATIONARY = (0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class SimulatedText:
    """One reply.

    Args:
        hits: bool [tokens], whether the draft's guess at that place is the target's token.
        starts: first token of every stretch, rising from 0.
        kept_by_lookahead: of each stretch, guesses kept on average at lookahead 0, 1, ... 16 from
            any of its places; what an oracle knows.
    """

    hits: Hits
    starts: tuple[int, ...] = (0,)
    kept_by_lookahead: tuple[tuple[float, ...], ...] = ()

    @property
    def num_tokens(self) -> int:
        return len(self.hits)

    @cached_property
    def next_misses(self) -> list[int]:
        """For every place the first from there on that is no hit (the length when there is none):
        [tokens + 1]."""
        nearest, found = self.num_tokens, []
        for place in range(self.num_tokens - 1, -1, -1):
            if not self.hits[place]:
                nearest = place
            found.append(nearest)
        return [*reversed(found), self.num_tokens]

    def accepted(self, place: int, lookahead: int) -> int:
        """Guesses kept of ``lookahead`` that are drafted from ``place`` on.

        Beyond the end of the text the draft goes on as at its last token.
        """
        end = self.next_misses[place] - place
        return min(end, lookahead)


@dataclass(frozen=True)
class TextSource:
    """Replies of one kind.

    Args:
        name: for the table.
        chances: of stretches that take turns, each guess a coin; empty for a trace.
        trace: recorded replies, each a stretch.
        draw: which coins; the ones that the policy is judged by are 0.
    """

    name: str
    chances: tuple[float, ...] = ()
    trace: tuple[Hits, ...] = ()
    draw: int = 0

    def replies(self, length: int, count: int) -> list[SimulatedText]:
        """``count`` replies of ``length`` tokens, always the same ones."""
        if not self.trace:
            first = self.draw * _REPLIES_OF_A_DRAW
            return [_coin_text(self.chances, length, first + i) for i in range(count)]
        total = sum(len(hits) for hits in self.trace)
        return [_cut(self.trace, i * total // count, length) for i in range(count)]


def _coin_text(chances: Sequence[float], num_tokens: int, seed: int) -> SimulatedText:
    """Stretches of 150 to 300 tokens that go through ``chances`` in turn; each guess is a coin.

    Where in a stretch the reply begins is drawn, and in which.
    """
    random = np.random.default_rng([seed, num_tokens, *(round(1000 * c) for c in chances)])
    turn = int(random.integers(len(chances)))
    lengths: list[int] = []
    used: list[float] = []
    while sum(lengths) < num_tokens:
        length = int(random.integers(150, 301))
        lengths.append(length if lengths else int(random.integers(1, length + 1)))
        used.append(chances[turn % len(chances)])
        turn += 1
    stretches = zip(lengths, used, strict=True)
    hits = np.concatenate([random.random(n) < chance for n, chance in stretches])
    starts = (0, *accumulate(lengths[:-1]))
    kept = tuple(
        tuple(expected_accepted(chance, g) for g in range(_LONGEST + 1)) for chance in used
    )
    return SimulatedText(hits[:num_tokens], starts, kept)


def _cut(trace: Sequence[Hits], offset: int, length: int) -> SimulatedText:
    """``length`` tokens of the replies one after another; after the last comes the first."""
    parts: list[Hits] = []
    kept = []
    skip, at = offset, 0
    while sum(map(len, parts)) < length:
        hits = trace[at % len(trace)]
        at += 1
        if skip >= len(hits):
            skip -= len(hits)
            continue
        parts.append(hits[skip:])
        kept.append(_average_kept(hits))
        skip = 0
    starts = (0, *accumulate(len(part) for part in parts[:-1]))
    return SimulatedText(np.concatenate(parts)[:length], starts, tuple(kept))


def _average_kept(hits: Hits) -> tuple[float, ...]:
    """Guesses kept on average over all places of a reply, at lookahead 0 to 16."""
    runs = np.array(SimulatedText(hits).next_misses[:-1]) - np.arange(len(hits))
    return tuple(float(np.minimum(runs, g).mean()) for g in range(_LONGEST + 1))


def coin_texts(draw: int = 0) -> list[TextSource]:
    """The texts made from coins: segmented ones, then stationary ones."""
    kinds: list[tuple[float, ...]] = [*SEGMENTED, *((chance,) for chance in STATIONARY)]
    return [
        TextSource("/".join(f"{chance:g}" for chance in chances), chances, draw=draw)
        for chances in kinds
    ]


def trace_texts(folder: Path) -> list[TextSource]:
    """The recorded traces in ``folder`` (see scripts/record_traces.py), one a file."""
    sources = []
    for path in sorted(folder.glob("*.json")):
        replies = json.loads(path.read_text(encoding="utf-8"))["replies"]
        trace = tuple(np.array([hit == "1" for hit in reply["hits"]]) for reply in replies)
        sources.append(TextSource(f"trace {path.stem}", trace=trace))
    return sources

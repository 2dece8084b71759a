"""CostTable: what a round costs here, by lookahead and context: priors that real rounds correct.

Corrections are factors on the prior: one for the plain pass and one for all rounds that draft,
beside which each lookahead has its own in each context bucket, as far as rounds bear it out. They
are medians of the latest rounds, so that a round that something else held up changes nothing, and
a machine that slows down (heat, power source) is noticed within a few.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from .pair_costs import PairCosts

if TYPE_CHECKING:
    from ..lookahead.policy import RoundOutcome

__all__ = ["CostTable"]

_FIRST_BUCKET_BITS = 10  # 1,024 tokens
_WINDOW = 15  # rounds that a median is taken of
_SURE = 5  # rounds that outweigh the prior, which counts as one of them before
_SHRINK = 4  # rounds until half of what is a lookahead's own is believed
_NOTICEABLE = 0.005
_RIDING = 8  # owed tokens that the draft reads in its first pass; more are read in bulk


def _window() -> deque[float]:
    return deque(maxlen=_WINDOW)


@dataclass(slots=True)
class _Rounds:
    """The logs of what the latest rounds took in shares of the prior."""

    latest: deque[float] = field(default_factory=_window)
    count: int = 0

    def add(self, log_factor: float) -> None:
        self.latest.append(log_factor)
        self.count += 1

    def median(self) -> float:
        return median(self.latest) if self.latest else 0.0

    def careful_median(self) -> float:
        """With the prior as one more round while there are few."""
        return median([*self.latest, 0.0] if self.count < _SURE else self.latest)


@dataclass(slots=True)
class CostTable:
    """Cycle seconds by lookahead and context length.

    Context lengths share a bucket up to 1,024 tokens, then from each power of two to the next.

    Args:
        prior: published, calibrated or guessed costs.
        scale_is_known: whether the prior's seconds are seconds; otherwise the first round sets
            the scale of all entries.
        version: rises when a correction changes what the table says noticeably.
    """

    prior: PairCosts
    scale_is_known: bool = True
    version: int = 0
    _cells: dict[tuple[int, int], _Rounds] = field(default_factory=dict)
    _plain: _Rounds = field(default_factory=_Rounds)
    _drafting: _Rounds = field(default_factory=_Rounds)
    _reading: _Rounds = field(default_factory=_Rounds)
    _reading_by_size: dict[int, _Rounds] = field(default_factory=dict)
    _log_scale: float = 0.0

    def replace_prior(self, prior: PairCosts) -> None:
        """Take measured costs in place of what was assumed and corrected so far."""
        self.prior, self.scale_is_known = prior, True
        self._cells.clear()
        self._reading_by_size.clear()
        self._plain, self._drafting, self._reading = _Rounds(), _Rounds(), _Rounds()
        self._log_scale = 0.0
        self.version += 1

    @staticmethod
    def bucket(context_length: int) -> int:
        """0 for up to 1,024 tokens, 1 up to 2,048, 2 up to 4,096, and so on."""
        return max(0, (context_length - 1).bit_length() - _FIRST_BUCKET_BITS)

    @property
    def max_lookahead(self) -> int:
        return self.prior.max_lookahead

    @property
    def num_plain_rounds(self) -> int:
        """Real plain rounds, at any context."""
        return self._plain.count

    def two_rows(self, context_length: int) -> float:
        """A pass of the target over two rows, in passes over one."""
        model = self.prior.at(context_length)
        factor = self._factor(1, context_length) - self._factor(0, context_length)
        return model.verify_seconds(1) / model.target_seconds * math.exp(factor)

    def num_rounds(self, lookahead: int, context_length: int) -> int:
        """Real rounds behind ``cycle_seconds`` in this bucket; 0 means it is the prior's."""
        cell = self._cells.get((lookahead, self.bucket(context_length)))
        return 0 if cell is None else cell.count

    def cycle_seconds(self, lookahead: int, context_length: int) -> float:
        """What a round is expected to take here."""
        prior = self.prior.cycle_seconds(lookahead, context_length)
        return prior * math.exp(self._log_scale + self._factor(lookahead, context_length))

    def observe(self, outcome: RoundOutcome) -> None:
        """Take in what a round took, and what the draft took to read what it owed before it."""
        context = outcome.context_length
        if outcome.seconds is not None:
            self.record(outcome.lookahead, context, outcome.seconds)
        if outcome.catch_up_seconds > 0:
            self.record_draft_prefill(outcome.owed_tokens, context, outcome.catch_up_seconds)

    def record(self, lookahead: int, context_length: int, seconds: float) -> None:
        """Take in one real round that was not at an edge; one wider than the prior prices tells
        nothing here."""
        if lookahead > self.max_lookahead:
            return
        prior = self.prior.cycle_seconds(lookahead, context_length)
        if seconds <= 0 or prior <= 0:
            return
        observed = math.log(seconds / prior)
        if not self._cells and not self.scale_is_known:
            self._log_scale = observed
            self.version += 1
        before = self._factor(lookahead, context_length)
        key = (lookahead, self.bucket(context_length))
        self._cells.setdefault(key, _Rounds()).add(observed - self._log_scale)
        (self._drafting if lookahead else self._plain).add(observed - self._log_scale)
        if abs(self._factor(lookahead, context_length) - before) > _NOTICEABLE:
            self.version += 1

    def catch_up_seconds(self, owed_tokens: int, context_length: int) -> float:
        """What the draft takes for tokens it has not read, beyond the one that every round owes.

        A few ride in its first pass; more are read in bulk, with a pass of their own. What was
        owed after a stretch without guesses is corrected by what such readings took, a prompt by
        what prompts took.
        """
        extra = owed_tokens - 2
        if extra <= 0:
            return 0.0
        riding = self.prior.draft_catch_up_seconds
        if owed_tokens <= _RIDING and riding is not None:
            return extra * riding * math.exp(self._log_scale)
        bulk = extra * self.prior.draft_prefill_seconds
        is_apart = owed_tokens > _RIDING
        own_pass = self.prior.draft_pass_seconds(context_length) if is_apart else 0.0
        return (bulk + own_pass) * math.exp(self._log_scale + self._reading_factor(owed_tokens))

    def record_draft_prefill(self, num_tokens: int, context_length: int, seconds: float) -> None:
        """Take in what the draft took to read ``num_tokens`` in bulk."""
        expected = self.catch_up_seconds(num_tokens, context_length)
        if expected > 0 and seconds > 0:
            observed = self._reading_factor(num_tokens) + math.log(seconds / expected)
            self._reading.add(observed)
            self._reading_by_size.setdefault(num_tokens.bit_length(), _Rounds()).add(observed)

    def _reading_factor(self, num_tokens: int) -> float:
        """The log of the correction for reading so many tokens; sizes count by powers of two."""
        shared = self._reading.careful_median()
        own = self._reading_by_size.get(num_tokens.bit_length())
        return shared if own is None else _between(shared, own)

    def _factor(self, lookahead: int, context_length: int) -> float:
        """The log of the correction, beside the scale that all entries share."""
        if lookahead == 0:
            if self._plain.count:
                shared = self._plain.careful_median()
            else:  # perhaps the whole machine, perhaps only the other loop
                shared = self._drafting.careful_median() / 2
        else:
            seen = self._drafting if self._drafting.count else self._plain
            shared = seen.careful_median()
        own = self._cells.get((lookahead, self.bucket(context_length)))
        return shared if own is None else _between(shared, own)


def _between(shared: float, own: _Rounds) -> float:
    """What is shared, and what is an entry's own as far as its rounds bear it out."""
    return shared + own.count / (own.count + _SHRINK) * (own.median() - shared)

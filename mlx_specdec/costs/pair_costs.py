"""What a pair's passes cost on one machine, by context length: the priors of every decision.

All times are seconds. A ``LatencyModel`` holds one context length; reading the cache makes every
pass dearer as the context grows, and a pass over more rows more so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from ..errors import InvalidRequestError
from ..ledger.latency import LatencyModel
from ..model_spec import ModelSpec
from .machines import Chip, published_model

__all__ = ["LINEAR_ROW_TAX", "PairCosts", "guessed_costs", "published_costs"]

LARGEST_LOOKAHEAD = 16
_CONTEXTS = (0, 1024, 4096, 16384, 32768)
# Tokens that the draft and the target read in bulk while each would write one: two operations a
# weight and token at half the chips' peak, which comes to about the same in every generation up to
# the fourth; the fifth has matrix units. Arithmetic, not measured.
_DRAFT_BULK, _TARGET_BULK = 16, 6
_DRAFT_BULK_M5, _TARGET_BULK_M5 = 40, 16
# What is taken where nothing is known of a machine: one row more costs this share of a pass.
_GUESSED_ROWS = 9  # wider passes are seldom worth trying blindly
_GUESSED_ROW_TAX, _GUESSED_OVERHEAD = 0.12, 0.02
LINEAR_ROW_TAX = 1.0
"""Of a pass that takes every row one by one, such as MLX's own products on a CPU."""
_GUESSED_DRAFT_FLOOR = 0.05


@dataclass(frozen=True, slots=True)
class PairCosts:
    """Costs of a pair by context length: linear between two lengths, the nearest outside.

    Args:
        by_context: (tokens in both caches, costs there), rising; at least one.
        draft_prefill_seconds: the draft reads one token in bulk.
        target_prefill_seconds: the target does; 0 when it is not known.
        draft_catch_up_seconds: each of a few tokens more in a pass that the draft makes anyway;
            None when it was not measured.

    Raises:
        InvalidRequestError: no entry, entries out of order, or a negative time.
    """

    by_context: tuple[tuple[int, LatencyModel], ...]
    draft_prefill_seconds: float = 0.0
    target_prefill_seconds: float = 0.0
    draft_catch_up_seconds: float | None = None

    def __post_init__(self) -> None:
        lengths = [length for length, _ in self.by_context]
        ordered = bool(lengths) and lengths == sorted(set(lengths))
        reading = (
            self.draft_prefill_seconds,
            self.target_prefill_seconds,
            self.draft_catch_up_seconds or 0.0,
        )
        if not ordered or min(reading) < 0:
            raise InvalidRequestError(
                "The costs of a pair are not in order.",
                "Give each context length once, rising, and times from 0.",
            )

    def at(self, context_length: int) -> LatencyModel:
        """The model at the nearest context length that has one."""
        return min(self.by_context, key=lambda entry: abs(entry[0] - context_length))[1]

    @property
    def max_lookahead(self) -> int:
        """The largest lookahead that every context prices, at most 16."""
        known = [model.max_lookahead for _, model in self.by_context]
        return min([LARGEST_LOOKAHEAD, *(most for most in known if most is not None)])

    def cycle_seconds(self, lookahead: int, context_length: int) -> float:
        """One round at ``lookahead`` (0: one plain pass) with ``context_length`` tokens cached."""
        below, above, share = self._around(context_length)
        low = below.cycle_seconds(lookahead)
        return low + share * (above.cycle_seconds(lookahead) - low)

    def draft_pass_seconds(self, context_length: int) -> float:
        """One pass of the draft over one token."""
        below, above, share = self._around(context_length)
        low = below.draft_seconds(1)
        return low + share * (above.draft_seconds(1) - low)

    def without_draft(self) -> PairCosts:
        """The same target where guesses cost nothing: they are copied, not drafted."""
        free = tuple((length, replace(model, draft_cost=0.0)) for length, model in self.by_context)
        return replace(
            self, by_context=free, draft_prefill_seconds=0.0, draft_catch_up_seconds=None
        )

    def _around(self, context_length: int) -> tuple[LatencyModel, LatencyModel, float]:
        first_length, first = self.by_context[0]
        if context_length <= first_length:
            return first, first, 0.0
        for (low, below), (high, above) in pairwise(self.by_context):
            if context_length <= high:
                return below, above, (context_length - low) / (high - low)
        last = self.by_context[-1][1]
        return last, last, 0.0


def published_costs(chip: Chip, target: ModelSpec, draft: ModelSpec | None) -> PairCosts | None:
    """The published tables of a chip, scaled to a pair; None when a model's size is not known.

    The arithmetic is ``machines``': one pass from the weight bytes it reads, V(M) by generation,
    attention by the bytes of the cache. The draft's reading of a prompt is arithmetic as well.
    """
    entries = []
    for context in _CONTEXTS:
        model = published_model(chip, target, draft, context)
        if model is None:
            return None
        entries.append((context, model))
    short = entries[0][1]
    has_matrix_units = chip.generation >= 5
    return PairCosts(
        tuple(entries),
        short.draft_seconds(1) / (_DRAFT_BULK_M5 if has_matrix_units else _DRAFT_BULK),
        short.target_seconds / (_TARGET_BULK_M5 if has_matrix_units else _TARGET_BULK),
    )


def guessed_costs(
    target_bytes: int, draft_bytes: int, row_tax: float = _GUESSED_ROW_TAX
) -> PairCosts:
    """Where nothing is known of a machine: shares of one pass, from the two models' sizes.

    ``row_tax`` is what each further row of a pass costs, in passes over one.

    The unit is one pass of the target, called a second; real rounds put it right at once, because
    what they correct first is the scale that all entries share.
    """
    share = max(draft_bytes / target_bytes, _GUESSED_DRAFT_FLOOR) if target_bytes > 0 else 0.1
    rows = range(1, _GUESSED_ROWS + 1)
    table = tuple((m, 1 + row_tax * (m - 1)) for m in rows)
    model = LatencyModel.measured(table, share, _GUESSED_OVERHEAD)
    return PairCosts(((0, model),), share / _DRAFT_BULK, 1 / _TARGET_BULK)

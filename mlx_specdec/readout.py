"""Readout: all that the host wants to know of a round, in one array and one blocking read."""

from __future__ import annotations

from dataclasses import dataclass

from .acceptance import AcceptanceRule, Decision, TargetRows
from .backend import mx
from .events import LARGEST_MARGIN, Check, LawEntry, Proposed, RowDetail
from .proposal import Proposal

__all__ = ["Reading", "packed", "unpacked"]


@dataclass(frozen=True)
class Reading:
    """What came back: host numbers only."""

    num_accepted: int
    next_token: int
    next_margin: float
    health: float  # not a number when the target's rows were not
    tokens: tuple[int, ...]
    asked: tuple[float, ...]
    drawn: tuple[float, ...]
    carried: tuple[float, ...]
    margins: tuple[float, ...]
    target_probs: tuple[float, ...]
    draft_probs: tuple[float, ...] | None
    top_probs: tuple[float, ...]
    entropies: tuple[float, ...]
    detail: tuple[tuple[tuple[tuple[int, float], ...], ...], ...] = ()
    left_over_sums: tuple[float, ...] = ()

    def checks(self, rule: AcceptanceRule) -> tuple[Check, ...]:
        """One per proposed token that the rule looked at."""
        count = len(self.tokens)
        looked = count if rule.checks_all else min(count, self.num_accepted + 1)
        return tuple(
            Check(self.asked[i], self.drawn[i], i < self.num_accepted, self.carried[i])
            for i in range(looked)
        )

    def proposed(self, texts: tuple[str, ...]) -> tuple[Proposed, ...]:
        draft = self.draft_probs
        return tuple(
            Proposed(token, texts[i], self.target_probs[i], None if draft is None else draft[i])
            for i, token in enumerate(self.tokens)
        )

    def row_details(self, texts: dict[int, str]) -> tuple[RowDetail, ...]:
        def listed(law: tuple[tuple[int, float], ...]) -> tuple[LawEntry, ...]:
            return tuple(LawEntry(token, texts[token], prob) for token, prob in law)

        return tuple(
            RowDetail(listed(row[0]), listed(row[1]), listed(row[2]), total)
            for row, total in zip(self.detail, self.left_over_sums, strict=True)
        )

    def detail_tokens(self) -> set[int]:
        return {token for row in self.detail for law in row for token, _ in law}


def packed(decision: Decision, rows: TargetRows, proposal: Proposal, detail: int = 0) -> mx.array:
    """One float32 vector; ids below 2**24 are exact in it."""
    shown = rows.probs
    chosen = proposal.tokens[:, None]
    parts = [
        mx.stack(
            [
                decision.num_accepted.astype(mx.float32),
                decision.next_token.astype(mx.float32),
                decision.next_margin,
                mx.sum(shown[:, 0]),
            ]
        ),
        proposal.tokens.astype(mx.float32),
        decision.asked.astype(mx.float32),
        decision.drawn.astype(mx.float32),
        decision.carried,
        decision.margins,
        mx.take_along_axis(shown[: proposal.count], chosen, axis=-1)[:, 0],
    ]
    if proposal.probs is not None:
        parts.append(mx.take_along_axis(proposal.probs, chosen, axis=-1)[:, 0])
    if proposal.top_probs is not None and proposal.entropies is not None:
        parts += [proposal.top_probs, proposal.entropies]
    if detail:
        parts.append(_detail(shown, proposal, decision, detail))
    return mx.concatenate(parts)


def _largest(rows: mx.array, count: int) -> mx.array:
    """[rows, 2 * count]: the ids of the largest entries, then their probabilities."""
    order = mx.argsort(-rows, axis=-1)[:, :count]
    values = mx.take_along_axis(rows, order, axis=-1)
    return mx.concatenate([order.astype(mx.float32), values], axis=-1)


def _detail(shown: mx.array, proposal: Proposal, decision: Decision, count: int) -> mx.array:
    """Target, draft and left-over law of every row, the largest entries of each, and what the
    last one summed to: [rows * (6 * count + 1)]."""
    target = shown
    if proposal.count == 0:
        draft = mx.zeros_like(target)
    else:
        if proposal.probs is not None:
            law = proposal.probs
        else:
            law = (mx.arange(target.shape[-1])[None, :] == proposal.tokens[:, None]).astype(
                mx.float32
            )
        draft = mx.concatenate([law, mx.zeros((1, target.shape[-1]))])
    scale = mx.concatenate([mx.ones((1,)), decision.carried])[:, None]
    rest = mx.maximum(scale * target - draft, 0.0)
    total = mx.sum(rest, axis=-1, keepdims=True)
    rest = rest / mx.maximum(total, 1e-30)
    laws = [_largest(law, count) for law in (target, draft, rest)]
    return mx.concatenate([*laws, total], axis=-1).reshape(-1)


def unpacked(numbers: list[float], proposal: Proposal, detail: int = 0) -> Reading:
    """The inverse of ``packed``."""
    count = proposal.count
    place = 4

    def take() -> tuple[float, ...]:
        nonlocal place
        place += count
        return tuple(numbers[place - count : place])

    tokens = tuple(int(token) for token in take())
    asked, drawn, carried, margins, target_probs = (take() for _ in range(5))
    draft_probs = take() if proposal.probs is not None else None
    has_shape = proposal.top_probs is not None and proposal.entropies is not None
    top_probs, entropies = (take(), take()) if has_shape else ((), ())
    return Reading(
        int(numbers[0]),
        int(numbers[1]),
        min(numbers[2], LARGEST_MARGIN),
        numbers[3],
        tokens,
        asked,
        drawn,
        carried,
        tuple(min(margin, LARGEST_MARGIN) for margin in margins),
        target_probs,
        draft_probs,
        top_probs,
        entropies,
        *(_detail_rows(numbers[place:], count + 1) if detail else ()),
    )


_Laws = tuple[tuple[tuple[int, float], ...], ...]


def _detail_rows(numbers: list[float], rows: int) -> tuple[tuple[_Laws, ...], tuple[float, ...]]:
    """What ``_detail`` packed: the three laws of each row, and what the last one summed to.

    A law narrower than what was asked for is listed whole, so the width tells how many there are.
    """
    width = len(numbers) // rows
    count = (width - 1) // 6

    def law(start: int) -> tuple[tuple[int, float], ...]:
        ids = numbers[start : start + count]
        values = numbers[start + count : start + 2 * count]
        return tuple(
            (int(token), value) for token, value in zip(ids, values, strict=True) if value > 0
        )

    starts = range(0, rows * width, width)
    laws = tuple(tuple(law(start + 2 * count * which) for which in range(3)) for start in starts)
    return laws, tuple(numbers[start + width - 1] for start in starts)

"""The exact oracle: small laws in fractions and the acceptance rules by the book.

Nothing here is sampled. A rule is a map from (target rows, draft rows, drafted tokens) to the
chance of every verdict, so the law of a whole text is a finite sum of fractions and must *equal*
the target's. Rows are laws over the vocabulary; row j belongs to drafted token j, and the target
has one row more, for the bonus. Written from the papers: Leviathan et al. 2023 (Alg. 1), Chen et
al. 2023, Sun et al. ICLR 2025 (Alg. 2).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

Law = tuple[Fraction, ...]
Tokens = tuple[int, ...]
Model = Callable[[Tokens], Law]
"""The law of the next token after a context, of which only the last two tokens may count."""
Verdicts = list[tuple[Fraction, Law]]
"""Entry n: the chance that exactly n drafted tokens are kept, and the next token's law then."""

ZERO, ONE = Fraction(0), Fraction(1)


def law_of(*weights: int | Fraction) -> Law:
    """Weights scaled to sum to one."""
    total = Fraction(sum(weights))
    return tuple(weight / total for weight in weights)


def one_hot(token: int, size: int) -> Law:
    return tuple(ONE if x == token else ZERO for x in range(size))


def left_over(p: Law, q: Law, scale: Fraction = ONE) -> Law:
    """max(0, scale * p - q), scaled to one; p itself where nothing is left (p == q)."""
    rest = [max(scale * a - b, ZERO) for a, b in zip(p, q, strict=True)]
    return law_of(*rest) if any(rest) else p


def ratio(p: Law, q: Law, token: int) -> Fraction:
    """min(1, p/q). A token that q cannot draw is judged by p alone: 1, or 0 at p = 0."""
    if q[token] == 0:
        return ONE if p[token] else ZERO
    return min(ONE, p[token] / q[token])


def prefix_verdicts(chances: Sequence[Fraction], nexts: Sequence[Law]) -> Verdicts:
    """Coin after coin until the first miss."""
    alive, verdicts = ONE, []
    for chance, law in zip(chances, nexts, strict=False):
        verdicts.append((alive * (1 - chance), law))
        alive *= chance
    return [*verdicts, (alive, nexts[-1])]


Residual = Callable[[Law, Law], Law]


def rejection(
    target: Sequence[Law], draft: Sequence[Law], tokens: Tokens, residual: Residual = left_over
) -> Verdicts:
    """Keep x while coin < p(x)/q(x), else draw from the left-over law."""
    pairs = list(zip(target, draft, strict=False))
    chances = [ratio(p, q, x) for (p, q), x in zip(pairs, tokens, strict=True)]
    return prefix_verdicts(chances, [*(residual(p, q) for p, q in pairs), target[len(tokens)]])


def carried_products(target: Sequence[Law], draft: Sequence[Law], tokens: Tokens) -> list[Fraction]:
    """P_0 = 1, P_i = min(1, P_{i-1} p_i(x_i) / q_i(x_i))."""
    carried = [ONE]
    for p, q, x in zip(target, draft, tokens, strict=False):
        step = p[x] / q[x] if q[x] else (ONE if p[x] else ZERO)
        carried.append(min(ONE, carried[-1] * step))
    return carried


def block_chances(target: Sequence[Law], draft: Sequence[Law], tokens: Tokens) -> list[Fraction]:
    """h_i = S_i / (S_i + 1 - P_i) with S_i = sum max(0, P_i p_{i+1} - q_{i+1}); h_last = P_last."""
    carried = carried_products(target, draft, tokens)
    chances = []
    for i in range(1, len(tokens)):
        pairs = zip(target[i], draft[i], strict=True)
        left = sum((max(carried[i] * a - b, ZERO) for a, b in pairs), ZERO)
        below = left + 1 - carried[i]
        # 0 / 0 (P_i = 1 and p == q next): any value does, a later place is then certain.
        chances.append(left / below if below else ONE)
    return [*chances, carried[-1]] if tokens else []


def block(
    target: Sequence[Law], draft: Sequence[Law], tokens: Tokens, scaled: bool = True
) -> Verdicts:
    """Keep up to the last i whose coin < h_i; the left-over law is scaled by P_i."""
    count = len(tokens)
    carried = carried_products(target, draft, tokens)
    chances = [ONE, *block_chances(target, draft, tokens)]  # keeping none is always possible
    verdicts, none_later = [], ONE
    for i in range(count, -1, -1):
        scale = carried[i] if scaled else ONE
        law = target[i] if i == count else left_over(target[i], draft[i], scale)
        verdicts.append((none_later * chances[i], law))
        none_later *= 1 - chances[i]
    return verdicts[::-1]


def match(target: Sequence[Law], draft: Sequence[Law], tokens: Tokens) -> Verdicts:
    """The target draws its own token at each row; keep while it is the drafted one."""
    missed = [left_over(p, one_hot(x, len(p))) for p, x in zip(target, tokens, strict=False)]
    chances = [p[x] for p, x in zip(target, tokens, strict=False)]
    return prefix_verdicts(chances, [*missed, target[len(tokens)]])


@dataclass
class Table:
    """A random law for every context, which is the last two tokens; the same for one seed."""

    seed: str
    vocab: int = 3
    laws: dict[Tokens, Law] = field(default_factory=dict)

    def __call__(self, context: Tokens) -> Law:
        key = context[-2:]
        if key not in self.laws:
            rng = random.Random(f"{self.seed} {key}")
            weights = [rng.choice((0, 1, 1, 2, 3, 5)) for _ in range(self.vocab)]
            weights[rng.randrange(self.vocab)] += 1  # never all zero
            self.laws[key] = law_of(*weights)
        return self.laws[key]


Drafts = list[tuple[Fraction, Tokens]]


def sampled_drafts(draft: Model, context: Tokens, lookahead: int) -> Drafts:
    """Every proposal of ``lookahead`` tokens with its chance, each drawn from the draft's law."""
    drafts: Drafts = [(ONE, ())]
    for _ in range(lookahead):
        drafts = [
            (weight * chance, (*tokens, x))
            for weight, tokens in drafts
            for x, chance in enumerate(draft(context + tokens))
            if chance
        ]
    return drafts


@dataclass(frozen=True)
class Scheme:
    """A way to draft together with a way to judge."""

    name: str
    judge: Callable[[Sequence[Law], Sequence[Law], Tokens], Verdicts]
    drafts: Callable[[Model, Tokens, int], Drafts] = sampled_drafts


EXACT = (Scheme("rejection", rejection), Scheme("block", block), Scheme("match", match))


def judged(
    scheme: Scheme, target: Model, draft: Model, context: Tokens, lookahead: int
) -> Iterator[tuple[Tokens, int, Fraction, Law]]:
    """Every way one round can go: drafted tokens, how many are kept, its chance, the next law."""
    for weight, tokens in scheme.drafts(draft, context, lookahead):
        contexts = [context + tokens[:i] for i in range(len(tokens) + 1)]
        q_rows = [draft(each) for each in contexts[:-1]]
        verdicts = scheme.judge([target(each) for each in contexts], q_rows, tokens)
        for kept, (chance, after) in enumerate(verdicts):
            if chance:
                yield tokens, kept, weight * chance, after


def round_law(
    scheme: Scheme, target: Model, draft: Model, context: Tokens, lookahead: int
) -> dict[Tokens, Fraction]:
    """The chance of everything that one round can emit after ``context``."""
    law: defaultdict[Tokens, Fraction] = defaultdict(Fraction)
    for tokens, kept, weight, after in judged(scheme, target, draft, context, lookahead):
        for x, chance in enumerate(after):
            if chance:
                law[(*tokens[:kept], x)] += weight * chance
    return dict(law)


def expected_kept(scheme: Scheme, target: Model, draft: Model, lookahead: int) -> Fraction:
    """Drafted tokens kept in the first round, on average."""
    outcomes = judged(scheme, target, draft, (), lookahead)
    return sum((kept * weight for _, kept, weight, _ in outcomes), ZERO)


def target_law(target: Model, length: int) -> dict[Tokens, Fraction]:
    """The law of the first ``length`` tokens of plain decoding."""
    return continued({(): ONE}, target, length)


def continued(law: dict[Tokens, Fraction], target: Model, length: int) -> dict[Tokens, Fraction]:
    """Every text carried on to ``length`` tokens with the target's own law."""
    by_size = [defaultdict[Tokens, Fraction](Fraction) for _ in range(length + 1)]
    for text, weight in law.items():
        by_size[len(text)][text] += weight
    for size in range(length):
        for text, weight in by_size[size].items():
            for x, chance in enumerate(target(text)):
                if chance:
                    by_size[size + 1][(*text, x)] += weight * chance
    return dict(by_size[length])


def emitted_law(
    scheme: Scheme, target: Model, draft: Model, lookahead: int, rounds: int, length: int
) -> dict[Tokens, Fraction]:
    """The law of the first ``length`` tokens: ``rounds`` rounds, then plain decoding.

    Each round begins where the one before ended, and drafts afresh from there.
    """
    seen: dict[Tokens, dict[Tokens, Fraction]] = {}
    law: dict[Tokens, Fraction] = {(): ONE}
    for _ in range(rounds):
        after: defaultdict[Tokens, Fraction] = defaultdict(Fraction)
        for text, weight in law.items():
            key = text[-2:]  # all that a Model looks at
            if key not in seen:
                seen[key] = round_law(scheme, target, draft, key, lookahead)
            for more, chance in seen[key].items():
                after[(text + more)[:length]] += weight * chance
        law = dict(after)
    return continued(law, target, length)


class ReferenceVerdict(NamedTuple):
    """``law`` is the next token's, ``token`` its draw by the residual uniform."""

    num_accepted: int
    law: list[float]
    token: int


def leading(kept: Sequence[bool]) -> int:
    """How many are true before the first false one."""
    return kept.index(False) if False in kept else len(kept)


def drawn(law: Law, uniform: Fraction) -> int:
    """The first token at which the running sum exceeds ``uniform`` in [0, 1)."""
    return next(x for x, edge in enumerate(accumulate(law)) if edge > uniform)


def reference_verdict(
    rule: str,
    target_probs: Sequence[Sequence[float]],
    draft_probs: Sequence[Sequence[float]] | None,
    tokens: Sequence[int],
    coins: Sequence[float],
    residual_uniform: float,
) -> ReferenceVerdict:
    """One round's verdict with given coins in [0, 1), worked out in fractions.

    Args:
        rule: rejection, block or match.
        target_probs: [count + 1][vocab]; each row is scaled to sum to one.
        draft_probs: [count][vocab], or None for a proposal without a law (one-hot).
        tokens: the drafted tokens [count].
        coins: [count]. For match a coin draws the target's own token at that row, by ``drawn``,
            and at a miss that token is the next one.
        residual_uniform: draws the next token.
    """
    target = [law_of(*map(Fraction, row)) for row in target_probs]
    drafted, size = tuple(tokens), len(target[0])
    if draft_probs is None:
        draft = [one_hot(x, size) for x in drafted]
    else:
        draft = [law_of(*map(Fraction, row)) for row in draft_probs]
    flips = [Fraction(coin) for coin in coins]
    if rule == "match":
        own = [drawn(p, coin) for p, coin in zip(target, flips, strict=False)]
        num_accepted = leading([y == x for y, x in zip(own, drafted, strict=True)])
        missed = num_accepted < len(drafted)
        law = one_hot(own[num_accepted], size) if missed else target[-1]
    elif rule == "block":
        chances = block_chances(target, draft, drafted)
        below = [i for i, h in enumerate(chances, start=1) if flips[i - 1] < h]
        num_accepted = max(below, default=0)
        law = block(target, draft, drafted)[num_accepted][1]
    else:
        rows = zip(target, draft, drafted, flips, strict=False)
        num_accepted = leading([coin < ratio(p, q, x) for p, q, x, coin in rows])
        law = rejection(target, draft, drafted)[num_accepted][1]
    token = drawn(law, Fraction(residual_uniform))
    return ReferenceVerdict(num_accepted, [float(chance) for chance in law], token)

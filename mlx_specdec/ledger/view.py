"""What the ledger shows of one answer or of a session: every figure, computed here once.

The screen and the command draw a ``LedgerView``; neither computes. Without prices it still
accounts for the seconds and the acceptance, and says that nothing can be forecast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from ..events import Event, Round
from ..metrics import Metrics, fold, pool, speedup
from .account import Account, ModelNames, account
from .latency import LatencyModel, Waterfall
from .what_if import (
    LOOKAHEADS,
    HeatMap,
    PassCost,
    break_even,
    heat_map,
    pass_costs,
    run_waterfall,
)

if TYPE_CHECKING:
    from ..costs.prices import Prices
    from ..forecast.prediction import Score

__all__ = ["Fall", "FallStep", "LedgerView", "are_copied", "ledger_view"]


@dataclass(frozen=True, slots=True)
class FallStep:
    """One step from tokens a pass down to the speedup, in long and in short words."""

    words: str
    short_words: str
    times: float


@dataclass(frozen=True, slots=True)
class Fall:
    """The waterfall of one cell; ``is_run`` when it is this run's own, from its real rounds."""

    acceptance: float
    lookahead: int
    steps: tuple[FallStep, ...]
    is_run: bool

    @property
    def top(self) -> float:
        """Tokens a pass."""
        return self.steps[0].times

    @property
    def bottom(self) -> float:
        """The speedup that is left."""
        return self.steps[-1].times


@dataclass(frozen=True, slots=True)
class LedgerView:
    """The ledger of ``num_replies`` answers.

    ``lookahead`` is the one that most passes asked for, 0 when most drafted nothing; where
    guesses were copied, the one that most of the passes which copied asked for;
    ``forecast`` is what was said before the run, beside what it came to.
    ``measured_speedup`` needs a plain lane beside and is None without; ``prices_words`` says
    where the prices come from and is empty where there are none.
    """

    names: ModelNames
    num_replies: int
    account: Account
    metrics: Metrics
    lookahead: int
    note: str
    model: LatencyModel | None
    prices_words: str
    measured_speedup: float | None
    heat: HeatMap | None
    break_even: tuple[tuple[int, float | None], ...]
    passes: tuple[PassCost, ...]
    run_rounds: tuple[Round, ...]
    forecast: Score | None = None

    @property
    def modelled_speedup(self) -> float | None:
        """What the prices make of this run's acceptance and lookahead; of one that copied, of
        its own passes, since only some of them had guesses."""
        if self.heat is None or self.heat.run_cell is None:
            return None
        row, column = self.heat.run_cell
        if self.copied_share is not None:
            own = self.fall(row, column)
            return None if own is None else own.bottom
        return self.heat.cells[row][column]

    @property
    def copied_share(self) -> float | None:
        """Of the passes, the share that copied; None unless every guess was copied.

        Of the others some had nothing to copy, and in some the policy would not.
        """
        if not are_copied(self.run_rounds):
            return None
        return sum(bool(each.proposed) for each in self.run_rounds) / len(self.run_rounds)

    @property
    def first_mark(self) -> tuple[int, int] | None:
        """Row and column where the mark begins: this run, else the best of the middle row.

        Where no lookahead pays it is 1, which shows why.
        """
        if self.heat is None:
            return None
        if self.heat.run_cell is not None:
            return self.heat.run_cell
        row = len(self.heat.acceptances) // 2 if self.heat.run_row is None else self.heat.run_row
        return row, self.heat.best_column(row) or 1

    def fall(self, row: int, column: int) -> Fall | None:
        """From tokens a pass down to the speedup in one cell; None where it has no price."""
        if self.heat is None or self.model is None or self.heat.cells[row][column] is None:
            return None
        acceptance, lookahead = self.heat.acceptances[row], self.heat.lookaheads[column]
        per_pass = self.metrics.tokens_per_target_pass
        is_run = (row, column) == self.heat.run_cell and bool(self.run_rounds)
        if is_run and per_pass is not None:
            rows = sum(len(event.proposed) + 1 for event in self.run_rounds) / len(self.run_rounds)
            fallen = run_waterfall(self.model, self.run_rounds, per_pass)
        else:
            rows, fallen = lookahead + 1.0, self.model.waterfall(acceptance, lookahead)
        steps = _steps(fallen, rows, self.names) if lookahead else _plain_steps()
        return Fall(acceptance, lookahead, steps, is_run)


def ledger_view(
    replies: Sequence[Sequence[Event]],
    prices: Prices | None = None,
    names: ModelNames | None = None,
    plain: Sequence[Event] = (),
    forecast: Score | None = None,
) -> LedgerView:
    """The ledger of one answer or of several pooled.

    Args:
        replies: the events of each answer; at least one.
        prices: what passes cost here; None where nobody knows.
        plain: the same answer by plain decoding, when it was run beside.
        forecast: of this run, scored; None where nothing was said before it.
    """
    names = names or ModelNames()
    events = chain.from_iterable(replies)
    rounds = tuple(each for each in events if isinstance(each, Round) and each.index > 0)
    model = None if prices is None else _model_of(prices, rounds)
    metrics = pool([fold(events) for events in replies])
    lookahead = _usual_lookahead(rounds)
    return LedgerView(
        names=names,
        num_replies=len(replies),
        account=account(replies, model, names),
        metrics=metrics,
        lookahead=lookahead,
        note=next((event.note for event in reversed(rounds) if event.note), ""),
        model=model,
        prices_words="" if prices is None else prices.words,
        measured_speedup=speedup(fold(plain), metrics) if plain else None,
        heat=None if model is None else heat_map(model, metrics.acceptance_rate, lookahead),
        break_even=() if model is None else break_even(model, LOOKAHEADS[1:]),
        passes=() if model is None else pass_costs(model),
        run_rounds=rounds,
        forecast=forecast,
    )


def _model_of(prices: Prices, rounds: Sequence[Round]) -> LatencyModel:
    """The prices at the context length that the rounds had on average, where they know it."""
    if prices.costs is None or not rounds:
        return prices.model
    return prices.costs.at(sum(event.position for event in rounds) // len(rounds))


def are_copied(rounds: Iterable[Round]) -> bool:
    """Whether there are guesses, and all were copied from the text: without odds of their own."""
    guesses = [guess for event in rounds for guess in event.proposed]
    return bool(guesses) and all(guess.draft_prob is None for guess in guesses)


def _usual_lookahead(rounds: Sequence[Round]) -> int:
    """What most passes asked for, of equals the larger; a pass that drafted nothing counts 0.

    Where guesses are copied such a pass does not count, whether the text had nothing to copy or
    the policy would not: the lookahead is that of the passes that copied.
    """
    if are_copied(rounds):
        rounds = [event for event in rounds if event.proposed]
    counts = Counter(event.lookahead if event.proposed else 0 for event in rounds)
    return max(counts, key=lambda each: (counts[each], each)) if counts else 0


def _steps(fallen: Waterfall, rows: float, names: ModelNames) -> tuple[FallStep, ...]:
    cost = fallen.tokens_per_pass / fallen.after_verify
    width = f"{rows:.0f}" if rows == int(rows) else f"{rows:.1f}"
    draft = FallStep(
        f"the {names.draft} has to be paid", f"the {names.draft} is paid", fallen.after_draft
    )
    is_free = fallen.after_draft == fallen.after_verify  # copying from the text costs nothing
    return (
        FallStep("tokens per pass", "tokens a pass", fallen.tokens_per_pass),
        FallStep(
            f"a pass over {width} rows costs {cost:.2f}",
            f"{width} rows cost {cost:.2f} of one",
            fallen.after_verify,
        ),
        *(() if is_free else (draft,)),
        FallStep("sampling, Python, waiting", "sampling, Python, waiting", fallen.after_overhead),
    )


def _plain_steps() -> tuple[FallStep, ...]:
    words = "plain decoding, a token a pass"
    return (FallStep(words, words, 1.0),)

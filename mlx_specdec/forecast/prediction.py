"""Prediction and Score: a speedup said before a run, and how far off it was after it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, Protocol

from ..figures import percent, times
from ..ledger.latency import Acceptance, LatencyModel, expected_accepted
from ..model_spec import PairSpec
from .reply import drafting_seconds

__all__ = [
    "Prediction",
    "Priced",
    "Score",
    "median_error",
    "predict",
    "score",
    "score_words",
    "short_score",
]

LARGEST_LOOKAHEAD = 16


class Priced(Protocol):
    """Prices of a round, and where they are known from (see ``prices.Prices``)."""

    @property
    def model(self) -> LatencyModel: ...
    @property
    def source(self) -> str: ...
    @property
    def words(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was said of a run before it began.

    Args:
        pair: ``target+draft`` in short names.
        speedup: of decoding after the first token.
        plain_tokens_per_second: of the target alone.
        acceptance: chance that a tested guess is kept, the mean over the lookahead's places.
        lookahead: guesses a round; 0 is plain decoding.
        source: of the prices: measured, published, run or shapes.
        words: the same as a person reads it.
        acceptance_from: where the acceptance is known from, such as ``4 earlier runs``.
        at: seconds since the epoch.
        machine: its name; empty when it was not said.
    """

    pair: str
    speedup: float
    plain_tokens_per_second: float
    acceptance: float
    lookahead: int
    source: str
    words: str
    acceptance_from: str
    at: float
    machine: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """A prediction beside what was measured.

    ``measured_plain`` (tokens a second) and ``measured_acceptance`` are None where the run does
    not tell them.
    """

    prediction: Prediction
    measured: float
    at: float
    measured_plain: float | None = None
    measured_acceptance: float | None = None

    @property
    def error(self) -> float:
        """Predicted / measured - 1: above 0 it promised too much."""
        return self.prediction.speedup / self.measured - 1


def predict(
    pair: PairSpec | str,
    prices: Priced,
    acceptance: Acceptance,
    lookahead: int | Literal["auto"],
    *,
    acceptance_from: str = "",
    machine: str = "",
    now: float | None = None,
    num_tokens: int | None = None,
    beginning_seconds: float = 0.0,
) -> Prediction:
    """What a run should gain, by ``LatencyModel``.

    Args:
        acceptance: per tested guess: one chance, or one by position; of other texts, or it would
            be no prediction.
        lookahead: ``auto`` takes the best one, plain decoding among them; a fixed one that was
            never priced is taken at the largest that was.
        num_tokens: of the reply, whose beginning and end are then counted; None takes one without.
        beginning_seconds: what the first guesses take beyond a usual round, such as the draft's
            reading of the prompt.
    """
    model = prices.model
    limit = LARGEST_LOOKAHEAD if model.max_lookahead is None else model.max_lookahead
    tried = range(limit + 1) if lookahead == "auto" else (min(lookahead, limit),)

    def speedup(guesses: int) -> float:
        if num_tokens is None or num_tokens < 2 or guesses == 0:
            return model.speedup(acceptance, guesses)
        count = num_tokens - 1
        drafting = drafting_seconds(model.cycle_seconds, acceptance, guesses, count)
        return count * model.target_seconds / (drafting + beginning_seconds)

    used = max(tried, key=speedup)
    return Prediction(
        pair=pair if isinstance(pair, str) else pair.name,
        speedup=speedup(used),
        plain_tokens_per_second=1 / model.target_seconds,
        acceptance=_mean(acceptance, used),
        lookahead=used,
        source=prices.source,
        words=prices.words,
        acceptance_from=acceptance_from,
        at=time.time() if now is None else now,
        machine=machine,
    )


def _mean(acceptance: Acceptance, lookahead: int) -> float:
    """Kept / tested over a lookahead's places, as the runs count it."""
    if isinstance(acceptance, int | float):
        return float(acceptance)
    places = max(lookahead, 1)
    tested = 1 + (expected_accepted(acceptance, places - 1) if places > 1 else 0.0)
    return expected_accepted(acceptance, places) / tested


def score(
    prediction: Prediction,
    measured: float,
    *,
    measured_plain: float | None = None,
    measured_acceptance: float | None = None,
    now: float | None = None,
) -> Score:
    """The prediction beside the measured speedup (above 0)."""
    at = time.time() if now is None else now
    return Score(prediction, measured, at, measured_plain, measured_acceptance)


def median_error(scores: Sequence[Score]) -> float | None:
    """The median of the errors without their signs; None without scores."""
    return median(abs(item.error) for item in scores) if scores else None


def _gap_words(item: Score) -> str:
    gap = abs(item.error)
    return "exact" if gap < 0.005 else f"{percent(gap)} too {'high' if item.error > 0 else 'low'}"


def short_score(item: Score) -> str:
    """``forecast 1.77x (2 % too low)``: where the measured speedup stands beside it."""
    return f"forecast {times(item.prediction.speedup)} ({_gap_words(item)})"


def score_words(item: Score) -> str:
    """``1.77x forecast, 1.80x measured (2 % too low); prices ...; acceptance 74 % from ...``."""
    said = item.prediction
    words = f"{times(said.speedup)}, measured {times(item.measured)} ({_gap_words(item)})"
    accepted = f"acceptance {percent(said.acceptance)}"
    if item.measured_acceptance is not None:
        accepted += f" expected, {percent(item.measured_acceptance)} seen"
    parts = [words, said.words, f"{accepted} ({said.acceptance_from})"]
    return "; ".join(part for part in parts if part)

"""A run's own forecast: made from earlier runs and known prices, written down, scored after it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence

from ..costs.machines import DEFAULT_ACCEPTANCE
from ..figures import percent
from ..ledger.latency import Acceptance
from ..metrics import Metrics
from ..model_spec import PairSpec
from ..settings import Settings
from .log import ForecastLog, RunSeen
from .prediction import Prediction, Priced, Score, median_error, predict, score

__all__ = ["forecast_run", "history_lines", "prompt_key", "score_run"]


def prompt_key(prompt_id: str, text: str) -> str:
    """The name of a prompt in the book: its id, else a hash, since a person's words stay theirs."""
    return prompt_id or hashlib.sha256(text.encode()).hexdigest()[:12]


def forecast_run(
    log: ForecastLog,
    pair: PairSpec,
    prices: Priced | None,
    settings: Settings,
    prompt: str,
    machine: str = "",
    now: float | None = None,
    beginning_seconds: float = 0.0,
) -> Prediction | None:
    """Say what the run to come should gain, and write it down.

    From prices that are known and the acceptance of earlier runs of the pair on other prompts at
    the same settings. Where the prices are of shapes that `mlx-specdec forecast` timed, the first
    run is held against the acceptance that it assumed. Otherwise None, and nothing is written.

    Args:
        prompt: see prompt_key.
        beginning_seconds: see ``predict``; the reply is taken to be as long as it may be.
    """
    rule, temperature = _law(settings)
    seen = log.acceptance(pair.name, rule, temperature, besides=prompt)
    if prices is None or (seen is None and prices.source != "shapes"):
        return None
    chances: Acceptance = DEFAULT_ACCEPTANCE
    origin = "assumed: no earlier run"
    if seen is not None:
        chances, count = seen
        origin = f"{count} earlier run{'' if count == 1 else 's'} on other prompts"
    said = predict(
        pair,
        prices,
        chances,
        settings.lookahead,
        acceptance_from=origin,
        machine=machine,
        now=now,
        num_tokens=settings.max_tokens,
        beginning_seconds=beginning_seconds,
    )
    log.write(said)
    return said


def score_run(
    log: ForecastLog,
    prediction: Prediction | None,
    pair: PairSpec,
    settings: Settings,
    prompt: str,
    plain: Metrics,
    drafting: Metrics,
    speedup: float | None,
    now: float | None = None,
) -> Score | None:
    """Keep what the run accepted, for later forecasts, and score its own if there was one."""
    at = time.time() if now is None else now
    rule, temperature = _law(settings)
    counts = tuple((kept, tested) for kept, tested in drafting.by_position)
    if any(tested for _, tested in counts):
        log.add_run(RunSeen(pair.name, rule, temperature, prompt, counts, at))
    if prediction is None or not speedup:
        return None
    result = score(
        prediction,
        speedup,
        measured_plain=plain.tokens_per_second,
        measured_acceptance=drafting.acceptance_rate,
        now=at,
    )
    log.write_score(result)
    return result


def _law(settings: Settings) -> tuple[str, float]:
    temperature = settings.sampling.temperature
    return ("greedy" if temperature == 0 else settings.rule), temperature


def history_lines(scores: Sequence[Score], when: Callable[[float], str]) -> list[str]:
    """Scored forecasts as a table of at most 80 columns, oldest first, then how good they were.

    Args:
        when: a moment (seconds since the epoch) in at most 16 characters.
    """
    width = min(23, max((len(item.prediction.pair) for item in scores), default=4))
    lines = [
        f"{'when':<16}  {'pair':<{width}}  {'lookahead':>9} {'kept':>5} {'said':>6} {'was':>6} "
        f"{'error':>6}"
    ]
    for item in scores:
        said = item.prediction
        pair = said.pair if len(said.pair) <= width else f"…{said.pair[1 - width :]}"
        lines.append(
            f"{when(item.at):<16}  {pair:<{width}}  {said.lookahead:>9} "
            f"{percent(said.acceptance):>5} {said.speedup:>5.2f}x {item.measured:>5.2f}x "
            f"{item.error:>+6.0%}"
        )
    error = median_error(scores)
    if error is not None:
        count = len(scores)
        what = "One forecast, off by" if count == 1 else f"{count} forecasts, half of them within"
        lines += ["", f"{what} {percent(error)} of what was measured."]
    return lines

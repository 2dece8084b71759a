"""A command's forecast of its own run: said before it, scored after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model_spec import PairSpec
from ..prompts import Prompt
from ..settings import Settings

if TYPE_CHECKING:
    from ..forecast.prediction import Prediction, Score
    from ..race.demo import DemoResult

__all__ = ["foretell", "score_fields", "settle"]


def foretell(pair: PairSpec, settings: Settings, prompt: Prompt, context: int) -> Prediction | None:
    """What the run to come should gain, written down; None where too little is known.

    Args:
        context: tokens of the prompt.
    """
    from ..costs.prices_here import prices_here
    from ..forecast.log import ForecastLog
    from ..forecast.run_forecast import forecast_run, prompt_key
    from ..this_machine import this_machine

    machine = this_machine()
    prices = prices_here(pair, machine, context)
    key = prompt_key(prompt.id, prompt.text)
    return forecast_run(ForecastLog(), pair, prices, settings, key, machine.name)


def settle(
    said: Prediction | None, pair: PairSpec, settings: Settings, prompt: Prompt, result: DemoResult
) -> Score | None:
    """Keep what the run accepted, and score what was said of it."""
    from ..forecast.log import ForecastLog
    from ..forecast.run_forecast import prompt_key, score_run

    plain, fast = result.standard.metrics, result.speculative.metrics
    key = prompt_key(prompt.id, prompt.text)
    return score_run(ForecastLog(), said, pair, settings, key, plain, fast, result.speedup)


def score_fields(item: Score | None) -> dict[str, Any] | None:
    """The score for JSON."""
    if item is None:
        return None
    said = item.prediction
    return {
        "speedup": said.speedup,
        "measured": item.measured,
        "error": item.error,
        "lookahead": said.lookahead,
        "acceptance": said.acceptance,
        "acceptance_from": said.acceptance_from,
        "prices": said.words,
    }

"""A run's forecast of itself on this machine: said before it, scored after it."""

from __future__ import annotations

from ..metrics import Metrics
from ..model_spec import PairSpec
from ..prompts import Prompt
from ..settings import Settings
from .prediction import Prediction, Score

__all__ = ["foretell", "settle"]


def foretell(pair: PairSpec, settings: Settings, prompt: Prompt, context: int) -> Prediction | None:
    """What the run to come should gain, written down; None where too little is known. How much
    can be copied is the text's own affair, so of copying nothing is foretold.

    Args:
        context: tokens of the prompt.
    """
    from ..costs.cost_table import CostTable
    from ..costs.prices import Prices
    from ..costs.prices_here import prices_here
    from ..this_machine import this_machine
    from .log import ForecastLog
    from .run_forecast import forecast_run, prompt_key

    if pair.as_drafted(settings.draft).copies:
        return None
    machine = this_machine()
    prices = prices_here(pair, machine, context)
    if prices is not None and pair.target.built_in and prices.source == "published":
        return None  # the tables are of models a thousand times as large
    key = prompt_key(prompt.id, prompt.text)
    reading = 0.0  # of the prompt by the draft; timed shapes do not tell it
    if isinstance(prices, Prices) and prices.costs is not None:
        reading = CostTable(prices.costs).catch_up_seconds(context + 1, context)
    return forecast_run(
        ForecastLog(), pair, prices, settings, key, machine.name, beginning_seconds=reading
    )


def settle(
    said: Prediction | None,
    pair: PairSpec,
    settings: Settings,
    prompt: Prompt,
    plain: Metrics,
    drafting: Metrics,
    speedup: float | None,
) -> Score | None:
    """Keep what the run accepted, and score what was said of it."""
    from .log import ForecastLog
    from .run_forecast import prompt_key, score_run

    pair, key = pair.as_drafted(settings.draft), prompt_key(prompt.id, prompt.text)
    return score_run(ForecastLog(), said, pair, settings, key, plain, drafting, speedup)

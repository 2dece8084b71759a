"""A forecast, its formats and the history of forecasts as JSON documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..costs.machines import ACCEPTANCE_SCENARIOS
from ..ledger.what_if import ACCEPTANCES, LOOKAHEADS, break_even, heat_map
from .forecast import Forecast, ModelTiming
from .format_table import FormatPrices, format_verdict
from .prediction import Score, median_error
from .words import headline

__all__ = ["forecast_document", "history_document"]


def forecast_document(forecast: Forecast, formats: Sequence[FormatPrices] = ()) -> dict[str, Any]:
    """Everything a forecast says; times in seconds, memory in bytes."""
    model, pair = forecast.model, forecast.pair
    lookahead, speedup = forecast.best()
    document = {
        "target": pair.target.alias,
        "draft": pair.draft.alias if pair.draft is not None else None,
        "kind": pair.target.kind,
        "machine": forecast.machine,
        "source": forecast.source,
        "source_words": forecast.source_words,
        "outcome": forecast.outcome,
        "sentence": headline(forecast),
        "context": forecast.context,
        "plain_tokens_per_second": forecast.plain_tokens_per_second,
        "plain_seconds_per_token": forecast.plain_seconds,
        "acceptance": forecast.acceptance,
        "best_lookahead": lookahead,
        "best_speedup": speedup,
        **_tables(forecast),
        "target_passes": [
            {"rows": rows, "seconds": seconds} for rows, seconds in model.seconds_by_rows
        ],
        "draft_pass_seconds": model.draft_seconds(1) if pair.draft is not None else None,
        "overhead_seconds": model.overhead_seconds,
        "memory": asdict(forecast.memory) | {"total_bytes": forecast.memory.total_bytes},
        "measured": list(forecast.measured),
        "assumed": list(forecast.assumed),
        "target_timing": _timing(forecast.target_timing),
        "draft_timing": _timing(forecast.draft_timing),
        "forecast_seconds": forecast.total_seconds,
    }
    if formats:
        words, command = format_verdict(forecast, formats)
        document["formats"] = [_format(item, forecast) for item in formats]
        document["format_verdict"] = words
        document["convert_command"] = command or None
    return document


def _tables(forecast: Forecast) -> dict[str, Any]:
    """Speedups and break-even points; empty lists without drafting."""
    drafts = forecast.is_drafting and forecast.max_lookahead > 0
    cells = heat_map(forecast.model, None, None).cells if drafts else ()
    break_even_at = break_even(forecast.model, LOOKAHEADS[1:]) if drafts else ()
    return {
        "best_by_text": [
            {"text": name, "acceptance": chance, "lookahead": best[0], "speedup": best[1]}
            for name, chance in ACCEPTANCE_SCENARIOS.items()
            if drafts and (best := forecast.best(chance))
        ],
        "speedups": [
            {"acceptance": acceptance, "lookahead": g, "speedup": speed}
            for acceptance, row in zip(ACCEPTANCES, cells, strict=False)
            for g, speed in zip(LOOKAHEADS, row, strict=True)
            if speed is not None
        ],
        "break_even_acceptance": [
            {"lookahead": g, "acceptance": needed} for g, needed in break_even_at
        ],
    }


def _timing(timing: ModelTiming | None) -> dict[str, Any] | None:
    if timing is None:
        return None
    return {
        "weights": asdict(timing.weights),
        "sample": asdict(timing.sample) if timing.sample is not None else None,
        "rows_timed": list(timing.passes.timed),
        "rows_interpolated": list(timing.passes.interpolated),
        "repeats": timing.passes.repeats,
    }


def _format(item: FormatPrices, forecast: Forecast) -> dict[str, Any]:
    fields: dict[str, Any] = {
        **asdict(item.weights),
        "weight_bytes": item.weights.weight_bytes(forecast.pair.target),
        "is_stored": item.is_stored,
        "reason": item.reason or None,
    }
    if item.model is not None:
        lookahead, speedup = item.best()
        fields["passes"] = [
            {"rows": rows, "seconds": seconds} for rows, seconds in item.model.seconds_by_rows
        ]
        fields |= {"best_lookahead": lookahead, "best_speedup": speedup}
    return fields


def history_document(scores: Sequence[Score]) -> dict[str, Any]:
    """Every scored forecast, oldest first, and the median of the errors without their signs."""
    return {
        "forecasts": [asdict(item) | {"error": item.error} for item in scores],
        "median_error": median_error(scores),
    }

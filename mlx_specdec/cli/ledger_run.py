"""The ledger of a run that is over: the last one, or one in a file; as text or as JSON."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..errors import SpecdecError
from ..ledger.last_run import read_last_run
from ..ledger.lines import ledger_report
from ..ledger.view import LedgerView, ledger_view
from ..ledger.words import headline
from ..metrics import to_json
from ..race.header import header_names
from ..race.recorded_prices import names_in, recorded_prices
from ..race.recording import Recording, RecordingHeader, read_recording_file

__all__ = ["run_fields", "show_run"]


def show_run(args: argparse.Namespace) -> int:
    """Print the ledger of ``args.file`` or of the last run; 0.

    Raises:
        SpecdecError: nothing has run yet, or the file is not a recording.
    """
    recording = _recording(args.file)
    prices = recorded_prices(recording)
    names = names_in(recording.header)
    view = ledger_view([recording.speculative], prices, names, recording.standard)
    if args.json:
        print(json.dumps(run_fields(recording.header, view), indent=2, ensure_ascii=False))
    else:
        print("\n".join([_title(recording.header), "", *ledger_report(view)]))
    return 0


def _recording(file: str | None) -> Recording:
    if file is not None:
        return read_recording_file(Path(file))
    recording = read_last_run()
    if recording is None:
        raise SpecdecError(
            "Nothing has run yet.",
            "`mlx-specdec demo` runs something; or give figures: "
            "`mlx-specdec ledger --acceptance 0.74 --draft-cost 0.12`.",
        )
    return recording


def _title(header: RecordingHeader) -> str:
    pair = header_names(header)
    parts = [
        f"toy pair {pair}" if header.is_toy else pair,
        header.quantization,
        f"temp {header.temperature:g}",
        header.machine,
        header.date[:16].replace("T", " "),
        f"re-timed for {header.retimed}, not measured" if header.retimed else "",
    ]
    return " · ".join(part for part in parts if part)


def run_fields(header: RecordingHeader, view: LedgerView) -> dict[str, Any]:
    """Everything that the text says, for JSON; null is what is not known."""
    account = view.account
    mark = view.first_mark
    fall = view.fall(*mark) if mark is not None else None
    return {
        "schema": 1,
        "target": header.target,
        "draft": header.draft or None,
        "machine": header.machine or None,
        "date": header.date or None,
        "retimed": header.retimed or None,
        "toy": header.is_toy,
        "headline": headline(view)[0],
        "lane_seconds": account.lane_seconds,
        "rounds": account.num_rounds,
        "round_seconds": account.round_seconds,
        "time": [
            {
                "name": row.name,
                "of": row.detail or None,
                "seconds": row.seconds,
                "estimated": row.is_estimate,
            }
            for row in account.rows
        ],
        "lookahead": view.lookahead,
        "metrics": to_json(view.metrics),
        "prices": view.prices_words or None,
        "measured_speedup": view.measured_speedup,
        "modelled_speedup": view.modelled_speedup,
        "waterfall": None
        if fall is None
        else [{"after": step.words, "times": step.times} for step in fall.steps],
        "what_if": None
        if view.heat is None
        else {
            "acceptances": list(view.heat.acceptances),
            "lookaheads": list(view.heat.lookaheads),
            "speedups": [list(row) for row in view.heat.cells],
        },
        "pass_seconds": [{"rows": each.rows, "seconds": each.seconds} for each in view.passes],
        "break_even_acceptance": [
            {"lookahead": g, "acceptance": needed} for g, needed in view.break_even
        ],
    }

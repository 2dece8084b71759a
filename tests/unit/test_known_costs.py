"""What is assumed of costs before anything was measured."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mlx_specdec.blas import BlasState, BlasStatus
from mlx_specdec.costs import known_costs as module
from mlx_specdec.costs.known_costs import known_costs

import pytest

MODEL = SimpleNamespace(name="t", quantisation="float32", weight_bytes=100_000_000)
DRAFT = SimpleNamespace(name="d", quantisation="float32", weight_bytes=7_000_000)


def rows_cost(monkeypatch: pytest.MonkeyPatch, backend: str, state: BlasState) -> float:
    """A pass over 8 rows in passes over one, as guessed on such a machine."""
    monkeypatch.setattr(module, "load_calibration", lambda key: None)
    monkeypatch.setattr(module, "this_machine", lambda: SimpleNamespace(chip=None))
    monkeypatch.setattr(module, "backend_name", lambda: backend)
    monkeypatch.setattr(module, "blas_status", lambda: BlasStatus(state, "", ""))
    pair: Any = SimpleNamespace(target=MODEL, draft=DRAFT)
    spec: Any = SimpleNamespace(target=None, draft=None)
    model = known_costs(pair, spec).prior.at(100)
    return model.verify_seconds(7) / model.target_seconds


@pytest.mark.parametrize("state", ["missing", "too late", "off"])
def test_without_a_fast_blas_eight_rows_are_taken_to_cost_eight(
    monkeypatch: pytest.MonkeyPatch, state: BlasState
) -> None:
    assert rows_cost(monkeypatch, "cpu", state) == pytest.approx(8)


@pytest.mark.parametrize(("backend", "state"), [("cpu", "loaded"), ("metal", "missing")])
def test_elsewhere_rows_are_taken_to_cost_little(
    monkeypatch: pytest.MonkeyPatch, backend: str, state: BlasState
) -> None:
    assert rows_cost(monkeypatch, backend, state) < 2

"""What rounds of a loaded pair cost here, as far as it is known before the first one."""

from __future__ import annotations

from ..backend import backend_name, blas_status
from ..loaded import LoadedModel, Pair
from ..model_spec import PairSpec
from ..this_machine import machine_label, this_machine, versions
from .calibration import CalibrationKey
from .cost_table import CostTable
from .pair_costs import LINEAR_ROW_TAX, guessed_costs, published_costs
from .store import load_calibration

__all__ = ["calibration_key", "known_costs"]


def known_costs(pair: Pair, spec: PairSpec, kv_bits: int | None = None) -> CostTable:
    """An earlier calibration of exactly this, else the published table of this machine's chip,
    else a guess by the models' sizes; nothing is measured for it."""
    calibration = load_calibration(calibration_key(pair, kv_bits))
    if calibration is not None and calibration.is_usable:
        return CostTable(calibration.costs)
    chip = this_machine().chip
    published = published_costs(chip, spec.target, spec.draft) if chip is not None else None
    if published is not None:
        return CostTable(published)
    draft_bytes = 0 if pair.draft is None else pair.draft.weight_bytes
    sizes = (pair.target.weight_bytes, draft_bytes)
    guessed = (
        guessed_costs(*sizes, LINEAR_ROW_TAX) if _takes_rows_alone() else guessed_costs(*sizes)
    )
    if pair.draft is None:
        guessed = guessed.without_draft()
    return CostTable(guessed, scale_is_known=False)


def _takes_rows_alone() -> bool:
    """Whether products run on MLX's own slow ones, for which eight rows cost eight."""
    return backend_name() == "cpu" and blas_status().state in ("missing", "too late", "off")


def calibration_key(pair: Pair, kv_bits: int | None = None) -> CalibrationKey:
    """What a calibration of this pair on this machine holds for."""

    def name(model: LoadedModel | None) -> str:
        if model is None:
            return ""
        cache = "" if kv_bits is None else f", cache {kv_bits}-bit"
        return f"{model.name} ({model.quantisation}, {model.weight_bytes} bytes{cache})"

    return CalibrationKey(machine_label(), versions()["mlx"], name(pair.target), name(pair.draft))

"""Small files that are kept for convenience: replaced as a whole, and never in the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mlx_specdec.costs.calibration import Calibration, CalibrationKey
from mlx_specdec.costs.pair_costs import PairCosts
from mlx_specdec.costs.store import save_calibration
from mlx_specdec.downloads.rate import remember_download_rate
from mlx_specdec.last_pair import remember_pair
from mlx_specdec.ledger.last_run import remember_run
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.registry import Registry
from mlx_specdec.small_file import replace_file
from tests.races import golden

import pytest


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file.json"
    assert replace_file(path, "one\n")
    assert replace_file(path, "two \udcff\n")  # a stray byte of a name is no reason to fail
    assert path.read_text(encoding="utf-8") == "two ?\n"
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_in_its_place_is_no_error_and_leaves_no_half(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.mkdir()
    assert not replace_file(path, "one\n")
    assert list(tmp_path.iterdir()) == [path]


def _calibrate() -> None:
    model = LatencyModel.measured([(1, 0.05), (2, 0.06)], 0.004)
    key = CalibrationKey("M3", "0.32", "a", "b")
    assert save_calibration(Calibration(key, PairCosts(((0, model),)), 1.0, "interval")) is None


@pytest.mark.parametrize(
    "remember",
    [
        lambda: remember_pair(Registry.load().resolve_pair("qwen3-14b")),
        lambda: remember_run(golden("fable")),
        lambda: remember_download_rate(10**9, 10.0),
        _calibrate,
    ],
    ids=["pair", "run", "rate", "calibration"],
)
def test_remembering_never_disturbs(
    remember: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder that should hold it is a file."""
    blocked = tmp_path / "blocked"
    blocked.write_text("", encoding="utf-8")
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MLX_SPECDEC_CONFIG_DIR"):
        monkeypatch.setenv(name, str(blocked))
    remember()
    assert blocked.read_text(encoding="utf-8") == ""

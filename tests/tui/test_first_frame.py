"""What the first frame does without: it is not imported before it, and its objects are not sought
by the collector."""

import gc
import subprocess
import sys

import tui.app
from tui.collector import begin_rounds, hold_all_rounds
from tui.launch import launch
from tui.opening import AppOpening

import pytest

LATER = (
    *("mlx_specdec.costs", "mlx_specdec.forecast", "mlx_specdec.ledger", "mlx_specdec.registry"),
    *("mlx_specdec.race.retiming", "tui.chat", "tui.remembering", "tui.sharing"),
    *("tui.widgets.race_reason", "textual.widgets._text_area", "markdown_it", "pygments"),
    *("mlx", "mlx_lm", "importlib.metadata", "importlib.resources", "tomllib", "secrets"),
)


def test_the_race_screen_imports_nothing_that_can_wait() -> None:
    code = "import sys, tui.app, tui.screens.race; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "tui.screens.race" in loaded
    assert [name for name in loaded if any(f"{name}.".startswith(f"{it}.") for it in LATER)] == []


def test_the_collector_rests_while_the_app_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def run_app(opening: AppOpening) -> int:
        seen.append(gc.isenabled())
        return 3

    monkeypatch.setattr(tui.app, "run_app", run_app)
    assert launch(AppOpening()) == 3
    assert seen == [False]
    assert gc.isenabled()


def test_what_the_start_made_is_not_looked_at_again() -> None:
    hold_all_rounds()
    try:
        begin_rounds()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
        gc.unfreeze()
        begin_rounds()  # a second time it changes nothing
        assert gc.get_freeze_count() == 0
    finally:
        gc.unfreeze()
        gc.enable()

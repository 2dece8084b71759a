"""The real weights, if `make real` has fetched them; a visible line if not."""

from __future__ import annotations

from pathlib import Path

from mlx_specdec.loaded import Pair
from mlx_specdec.loading import load_pair

import pytest

NOT_RUN = "real: not run (weights not fetched; make real)"


def _needs(folder: Path) -> Path:
    if not (folder / "config.json").is_file():
        pytest.skip(NOT_RUN)
    return folder


@pytest.fixture(scope="session")
def smollm2(real_cache: Path) -> Path:
    """The folder of SmolLM2-135M-Instruct: 4-bit, groups of 32."""
    return _needs(real_cache / "smollm2-135m")


@pytest.fixture(scope="session")
def smollm2_q4(real_cache: Path) -> Path:
    """The same model rounded once more, to groups of 64."""
    return _needs(real_cache / "smollm2-135m-q4")


@pytest.fixture(scope="session")
def pair(smollm2: Path, smollm2_q4: Path) -> Pair:
    return load_pair(smollm2, smollm2_q4)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line of its own, since a skipped test among hundreds is easily missed."""
    if any(NOT_RUN in str(report.longrepr) for report in terminalreporter.getreports("skipped")):
        terminalreporter.write_line(NOT_RUN, yellow=True)

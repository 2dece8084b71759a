"""Toy folders for the command line, made once."""

from __future__ import annotations

from pathlib import Path

from tests.toyfolders import ToyFolders, make_toy_folders

import pytest


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> ToyFolders:
    """Folders of toy models."""
    return make_toy_folders(tmp_path_factory.mktemp("toys"))


@pytest.fixture
def own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for the user's own settings."""
    folder = tmp_path / "config"
    folder.mkdir()
    monkeypatch.setenv("MLX_SPECDEC_CONFIG_DIR", str(folder))
    return folder

"""``mlx-specdec doctor``: what it prints on machines that are well and ill, and its exit code."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from mlx_specdec import doctor_probes
from mlx_specdec.cli import main
from mlx_specdec.doctor import Findings
from tests.forecasts import REGISTRY
from tests.toyfolders import read_json
from tests.unit.test_doctor import LINUX

import pytest

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLX_SPECDEC_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("MLX_SPECDEC_LMSTUDIO_DIR", str(tmp_path / "studio"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def find(monkeypatch: pytest.MonkeyPatch, found: Findings) -> None:
    monkeypatch.setattr(doctor_probes, "examine", lambda: (found, REGISTRY))


def test_all_is_well(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    find(monkeypatch, LINUX)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == " All is well."
    assert lines[0].startswith(" versions  ok     mlx-specdec 0.1.0, mlx 0.32.4")
    assert any(line.startswith(" pair ") for line in lines)
    assert all(len(line) <= 80 for line in lines)


def test_what_is_broken_gives_1_with_a_fix(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    broken = replace(
        LINUX,
        blas_state="missing",
        blas_message="No fast BLAS. Fix: `apt install libopenblas0-pthread`.",
        limit_bytes=10**8,
    )
    find(monkeypatch, broken)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "BROKEN No fast BLAS" in out
    assert "→ `apt install libopenblas0-pthread`." in out
    assert out.splitlines()[-1] == " 2 things to mend: memory, BLAS."


def test_json(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    find(monkeypatch, LINUX)
    assert main(["doctor", "--json"]) == 0
    document = read_json(capsys.readouterr().out)
    assert document["schema"] == 1
    assert document["healthy"] is True
    assert {item["state"] for item in document["checks"]} == {"ok"}
    assert document["machine"]["backend"] == "cpu"
    assert {"target", "draft", "fits", "speedup"} <= document["pairs"][0].keys()
    find(monkeypatch, replace(LINUX, limit_bytes=1))
    assert main(["doctor", "--json"]) == 1
    assert read_json(capsys.readouterr().out)["healthy"] is False


def test_a_target_gives_its_forecast(capsys: Captured) -> None:
    assert main(["doctor", "qwen3-14b", "--chip", "m5-max"]) == 0
    out = capsys.readouterr().out
    assert main(["forecast", "qwen3-14b", "--chip", "m5-max"]) == 0
    assert capsys.readouterr().out == out
    assert "Worth it on M5 Max" in out


def test_the_probes_find_this_machine_and_the_built_in_pair() -> None:
    found, registry = doctor_probes.examine()
    assert registry is not None
    assert found.backend in ("cpu", "cuda", "metal")
    assert found.versions["mlx"]
    assert [(m.name, m.missing) for m in found.models][:2] == [("tiny", ()), ("tiny-draft", ())]
    assert found.memory_bytes >= found.limit_bytes > 0
    assert found.folder_errors == ()


def test_a_models_folder_that_is_a_file_is_found(
    own_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    hub = own_folders / "hub"
    hub.write_text("")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(hub))
    found, _ = doctor_probes.examine()
    assert found.folder_errors == ((str(hub), "not a directory"),)


def test_a_broken_file_of_ones_own_is_found(own_folders: Path) -> None:
    (own_folders / "config").mkdir()
    (own_folders / "config" / "models.toml").write_text("[models.x]\nlayers = -1\n")
    found, registry = doctor_probes.examine()
    assert registry is None
    assert "models.toml, line 2" in found.registry_error
    assert main(["doctor"]) == 1


def test_it_does_not_import_mlx_lm() -> None:
    import subprocess

    code = (
        "import sys; from mlx_specdec.cli import main; main(['doctor'])\n"
        "print(sorted({'mlx_lm', 'transformers', 'textual'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"

"""The doctor's judgement: on machines that are well, and on each that is not."""

from __future__ import annotations

from dataclasses import replace

from mlx_specdec.blas import load_fast_blas
from mlx_specdec.doctor import Check, Findings, FoundModel, checks, is_broken, kernel_words

import pytest

VERSIONS = {"mlx-specdec": "0.1.0", "mlx": "0.32.4", "mlx-lm": "0.32.2", "python": "3.11.7"}
LINUX = Findings(
    versions=VERSIONS,
    system="Linux",
    system_version="6.8.0",
    backend="cpu",
    device="AMD EPYC, 2 cores, 24 GB",
    memory_bytes=24 * 2**30,
    limit_bytes=17 * 10**9,
    blas_state="loaded",
    blas_path="/usr/lib/libopenblas.so.0",
    models=(FoundModel("tiny", "built-in", 6_900_000),),
)
M5 = Findings(
    versions=VERSIONS,
    system="Darwin",
    system_version="26.3",
    backend="metal",
    device="Apple M5 Max, 128 GB",
    gpu_generation=17,
    memory_bytes=128 * 2**30,
    limit_bytes=96 * 2**30,
    blas_state="not needed",
    power="mains",
)
M2 = replace(M5, gpu_generation=14, device="Apple M2, 16 GB", system_version="15.5")


def check(found: Findings, name: str, index: int = 0) -> Check:
    return [item for item in checks(found) if item.name == name][index]


@pytest.mark.parametrize("found", [LINUX, M5, M2, replace(M5, system_version="26.0")])
def test_a_machine_that_is_well(found: Findings) -> None:
    assert not is_broken(checks(found))


def test_without_a_fast_blas_drafting_cannot_pay_and_the_fix_is_named() -> None:
    status = load_fast_blas({}, system="Linux", mlx_is_imported=False, candidates=list)
    found = replace(LINUX, blas_state=status.state, blas_path="", blas_message=status.message)
    assert is_broken(checks(found))
    blas = check(found, "BLAS")
    assert blas.state == "broken"
    assert "drafting cannot pay" in blas.words
    assert "apt install libopenblas0-pthread" in blas.fix
    assert "Fix:" not in blas.words + blas.fix


def test_a_blas_turned_off_by_hand_is_no_fault() -> None:
    found = replace(LINUX, blas_state="off", blas_message="MLX's own BLAS")
    assert check(found, "BLAS").state == "note"
    assert not is_broken(checks(found))


def test_on_a_mac_the_blas_is_not_a_subject() -> None:
    assert "BLAS" not in [item.name for item in checks(M5)]


def test_without_mlx_nothing_else_is_claimed() -> None:
    found = replace(
        LINUX,
        backend="",
        blas_state="",
        backend_error="MLX cannot be imported: No module named 'mlx'.",
        backend_fix="pip install 'mlx-specdec[cpu]'",
    )
    device = check(found, "device")
    assert (device.state, device.fix) == ("broken", "pip install 'mlx-specdec[cpu]'")
    assert {"memory", "kernels"}.isdisjoint(item.name for item in checks(found))


@pytest.mark.parametrize(
    ("name", "version", "fix"),
    [
        ("mlx-lm", "0.31.0", "mlx-lm>=0.32.2,<0.33"),
        ("mlx-lm", "0.33.0", "mlx-lm>=0.32.2,<0.33"),
        ("mlx-lm", "", "mlx-lm>=0.32.2,<0.33"),
        ("mlx", "0.32.1", "--upgrade"),
        ("python", "3.9.6", "3.11"),
    ],
)
def test_versions_that_do_not_work(name: str, version: str, fix: str) -> None:
    found = replace(LINUX, versions={**VERSIONS, name: version})
    item = check(found, "versions")
    assert item.state == "broken"
    assert fix in item.fix


@pytest.mark.parametrize("version", ["0.32.2", "0.32.10", "0.32.3.dev20260901"])
def test_versions_that_do(version: str) -> None:
    found = replace(LINUX, versions={**VERSIONS, "mlx": version, "mlx-lm": version})
    assert check(found, "versions").state == "ok"


def test_too_little_memory_for_anything() -> None:
    found = replace(LINUX, limit_bytes=700_000_000, memory_bytes=2**30)
    item = check(found, "memory")
    assert item.state == "broken"
    assert "Even the built-in pair" in item.fix


def test_an_old_macos_and_a_mac_without_its_gpu() -> None:
    assert check(replace(M5, system_version="13.6"), "system").state == "broken"
    rosetta = check(replace(M5, backend="cpu"), "device")
    assert rosetta.state == "broken"
    assert "Rosetta" in rosetta.fix


def test_an_m5_below_macos_26_2_is_told_what_it_misses() -> None:
    assert check(replace(M5, system_version="26.1"), "system").state == "note"
    assert check(M5, "system").state == "ok"
    assert check(M2, "system").state == "ok"


def test_which_kernels_serve_which_generation() -> None:
    assert "up to 5 tokens" in kernel_words("metal", 15, "0.32.4")
    assert kernel_words("metal", 17, "0.32.4").startswith("M5")
    assert "lacks the kernel" in kernel_words("metal", 16, "0.31.2")
    old = kernel_words("metal", 14, "0.32.4")
    assert old.startswith("M2: affine weights are read once for every token")
    assert "--formats" in old
    assert "float32" in kernel_words("cpu", None, "0.32.4")
    assert "not known" in kernel_words("cuda", None, "0.32.4")
    assert check(M2, "kernels").state == "note"


def test_low_power_and_battery_are_noted() -> None:
    low = check(replace(M5, power="battery, low power mode"), "power")
    assert low.state == "note"
    assert "low power mode" in low.fix
    assert check(replace(M5, power="battery"), "power").fix.startswith("Figures to share")
    assert check(M5, "power").state == "ok"


def test_broken_models_and_folders_each_with_a_fix() -> None:
    half = FoundModel("qwen3-14b", "Hugging Face cache", 10, ("a.safetensors", "b", "c"))
    found = replace(LINUX, models=(*LINUX.models, half))
    note = check(found, "models")
    assert (note.state, note.fix) == ("note", "mlx-specdec pull qwen3-14b")
    assert note.words.endswith("lacks a.safetensors, b, ...")
    assert not is_broken(checks(found))
    toy = replace(LINUX, models=(FoundModel("tiny", "built-in", 1, ("config.json",)),))
    assert is_broken(checks(toy))
    folder = replace(LINUX, folder_errors=(("/models", "permission denied"),))
    assert check(folder, "models").words == "/models cannot be read: permission denied"
    assert is_broken(checks(folder))
    own = replace(LINUX, registry_error="models.toml, line 3: ...", registry_fix="Use 0 or more.")
    assert check(own, "models").fix == "Use 0 or more."
    assert is_broken(checks(own))

"""The search for a fast BLAS with made-up folders, and what the backend says of itself."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

from mlx_specdec import backend, blas
from mlx_specdec.blas import Candidate
from mlx_specdec.errors import UsageError

import pytest

Opener = Callable[[str], object]
GOOD = SimpleNamespace(cblas_sgemm=None)


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def opener(good: Iterable[str], opened: list[str]) -> Opener:
    """Return a stand-in for the dynamic linker that knows only the ``good`` libraries."""
    known = set(good)

    def open_library(path: str) -> object:
        opened.append(path)
        if path not in known:
            raise OSError(f"{path}: cannot open shared object file")
        return GOOD

    return open_library


def load(
    setting: str | None = None,
    *,
    candidates: Iterable[str] = (),
    good: Iterable[str] = (),
    system: str = "Linux",
    mlx_is_imported: bool = False,
) -> tuple[blas.BlasStatus, list[str], dict[str, str]]:
    environ = {} if setting is None else {blas.BLAS_VARIABLE: setting}
    opened: list[str] = []
    status = blas.load_fast_blas(
        environ,
        system=system,
        mlx_is_imported=mlx_is_imported,
        candidates=lambda: [Candidate((path,)) for path in candidates],
        open_library=opener(good, opened),
    )
    return status, opened, environ


def paths(root: Path, machine: str) -> list[str]:
    found = blas.system_candidates(root, machine, prefix=str(root / "env"))
    return [candidate.path.removeprefix(f"{root}/") for candidate in found]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_debian_threads_first_then_serial_then_the_alternative(
    tmp_path: Path, machine: str
) -> None:
    folder = f"usr/lib/{machine}-linux-gnu"
    for name in ("libopenblas.so.0", "openblas-serial/libopenblas.so.0"):
        touch(tmp_path / folder / name)
    touch(tmp_path / folder / "openblas-pthread/libopenblas.so.0")
    # Another processor's libraries may lie beside ours.
    touch(tmp_path / "usr/lib/riscv64-linux-gnu/libopenblas.so.0")
    assert paths(tmp_path, machine) == [
        f"{folder}/openblas-pthread/libopenblas.so.0",
        f"{folder}/openblas-serial/libopenblas.so.0",
        f"{folder}/libopenblas.so.0",
        "libopenblas.so.0",
        "libopenblasp.so.0",
    ]


@pytest.mark.parametrize(
    "place",
    [
        "usr/lib64/libopenblasp.so.0",  # Fedora
        "usr/lib64/libopenblas.so.0",
        "usr/lib/libopenblas.so.0",  # Arch
        "usr/local/lib/libopenblas.so.0",
        "opt/OpenBLAS/lib/libopenblas.so.0",
        "env/lib/libopenblas.so.0",  # conda
    ],
)
def test_each_known_place_comes_before_the_linkers_own_search(tmp_path: Path, place: str) -> None:
    touch(tmp_path / place)
    assert paths(tmp_path, "x86_64") == [place, "libopenblas.so.0", "libopenblasp.so.0"]


def test_the_build_with_wide_integers_is_not_taken(tmp_path: Path) -> None:
    touch(tmp_path / "usr/lib/x86_64-linux-gnu/libopenblas64.so.0")
    assert paths(tmp_path, "x86_64") == ["libopenblas.so.0", "libopenblasp.so.0"]


def test_the_first_library_that_opens_wins() -> None:
    status, opened, environ = load(candidates=["/a", "/b", "/c"], good=["/b", "/c"])
    assert (status.state, status.path) == ("loaded", "/b")
    assert opened == ["/a", "/b"]
    assert environ["OPENBLAS_NUM_THREADS"] == "1"


def test_a_thread_count_that_somebody_set_is_kept() -> None:
    environ = {"OPENBLAS_NUM_THREADS": "2"}
    blas.load_fast_blas(environ, system="Linux", mlx_is_imported=False, candidates=list)
    assert environ == {"OPENBLAS_NUM_THREADS": "2"}


def test_a_library_without_the_function_is_passed_over() -> None:
    status = blas.load_fast_blas(
        {},
        system="Linux",
        mlx_is_imported=False,
        candidates=lambda: [Candidate(("/fortran-only",)), Candidate(("/whole",))],
        open_library=lambda path: GOOD if path == "/whole" else SimpleNamespace(),
    )
    assert status.path == "/whole"


def test_the_shim_needs_the_library_it_forwards_to() -> None:
    opened: list[str] = []
    status = blas.load_fast_blas(
        {},
        system="Linux",
        mlx_is_imported=False,
        candidates=lambda: [Candidate(("/wheel.so", "/shim.so"))],
        open_library=opener(["/wheel.so", "/shim.so"], opened),
    )
    assert (status.state, status.path, opened) == ("loaded", "/shim.so", ["/wheel.so", "/shim.so"])
    status, opened, _ = load(candidates=["/wheel.so"], good=["/shim.so"])
    assert status.state == "missing"


def test_missing_names_both_fixes() -> None:
    status, _, _ = load()
    assert (status.state, status.path) == ("missing", "")
    assert "apt install libopenblas0-pthread" in status.message
    assert "make blas" in status.message


@pytest.mark.parametrize("setting", ["off", " off "])
def test_off_opens_nothing(setting: str) -> None:
    status, opened, environ = load(setting, candidates=["/a"], good=["/a"])
    assert (status.state, opened) == ("off", [])
    assert "OPENBLAS_NUM_THREADS" not in environ


def test_off_is_off_even_when_it_would_be_too_late() -> None:
    assert load("off", mlx_is_imported=True)[0].state == "off"


@pytest.mark.parametrize("setting", [None, "", "auto", "/a"])
def test_too_late_when_somebody_imported_mlx_first(setting: str | None) -> None:
    status, opened, _ = load(setting, candidates=["/a"], good=["/a"], mlx_is_imported=True)
    assert (status.state, opened) == ("too late", [])
    assert "Import mlx_specdec first" in status.message


def test_a_mac_needs_none() -> None:
    status, opened, _ = load("/a", candidates=["/a"], good=["/a"], system="Darwin")
    assert (status.state, opened) == ("not needed", [])


def test_a_chosen_library_is_the_only_one_tried() -> None:
    status, opened, _ = load("/mine.so", candidates=["/a"], good=["/a", "/mine.so"])
    assert (status.state, status.path, opened) == ("loaded", "/mine.so", ["/mine.so"])


def test_a_chosen_library_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        load("/mine.so", candidates=["/a"], good=["/a"])
    assert "MLX_SPECDEC_BLAS=/mine.so" in caught.value.message
    assert caught.value.hint


def test_the_cache_folder_follows_the_desktop_rules(tmp_path: Path) -> None:
    assert blas.cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "mlx-specdec"
    home = Path.home() / ".cache" / "mlx-specdec"
    assert blas.cache_folder({}) == home
    assert blas.cache_folder({"XDG_CACHE_HOME": "relative"}) == home


def test_the_shims_name_carries_wheel_and_platform(tmp_path: Path) -> None:
    shim = blas.shim_path("1.2.3", tmp_path)
    assert shim.parent == tmp_path
    assert "1.2.3" in shim.name
    assert platform.machine() in shim.name


def test_a_shim_counts_only_with_its_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = touch(tmp_path / "libscipy_openblas.so")
    monkeypatch.setattr(blas, "wheel_library", lambda: library)
    monkeypatch.setattr(blas, "wheel_version", lambda: "1.2.3")
    assert blas.shim_candidates(tmp_path) == []
    shim = touch(blas.shim_path("1.2.3", tmp_path))
    assert blas.shim_candidates(tmp_path) == [Candidate((str(library), str(shim)))]
    monkeypatch.setattr(blas, "wheel_version", lambda: "1.2.4")
    assert blas.shim_candidates(tmp_path) == []


def test_the_tests_run_on_mlx_own_blas() -> None:
    assert backend.blas_status().state in ("off", "not needed")


def test_too_late_in_a_real_process() -> None:
    code = (
        "import os; os.environ.pop('MLX_SPECDEC_BLAS', None)\n"
        "import mlx.core\n"
        "from mlx_specdec.backend import blas_status\n"
        "print(blas_status().state)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("too late", "not needed")


def test_without_mlx_the_error_names_the_fix() -> None:
    code = (
        "import sys; sys.modules['mlx.core'] = None\n"
        "from mlx_specdec.errors import BackendMissingError\n"
        "try:\n    import mlx_specdec.backend\n"
        "except BackendMissingError as error:\n    print(error.hint)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install" in done.stdout


def test_the_machine_in_figures() -> None:
    assert backend.backend_name() in ("metal", "cuda", "cpu")
    assert backend.is_metal() == (backend.backend_name() == "metal")
    assert backend.memory_bytes() > 2**28
    assert backend.gpu_memory_limit_bytes() > 0
    assert "GB" in backend.device_description()


def test_peak_memory_starts_anew() -> None:
    backend.reset_peak_memory()
    before = backend.peak_memory_bytes()
    backend.mx.eval(backend.mx.zeros((1024, 1024)) + 1)
    assert backend.peak_memory_bytes() >= before + 4 * 2**20

"""Find a fast BLAS on Linux and put it in front of the one inside MLX.

MLX's Linux wheel carries the reference BLAS, where a pass over 8 tokens costs
eight passes; speculation cannot pay there. MLX asks for ``cblas_sgemm`` by name,
and the dynamic linker takes the first library that offers it, so loading OpenBLAS
with global symbols *before* ``mlx.core`` is enough. This module knows no MLX;
:mod:`mlx_specdec.backend` calls it at the right moment.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlx_specdec.errors import UsageError

BLAS_VARIABLE = "MLX_SPECDEC_BLAS"
"""Environment variable: ``auto`` (default), ``off``, or the path of a library."""

WHEEL = "scipy-openblas32"
"""The package whose OpenBLAS the shim forwards to (its names carry a prefix)."""

BlasState = Literal["loaded", "off", "missing", "too late", "not needed"]
OpenLibrary = Callable[[str], object]


@dataclass(frozen=True)
class BlasStatus:
    """What became of the search for a fast BLAS.

    ``path`` is the library in use ("" unless ``state`` is ``"loaded"``);
    ``message`` is one sentence for people, with the fix where there is one.
    """

    state: BlasState
    path: str
    message: str


@dataclass(frozen=True)
class Candidate:
    """Libraries to open in order; the last one must offer ``cblas_sgemm``."""

    libraries: tuple[str, ...]

    @property
    def path(self) -> str:
        """The library that offers ``cblas_sgemm``."""
        return self.libraries[-1]


def system_candidates(
    root: Path = Path("/"), machine: str = "", prefix: str = ""
) -> list[Candidate]:
    """List the OpenBLAS libraries of this system, the preferred one first.

    Looks where conda, Debian, Ubuntu, Fedora, Arch and OpenBLAS's own ``make install``
    put it (under ``root``), then leaves a name to the dynamic linker's own search.
    ``ctypes.util.find_library`` is not used: it may start a compiler at every run.
    """
    machine = machine or platform.machine()
    prefix = prefix or sys.prefix
    debian = f"usr/lib/{machine}-linux-gnu"
    patterns = [
        f"{debian}/openblas-pthread/libopenblas.so.0",
        f"{debian}/openblas-serial/libopenblas.so.0",
        f"{debian}/openblas-openmp/libopenblas.so.0",
        f"{debian}/libopenblas.so.0",
        "usr/lib64/libopenblasp.so.0",
        "usr/lib64/libopenblas.so.0",
        "usr/lib/libopenblas.so.0",
        "usr/lib/libopenblas.so",
        "usr/local/lib*/libopenblas.so.0",
        "opt/OpenBLAS/lib/libopenblas.so.0",
    ]
    paths = [Path(prefix) / "lib" / "libopenblas.so.0"]
    for pattern in patterns:
        paths.extend(sorted(root.glob(pattern)))
    found = [Candidate((str(path),)) for path in paths if path.exists()]
    # A bare name is searched in LD_LIBRARY_PATH and the linker's cache.
    return [*found, Candidate(("libopenblas.so.0",)), Candidate(("libopenblasp.so.0",))]


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder where this project keeps what it builds once per machine."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CACHE_HOME", "")
    # The XDG rules say that a relative value is to be ignored.
    folder = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return folder / "mlx-specdec"


def wheel_version() -> str | None:
    """Return the installed version of the OpenBLAS wheel, or None."""
    try:
        return importlib.metadata.version(WHEEL)
    except importlib.metadata.PackageNotFoundError:
        return None


def wheel_library() -> Path | None:
    """Return the OpenBLAS library inside the installed wheel, or None."""
    spec = importlib.util.find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        return None
    found = sorted((Path(spec.origin).parent / "lib").glob("libscipy_openblas*.so*"))
    return found[0] if found else None


def shim_path(version: str, folder: Path | None = None) -> Path:
    """Return where the shim for the wheel's ``version`` on this platform belongs."""
    platform_name = f"{platform.system().lower()}-{platform.machine()}"
    return (folder or cache_folder()) / f"cblas-{WHEEL}-{version}-{platform_name}.so"


def shim_candidates(folder: Path | None = None) -> list[Candidate]:
    """List the shim and the library it forwards to, when both are there."""
    version, library = wheel_version(), wheel_library()
    if version is None or library is None:
        return []
    shim = shim_path(version, folder)
    return [Candidate((str(library), str(shim)))] if shim.exists() else []


def all_candidates() -> list[Candidate]:
    """List every library worth trying here, in order: the system's, then the shim."""
    return [*system_candidates(), *shim_candidates()]


def open_globally(path: str) -> object:
    """Open a shared library so that later ones find its symbols first.

    Raises:
        OSError: it cannot be loaded.
    """
    return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


def load_fast_blas(
    environ: MutableMapping[str, str],
    *,
    system: str,
    mlx_is_imported: bool,
    candidates: Callable[[], Iterable[Candidate]] = all_candidates,
    open_library: OpenLibrary = open_globally,
) -> BlasStatus:
    """Load a fast BLAS unless it is turned off, too late or of no use here.

    ``system`` is ``platform.system()``. Sets OPENBLAS_NUM_THREADS to 1 in ``environ``
    when it is unset.

    Raises:
        UsageError: MLX_SPECDEC_BLAS names a library that cannot be used.
    """
    setting = environ.get(BLAS_VARIABLE, "").strip() or "auto"
    if system != "Linux":
        return BlasStatus("not needed", "", "MLX brings its own fast BLAS on this system.")
    if setting == "off":
        return BlasStatus("off", "", f"MLX's own BLAS, because {BLAS_VARIABLE}=off.")
    if mlx_is_imported:
        return BlasStatus(
            "too late",
            "",
            "MLX was imported before mlx_specdec, so a fast BLAS can no longer be put in "
            "front of it. Import mlx_specdec first.",
        )
    # One thread: for products this small two were slower than one.
    environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if setting != "auto":
        return _load_chosen(setting, open_library)
    for candidate in candidates():
        if not _open(candidate, open_library):
            return _loaded(candidate)
    return BlasStatus(
        "missing",
        "",
        "No fast BLAS: on this CPU a pass over 8 tokens costs about 8 passes, so drafting "
        "cannot pay. Fix: `apt install libopenblas0-pthread` (Fedora: `dnf install openblas`), "
        "or `make blas` in a checkout, which needs a C compiler.",
    )


def _load_chosen(setting: str, open_library: OpenLibrary) -> BlasStatus:
    # A bare file name would otherwise be searched on the linker's path.
    chosen = Candidate((str(Path(setting).expanduser().absolute()),))
    problem = _open(chosen, open_library)
    if problem:
        raise UsageError(
            f"{BLAS_VARIABLE}={setting} cannot be used: {problem}.",
            "Set it to the path of libopenblas.so.0, to auto, or to off.",
        )
    return _loaded(chosen)


def _loaded(candidate: Candidate) -> BlasStatus:
    return BlasStatus("loaded", candidate.path, f"Fast BLAS: {candidate.path}")


def _open(candidate: Candidate, open_library: OpenLibrary) -> str:
    """Open the candidate's libraries; return what is wrong, or "" when all is well."""
    library: object = None
    for path in candidate.libraries:
        try:
            library = open_library(path)
        except OSError as error:
            return str(error)
    # Some builds leave out the C interface, or rename it.
    return "" if hasattr(library, "cblas_sgemm") else f"{candidate.path} has no cblas_sgemm"

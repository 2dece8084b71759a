"""Find or build a fast BLAS for MLX on Linux; ``make blas`` and the set-up run this.

The wheel of OpenBLAS renames every function (``scipy_cblas_sgemm``), while MLX asks
for ``cblas_sgemm``: a shim of one function, compiled here once per machine and wheel,
forwards one to the other. A run of the program never compiles anything. Whatever is
missing is said in one line; the set-up goes on with MLX's own BLAS.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from mlx_specdec.blas import (
    WHEEL,
    Candidate,
    open_globally,
    shim_path,
    system_candidates,
    wheel_library,
    wheel_version,
)

# Both sides use 32-bit integers and pass the three enums as int.
SOURCE = """\
extern void scipy_cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k,
    float alpha, const float *a, int lda, const float *b, int ldb,
    float beta, float *c, int ldc);

void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k,
    float alpha, const float *a, int lda, const float *b, int ldb,
    float beta, float *c, int ldc)
{
    scipy_cblas_sgemm(order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
"""

SYSTEM_FIX = "apt install libopenblas0-pthread (Fedora: dnf install openblas)"


def main() -> int:
    """Make sure that a fast BLAS is there, or say what is missing. Always returns 0."""
    print(f"BLAS: {prepare()}")
    return 0


def prepare() -> str:
    """Find or build, and return one line for people."""
    if platform.system() != "Linux":
        return "nothing to do, MLX brings a fast one on this system."
    if has_cuda():
        return "nothing to do, products run on the GPU."
    for candidate in system_candidates():
        if computes(candidate):
            return f"using {candidate.path}."
    version, library = wheel_version(), wheel_library()
    if version and library and computes(Candidate((str(library), str(shim_path(version))))):
        return f"using the shim {shim_path(version)}."
    compiler = find_compiler()
    if compiler is None:
        return (
            f"MLX's own, which is slow: neither OpenBLAS nor a C compiler was found. {SYSTEM_FIX}"
        )
    print(f"BLAS: no OpenBLAS on this system; installing {WHEEL} (about 20 MB) and a shim.")
    if not install_wheel():
        return f"MLX's own, which is slow: {WHEEL} could not be installed. {SYSTEM_FIX}"
    importlib.invalidate_caches()
    version, library = wheel_version(), wheel_library()
    if version is None or library is None:
        return f"MLX's own, which is slow: {WHEEL} holds no library here. {SYSTEM_FIX}"
    shim = shim_path(version)
    problem = build(compiler, shim, library)
    if problem:
        return f"MLX's own, which is slow: the shim could not be built ({problem}). {SYSTEM_FIX}"
    return f"built the shim {shim}."


def has_cuda() -> bool:
    """Return whether MLX's CUDA backend is installed."""
    names = {(dist.metadata["Name"] or "").lower() for dist in importlib.metadata.distributions()}
    return any(name.startswith(("mlx-cuda", "mlx_cuda")) for name in names)


def find_compiler() -> str | None:
    """Return a C compiler: the CC variable's, else the usual names."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        found = shutil.which(name) if name else None
        if found:
            return found
    return None


def install_wheel() -> bool:
    """Install the OpenBLAS wheel into this environment."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:", WHEEL]
    return subprocess.run(command, check=False).returncode == 0


def build(compiler: str, shim: Path, library: Path) -> str:
    """Compile the shim and try it; return what went wrong, or ""."""
    shim.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=shim.parent) as folder:
        source = Path(folder) / "shim.c"
        built = Path(folder) / "shim.so"
        source.write_text(SOURCE, encoding="utf-8")
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(built), str(source)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no words"
        if not computes(Candidate((str(library), str(built)))):
            return "it loads or computes wrongly"
        # In one step, so that nobody ever loads half a library.
        os.replace(built, shim)
    return ""


def computes(candidate: Candidate) -> bool:
    """Load the candidate and let it multiply two small matrices of whole numbers."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    library: object = None
    for path in candidate.libraries:
        try:
            library = open_globally(path)
        except OSError:
            return False
    if not isinstance(library, ctypes.CDLL) or not hasattr(library, "cblas_sgemm"):
        return False
    rows, columns, inner = 3, 5, 7
    a = [float((3 * i) % 11 - 5) for i in range(rows * inner)]
    b = [float((5 * i) % 13 - 6) for i in range(columns * inner)]  # stored transposed
    c = (ctypes.c_float * (rows * columns))()
    row_major, no_transpose, transpose = 101, 111, 112
    sgemm = library.cblas_sgemm
    sgemm.restype = None
    sgemm.argtypes = [ctypes.c_int] * 6 + [
        ctypes.c_float,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_float,
        ctypes.c_void_p,
        ctypes.c_int,
    ]
    sgemm(
        *(row_major, no_transpose, transpose, rows, columns, inner),
        *(1.0, (ctypes.c_float * len(a))(*a), inner, (ctypes.c_float * len(b))(*b), inner),
        *(0.0, c, columns),
    )
    expected = [
        sum(a[i * inner + k] * b[j * inner + k] for k in range(inner))
        for i in range(rows)
        for j in range(columns)
    ]
    return list(c) == expected


if __name__ == "__main__":
    sys.exit(main())

"""The one door to MLX: ``from mlx_specdec.backend import mx, nn``.

Only this module imports ``mlx``, so that on Linux the fast BLAS is always loaded
first (see :mod:`mlx_specdec.blas`). It also answers what the rest asks about the
machine: the device, its memory, and which BLAS is in use.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from mlx_specdec.blas import BlasStatus, load_fast_blas
from mlx_specdec.errors import BackendMissingError

_blas = load_fast_blas(
    os.environ, system=platform.system(), mlx_is_imported="mlx.core" in sys.modules
)

try:
    import mlx.core as mx
    import mlx.nn as nn
    from mlx.utils import tree_flatten as _tree_flatten
    from mlx.utils import tree_map, tree_unflatten
except ImportError as error:
    if platform.system() == "Linux":
        _hint = (
            "Install one of its backends: pip install 'mlx-specdec[cpu]' "
            "(NVIDIA: 'mlx-specdec[cuda]')."
        )
    else:
        _hint = "MLX needs Apple silicon and macOS 14 or later; then: pip install mlx-specdec."
    raise BackendMissingError(f"MLX cannot be imported: {error}.", _hint) from error

__all__ = [
    "BlasStatus",
    "backend_name",
    "blas_status",
    "device_description",
    "gpu_generation",
    "gpu_memory_limit_bytes",
    "is_metal",
    "memory_bytes",
    "mx",
    "nn",
    "peak_memory_bytes",
    "read_floats",
    "release_thread",
    "release_unused_memory",
    "reset_peak_memory",
    "set_wired_limit",
    "synchronize",
    "tree_flatten",
    "tree_map",
    "tree_unflatten",
]

BackendName = Literal["metal", "cuda", "cpu"]

_CPU_SHARE_OF_MEMORY = 0.7
"""What a model may take of a machine without a GPU: the rest is for everybody else."""


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[str, Any]]:
    """Return the tree's leaves with their dotted paths (MLX's own, with a narrower type)."""
    return cast(list[tuple[str, Any]], _tree_flatten(tree, is_leaf=is_leaf))


def blas_status() -> BlasStatus:
    """Return which BLAS MLX's float32 products run on, and the fix if it is the slow one."""
    if _blas.state in ("missing", "too late") and backend_name() == "cuda":
        return replace(_blas, state="not needed", message="Products run on the GPU.")
    return _blas


def backend_name() -> BackendName:
    """Return where MLX computes by default: ``"metal"``, ``"cuda"`` or ``"cpu"``."""
    if mx.default_device() == mx.Device(mx.cpu):
        return "cpu"
    return "metal" if mx.metal.is_available() else "cuda"


def is_metal() -> bool:
    """Return whether MLX computes on an Apple GPU."""
    return backend_name() == "metal"


def gpu_generation() -> int | None:
    """Return the generation of an Apple GPU as MLX counts it: 13 is M1, 17 is M5; else None."""
    if not is_metal():
        return None
    found = re.search(r"g(\d+)", str(mx.device_info().get("architecture", "")))
    return int(found[1]) if found else None


def device_description() -> str:
    """Return one line that names the device, such as ``"Apple M3 Pro, 36 GB"``."""
    name = str(mx.device_info().get("device_name", "")) or platform.machine()
    if backend_name() == "cpu":
        name = f"{_processor_name() or name}, {os.cpu_count()} cores"
    return f"{name}, {_device_memory_bytes() / 2**30:.0f} GB"


def memory_bytes() -> int:
    """Return the physical memory of this machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def gpu_memory_limit_bytes() -> int:
    """Return how many bytes models and caches may take before the machine suffers.

    Metal: the system's recommended working set. CUDA: the card's memory. CPU: about
    70 % of the physical memory.
    """
    if backend_name() == "cpu":
        return int(memory_bytes() * _CPU_SHARE_OF_MEMORY)
    recommended = int(mx.device_info().get("max_recommended_working_set_size", 0))
    return recommended or _device_memory_bytes()


def release_thread() -> None:
    """End MLX's own threads behind the calling one, which is about to end itself.

    Without it a process that ends soon afterwards is aborted now and then (MLX 0.32.4, Linux).
    """
    mx.synchronize()
    clear = getattr(mx, "clear_streams", None)
    if clear is not None:
        clear()


def synchronize() -> None:
    """Wait until the device has done everything that was asked of it."""
    mx.synchronize()


def peak_memory_bytes() -> int:
    """Return the most bytes MLX has held at once since the last reset."""
    return int(mx.get_peak_memory())


def set_wired_limit(num_bytes: int) -> int:
    """Set how many bytes the system must keep in memory, and return the limit before.

    0 is the system's default. Does nothing where there is no such limit (not Metal).
    """
    return int(mx.set_wired_limit(num_bytes)) if is_metal() else 0


def release_unused_memory() -> None:
    """Give back the buffers that MLX keeps for reuse."""
    mx.clear_cache()


def reset_peak_memory() -> None:
    """Start a new measurement for :func:`peak_memory_bytes`."""
    mx.reset_peak_memory()


def _device_memory_bytes() -> int:
    """Return the memory that the device computes in: its own, or the machine's."""
    if backend_name() == "cuda":
        info = mx.device_info()
        return int(info.get("total_memory") or info.get("memory_size") or memory_bytes())
    return memory_bytes()


def _processor_name() -> str:
    """Return the processor's name as Linux tells it, or ""."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return ""


def read_floats(array: mx.array) -> list[float]:
    """Wait for a vector [n] and return it as host numbers: the one blocking read of a round."""
    numbers: list[float] = array.tolist()  # type: ignore[assignment]
    return numbers

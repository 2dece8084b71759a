"""This machine: what it is, how it is powered, which versions run, and what it is too slow for."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata

from .backend import (
    backend_name,
    device_description,
    gpu_memory_limit_bytes,
    memory_bytes,
)
from .costs.machines import chip_of
from .downloads.question import Machine
from .errors import DoesNotFitError
from .memory import bytes_text
from .model_spec import ModelSpec
from .registry import Registry

__all__ = [
    "can_run",
    "check_speed",
    "machine_label",
    "power_source",
    "slow_token_seconds",
    "this_machine",
    "versions",
]

# Weights a second that MLX's CPU backend gets through while they stay 4-bit: scalar, one core.
_SCALAR_WEIGHTS_PER_SECOND = 0.5e9
_EXPANDED_SHARE = 0.5  # of the memory, that the loader gives to weights in float32
_PATIENCE_SECONDS = 2.0  # a token


def this_machine() -> Machine:
    """What the question before a download needs to know."""
    name = device_description().rpartition(", ")[0]
    chip = chip_of(name) if platform.system() == "Darwin" else None
    return Machine(name, memory_bytes(), gpu_memory_limit_bytes(), chip)


def machine_label() -> str:
    """One line for a result: ``M3 Pro 36 GB``."""
    name, _, memory = device_description().rpartition(", ")
    return f"{' '.join(name.removeprefix('Apple ').split())} {memory}"


def power_source() -> str:
    """``mains``, ``battery`` (and low power mode); empty where the system does not say."""
    if platform.system() != "Darwin":
        return ""
    try:
        state = subprocess.run(
            ["pmset", "-g", "batt"], capture_output=True, text=True, timeout=2, check=False
        ).stdout
        modes = subprocess.run(
            ["pmset", "-g"], capture_output=True, text=True, timeout=2, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    words = "mains" if "AC Power" in state else "battery" if "Battery Power" in state else ""
    low = any(line.split()[:2] == ["lowpowermode", "1"] for line in modes.splitlines())
    return f"{words}, low power mode" if words and low else words


def versions() -> dict[str, str]:
    """The versions of MLX, mlx-lm and this package."""
    found = {}
    for name in ("mlx-specdec", "mlx", "mlx-lm"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found


def slow_token_seconds(spec: ModelSpec, memory: int) -> float:
    """Seconds a token on a CPU, when the weights are too many for float32; 0 when they fit.

    Args:
        memory: of the machine, in bytes.
    """
    if spec.built_in or 4 * spec.params <= _EXPANDED_SHARE * memory:
        return 0.0
    return spec.active_params / _SCALAR_WEIGHTS_PER_SECOND


def can_run(spec: ModelSpec) -> bool:
    """Whether a model answers in reason here; True where its size is not known."""
    return backend_name() != "cpu" or slow_token_seconds(spec, memory_bytes()) <= _PATIENCE_SECONDS


def check_speed(spec: ModelSpec, registry: Registry) -> None:
    """Refuse a model that this CPU cannot run in reason.

    Raises:
        DoesNotFitError: with the seconds a token would take, and what works here.
    """
    if can_run(spec):
        return
    seconds = slow_token_seconds(spec, memory_bytes())
    fitting = [s.alias for s in registry if s.family == "qwen3" and s.params and can_run(s)]
    works = ", ".join(["tiny", "a folder of SmolLM2-135M", *fitting[-2:]])
    raise DoesNotFitError(
        f"On this CPU {spec.alias} would need about {seconds:.0f} seconds a token: as float32 it "
        f"takes {bytes_text(4 * spec.params)}, and the machine has {bytes_text(memory_bytes())}.",
        f"What works here: {works}. To go on all the same: --force.",
    )

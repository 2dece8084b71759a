"""Doctor: is everything well on this machine, what serves it, and what pays? Pure judgement.

What was found arrives as ``Findings`` (see ``doctor_probes``); here it becomes lines, each with
its fix where something is broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from .memory import bytes_text

__all__ = ["Check", "Findings", "FoundModel", "checks", "is_broken", "kernel_words"]

State = Literal["ok", "note", "broken"]

LEAST_PYTHON = (3, 11)
LEAST_MLX, LEAST_MLX_LM, NEXT_MLX_LM = (0, 32, 2), (0, 32, 2), (0, 33)
LEAST_MACOS, NAX_MACOS = (14, 0), (26, 2)
# The built-in pair with what a pass needs, and what everybody else keeps.
LEAST_MEMORY_BYTES = 1_000_000_000
_FIRST_WIDE_GENERATION, _NAX_GENERATION = 15, 17  # M3, M5
_MARKETING = {13: "M1", 14: "M2", 15: "M3", 16: "M4", 17: "M5"}


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model on this disk: its short name, where, and what it lacks (nothing: complete)."""

    name: str
    origin: str
    bytes_on_disk: int
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """What the probes saw; a text that ends in ``_error`` is empty when all went well.

    Args:
        versions: of mlx-specdec, mlx, mlx-lm, python; empty where not installed.
        system, system_version: such as Darwin and the macOS version, Linux and the kernel's.
        backend: metal, cuda or cpu; empty when MLX cannot be imported.
        backend_error, backend_fix: why MLX cannot be imported, and what to do.
        device: its name.
        gpu_generation: of an Apple GPU as MLX counts it, 13 for M1; else None.
        memory_bytes, limit_bytes: of the machine, and what models and caches may take.
        blas_state, blas_message, blas_path: see blas.BlasStatus.
        power: mains, battery and low power mode; empty where the system does not say.
        models: what is on the disk.
        registry_error, registry_fix: the user's own models.toml.
        folder_errors: model folders that cannot be read: (folder, why).
    """

    versions: dict[str, str]
    system: str
    system_version: str
    backend: str
    device: str = ""
    backend_error: str = ""
    backend_fix: str = ""
    gpu_generation: int | None = None
    memory_bytes: int = 0
    limit_bytes: int = 0
    blas_state: str = ""
    blas_message: str = ""
    blas_path: str = ""
    power: str = ""
    models: tuple[FoundModel, ...] = ()
    registry_error: str = ""
    registry_fix: str = ""
    folder_errors: tuple[tuple[str, str], ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor; ``fix`` is empty unless something is broken or could be better."""

    name: str
    state: State
    words: str
    fix: str = ""


def is_broken(results: Sequence[Check]) -> bool:
    """Whether anything needs to be mended before this program can do its work."""
    return any(check.state == "broken" for check in results)


def checks(found: Findings) -> list[Check]:
    """Every check, in the order in which they are shown."""
    results = [_versions(found), _system(found), *_backend(found)]
    if found.backend:
        results += [_memory(found), _kernels(found)]
    if found.blas_state and found.system == "Linux":
        results.append(_blas(found))
    if found.power:
        results.append(_power(found))
    return [*results, *_models(found)]


def _numbers(version: str) -> tuple[int, ...]:
    parts = []
    for part in version.split("."):
        digits = "".join(letter for letter in part if letter.isdigit())
        if not digits or not part[0].isdigit():
            break
        parts.append(int(digits))
    return tuple(parts)


def _versions(found: Findings) -> Check:
    words = ", ".join(f"{name} {version or '-'}" for name, version in found.versions.items())
    mlx, mlx_lm = (_numbers(found.versions.get(name, "")) for name in ("mlx", "mlx-lm"))
    if _numbers(found.versions.get("python", "3.11")) < LEAST_PYTHON:
        return Check("versions", "broken", words, "Python 3.11 or later is needed.")
    if not mlx_lm or not LEAST_MLX_LM <= mlx_lm < NEXT_MLX_LM:
        return Check("versions", "broken", words, "pip install 'mlx-lm>=0.32.2,<0.33'")
    if not mlx or mlx < LEAST_MLX:
        return Check("versions", "broken", words, "pip install --upgrade 'mlx>=0.32.2'")
    return Check("versions", "ok", words)


def _system(found: Findings) -> Check:
    if found.system != "Darwin":
        return Check("system", "ok", f"{found.system} {found.system_version}".strip())
    words = f"macOS {found.system_version}"
    version = _numbers(found.system_version)
    if version and version < LEAST_MACOS:
        return Check("system", "broken", words, "MLX needs macOS 14 or later.")
    if found.gpu_generation and found.gpu_generation >= _NAX_GENERATION and version < NAX_MACOS:
        fix = "With macOS 26.2 or later MLX reads prompts with the M5's matrix units."
        return Check("system", "note", words, fix)
    return Check("system", "ok", words)


def _backend(found: Findings) -> list[Check]:
    if not found.backend:
        return [Check("device", "broken", found.backend_error, found.backend_fix)]
    name = {"metal": "GPU, Metal", "cuda": "GPU, CUDA", "cpu": "CPU"}[found.backend]
    if found.system == "Darwin" and found.backend == "cpu":
        fix = "MLX found no GPU: is this a virtual machine, or Python for Intel (Rosetta)?"
        return [Check("device", "broken", f"{found.device} ({name})", fix)]
    return [Check("device", "ok", f"{found.device} ({name})")]


def _memory(found: Findings) -> Check:
    whose = {"metal": "macOS lets the GPU use", "cuda": "the card has"}.get(
        found.backend, "models may take here"
    )
    words = f"{bytes_text(found.limit_bytes)} that {whose}"
    if found.backend != "cuda":
        words += f", of {found.memory_bytes / 2**30:.0f} GB"
    if found.limit_bytes < LEAST_MEMORY_BYTES:
        fix = "Even the built-in pair needs 1 GB: take a machine, or a container, with more."
        return Check("memory", "broken", words, fix)
    return Check("memory", "ok", words)


def kernel_words(backend: str, generation: int | None, mlx_version: str) -> str:
    """Which of MLX's kernels check several tokens at once here, in a sentence.

    Read in MLX's dispatch (quantized_matmul, MLX 0.32): affine weights have a kernel that reads
    them once for up to five rows from the M3's generation and 0.32.0 on; the floating formats
    have it on every Apple GPU; a CPU's product is scalar and linear in the rows.
    """
    if backend == "cpu":
        return (
            "a CPU multiplies 4-bit weights one by one, so that several tokens cost as many "
            "passes; models that fit as float32 are held so, and there drafting can pay"
        )
    if backend == "cuda" or generation is None:
        return "not known for this GPU: `mlx-specdec forecast TARGET` measures it"
    name = _MARKETING.get(generation, f"generation {generation}")
    if generation < _FIRST_WIDE_GENERATION:
        return (
            f"{name}: affine weights are read once for every token checked, so drafting seldom "
            "pays; mxfp4 and nvfp4 have the kernel that reads them once for five (unmeasured: "
            "`mlx-specdec forecast TARGET --formats`)"
        )
    if _numbers(mlx_version) < (0, 32):
        return f"{name}, but MLX {mlx_version} lacks the kernel for a few tokens at once"
    return (
        f"{name}: affine weights are read once for up to 5 tokens checked (lookahead 4), twice "
        "for up to 10"
    )


def _kernels(found: Findings) -> Check:
    words = kernel_words(found.backend, found.gpu_generation, found.versions.get("mlx", ""))
    slow = found.gpu_generation is not None and found.gpu_generation < _FIRST_WIDE_GENERATION
    return Check("kernels", "note" if slow else "ok", words)


def _blas(found: Findings) -> Check:
    if found.blas_state == "loaded":
        return Check("BLAS", "ok", found.blas_path)
    if found.blas_state == "not needed":
        return Check("BLAS", "ok", found.blas_message)
    said, _, fix = found.blas_message.partition(" Fix: ")
    if found.blas_state == "off":
        return Check("BLAS", "note", said, "Unset MLX_SPECDEC_BLAS for the fast one.")
    return Check("BLAS", "broken", said, fix or "Run `mlx-specdec` in a process of its own.")


def _power(found: Findings) -> Check:
    if "low power" in found.power:
        return Check(
            "power", "note", found.power, "Every figure is lower in low power mode: turn it off."
        )
    if found.power.startswith("battery"):
        return Check("power", "note", found.power, "Figures to share are taken on mains.")
    return Check("power", "ok", found.power)


def _models(found: Findings) -> list[Check]:
    results = []
    if found.registry_error:
        results.append(Check("models", "broken", found.registry_error, found.registry_fix))
    for folder, why in found.folder_errors:
        fix = "Mend its permissions, or point HF_HOME (LM Studio: its settings) elsewhere."
        results.append(Check("models", "broken", f"{folder} cannot be read: {why}", fix))
    for model in found.models:
        if model.missing:
            lacks = ", ".join(model.missing[:2]) + (", ..." if len(model.missing) > 2 else "")
            built_in = model.origin == "built-in"
            results.append(
                Check(
                    "models",
                    "broken" if built_in else "note",
                    f"{model.name} ({model.origin}) lacks {lacks}",
                    "Install mlx-specdec again." if built_in else f"mlx-specdec pull {model.name}",
                )
            )
    here = [model for model in found.models if not model.missing]
    words = ", ".join(f"{model.name} ({model.origin})" for model in here)
    results.append(Check("models", "ok", words or "none on this disk beside the built-in pair"))
    return results

"""What the doctor looks at: versions, device, power, model folders. About a second in all.

mlx-lm is never imported: that alone would take as long as everything else.
"""

from __future__ import annotations

import os
import platform
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from .doctor import Findings, FoundModel
from .errors import BackendMissingError, UsageError
from .locate import Found, hub_cache_folder, lm_studio_folders, lm_studio_models, locate
from .registry import Registry

__all__ = ["examine"]

_PACKAGES = ("mlx-specdec", "mlx", "mlx-lm")


def examine() -> tuple[Findings, Registry | None]:
    """Everything that can be found out quickly, and the registry unless it is broken.

    Raises:
        UsageError: MLX_SPECDEC_BLAS names a library that cannot be used.
    """
    registry, registry_error, registry_fix = _registry()
    folder_errors = _folder_errors()
    found = Findings(
        versions=_versions(),
        system=platform.system(),
        system_version=platform.mac_ver()[0] or platform.release(),
        backend="",
        models=_models(registry) if not folder_errors else (),
        registry_error=registry_error,
        registry_fix=registry_fix,
        folder_errors=folder_errors,
    )
    try:
        from . import backend
        from .this_machine import power_source
    except BackendMissingError as error:
        return replace(found, backend_error=error.message, backend_fix=error.hint), registry
    blas = backend.blas_status()
    found = replace(
        found,
        backend=backend.backend_name(),
        device=backend.device_description(),
        gpu_generation=backend.gpu_generation(),
        memory_bytes=backend.memory_bytes(),
        limit_bytes=backend.gpu_memory_limit_bytes(),
        blas_state=blas.state,
        blas_message=blas.message,
        blas_path=blas.path,
        power=power_source(),
    )
    return found, registry


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found | {"python": platform.python_version()}


def _registry() -> tuple[Registry | None, str, str]:
    try:
        return Registry.load(), "", ""
    except UsageError as error:
        return None, error.message, error.hint


def _folder_errors() -> tuple[tuple[str, str], ...]:
    """Folders of models that are there and cannot be listed, or are no folders."""
    errors = []
    for folder in (hub_cache_folder("a/b").parent, *lm_studio_folders()):
        why = _why_unreadable(folder)
        if why:
            errors.append((str(folder), why))
    return tuple(errors)


def _why_unreadable(folder: Path) -> str:
    """Empty for a folder that can be listed, and for one that is not there yet."""
    try:
        if not folder.exists() and not folder.is_symlink():
            return ""
        os.listdir(folder)
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""


def _models(registry: Registry | None) -> tuple[FoundModel, ...]:
    found = []
    known = set()
    for spec in registry or ():
        known.add(spec.repo.lower())
        place = locate(spec)
        if place is not None:
            found.append(_found(spec.alias, place))
    for name, place in lm_studio_models():
        if name.lower() not in known:
            found.append(_found(name, place))
    return tuple(found)


def _found(name: str, place: Found) -> FoundModel:
    return FoundModel(name, place.origin, place.bytes_on_disk, place.missing)

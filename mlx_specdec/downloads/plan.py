"""What a set of models still needs: asked of the disk first, of the hub only when it must be."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import DiskFullError, HubUnreachableError, IncompleteModelError, ModelNotFoundError
from ..locate import Found, hub_cache_folder, locate
from ..memory import bytes_text
from ..model_spec import ModelSpec

__all__ = ["DownloadPlan", "ModelPlan", "download_plan"]

# Left free beyond what is fetched: a disk that is full to the brim helps nobody.
RESERVE_BYTES = 200_000_000


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """One model: what is on this disk and what is still to fetch.

    ``role`` is ``target``, ``draft`` or ``model``. ``sizes_from`` is ``disk`` when the model is
    complete, ``hub`` when the hub was asked, ``registry`` when it did not answer.
    """

    spec: ModelSpec
    role: str
    found: Found | None
    total_bytes: int
    on_disk_bytes: int
    sizes_from: str

    @property
    def complete(self) -> bool:
        return self.found is not None and self.found.complete

    @property
    def fetch_bytes(self) -> int:
        return 0 if self.complete else max(0, self.total_bytes - self.on_disk_bytes)


@dataclass(frozen=True, slots=True)
class DownloadPlan:
    """What a run would fetch, and the free bytes of the disk that it would go to."""

    models: tuple[ModelPlan, ...]
    free_bytes: int

    @property
    def complete(self) -> bool:
        return all(model.complete for model in self.models)

    @property
    def fetch_bytes(self) -> int:
        return sum(model.fetch_bytes for model in self.models)

    @property
    def to_fetch(self) -> tuple[ModelPlan, ...]:
        """The incomplete models, the draft first: it is small and shows that all is well."""
        todo = [model for model in self.models if not model.complete]
        return tuple(sorted(todo, key=lambda model: model.role != "draft"))

    def check_disk(self) -> None:
        """Refuse before anything is fetched when it will not fit, all models together.

        Raises:
            DiskFullError: with the bytes needed and free.
        """
        if self.fetch_bytes and self.fetch_bytes + RESERVE_BYTES > self.free_bytes:
            names = " and ".join(model.spec.alias for model in self.to_fetch)
            raise DiskFullError(
                f"{names} need{'s' if len(self.to_fetch) == 1 else ''} "
                f"{bytes_text(self.fetch_bytes)} and the disk has {bytes_text(self.free_bytes)} "
                "free.",
                "Free some space, or set HF_HOME to a folder on a larger disk.",
            )


def download_plan(specs: Sequence[ModelSpec], *, offline: bool | None = None) -> DownloadPlan:
    """What is on disk and what is to fetch. Asks the hub only about what is not complete here.

    Args:
        specs: a model, or a target and its draft in this order.
        offline: True never asks the hub; None follows HF_HUB_OFFLINE.

    Raises:
        ModelNotFoundError: not on this disk and offline, or not on the hub.
        IncompleteModelError: a folder that lacks files and that we cannot finish.
        GatedModelError, UnsupportedModelError: see hub.listing.
        HubUnreachableError: no answer, and the model's size is not in the registry either.
    """
    roles = ("model",) if len(specs) == 1 else ("target", "draft")
    models = [_plan_one(spec, role, offline) for spec, role in zip(specs, roles, strict=True)]
    free = 0
    if not all(model.complete for model in models):
        free = shutil.disk_usage(_existing(hub_cache_folder("a/b"))).free
    return DownloadPlan(tuple(models), free)


def _plan_one(spec: ModelSpec, role: str, offline: bool | None) -> ModelPlan:
    found = locate(spec)
    if found is not None and found.complete:
        return ModelPlan(spec, role, found, found.bytes_on_disk, found.bytes_on_disk, "disk")
    name = spec.alias if role == "model" else f"the {role} {spec.alias}"
    if not spec.repo:
        lacks = ", ".join(found.missing) if found else "the whole folder"
        raise IncompleteModelError(
            f"{_start(name)} lacks {lacks}.",
            "Install mlx-specdec again." if spec.built_in else f"Look into {spec.where}.",
        )
    from .hub import is_offline, listing  # imports the HTTP client

    if is_offline() if offline is None else offline:
        part = "" if found is None else f" (of it lack: {', '.join(found.missing)})"
        raise ModelNotFoundError(
            f"{_start(name)} is not on this disk{part}, and offline mode is on.",
            f"With a network, run `mlx-specdec pull {spec.alias}` and HF_HUB_OFFLINE unset.",
        )
    try:
        files = listing(spec.repo)
    except HubUnreachableError as error:
        if not spec.weight_bytes:
            raise HubUnreachableError(
                f"{_start(name)} is not on this disk. {error.message}", error.hint
            ) from error
        have = _half_bytes(spec)
        return ModelPlan(spec, role, found, spec.weight_bytes, have, "registry")
    from .worker import bytes_in_cache

    have = bytes_in_cache(files, hub_cache_folder(spec.repo))
    return ModelPlan(spec, role, found, files.total_bytes, have, "hub")


def _half_bytes(spec: ModelSpec) -> int:
    """Bytes of the cache's blobs, halves included, when the hub does not tell what they are of."""
    blobs = hub_cache_folder(spec.repo) / "blobs"
    return sum(path.stat().st_size for path in blobs.glob("*") if path.is_file())


def _existing(path: Path) -> Path:
    return next((part for part in (path, *path.parents) if part.exists()), Path("/"))


def _start(name: str) -> str:
    return f"T{name[1:]}" if name.startswith("the ") else name

"""Speculative decoding for ordinary pairs of models on Apple Silicon: exact, priced, visible.

Public names are resolved when first used, so that ``import mlx_specdec`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engine import Engine, Reply, Stream, load
    from .errors import SpecdecError
    from .events import Emitted, Failed, Finished, Prefilled, Proposed, Round
    from .ledger.latency import LatencyModel
    from .metrics import Metrics, fold, pool, speedup
    from .registry import Registry
    from .request import GenerateRequest, SamplingParams
    from .settings import Settings

__version__ = "0.1.0"

_HOMES = {
    "Emitted": "events",
    "Engine": "engine",
    "Failed": "events",
    "Finished": "events",
    "GenerateRequest": "request",
    "LatencyModel": "ledger.latency",
    "Metrics": "metrics",
    "Prefilled": "events",
    "Proposed": "events",
    "Registry": "registry",
    "Reply": "engine",
    "Round": "events",
    "SamplingParams": "request",
    "Settings": "settings",
    "SpecdecError": "errors",
    "Stream": "engine",
    "fold": "metrics",
    "load": "engine",
    "pool": "metrics",
    "speedup": "metrics",
}

__all__ = [
    "Emitted",
    "Engine",
    "Failed",
    "Finished",
    "GenerateRequest",
    "LatencyModel",
    "Metrics",
    "Prefilled",
    "Proposed",
    "Registry",
    "Reply",
    "Round",
    "SamplingParams",
    "Settings",
    "SpecdecError",
    "Stream",
    "fold",
    "load",
    "pool",
    "speedup",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

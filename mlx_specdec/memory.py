"""Memory: what a pair needs at a context, and whether a machine has it. Pure arithmetic."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .model_spec import ModelSpec

__all__ = [
    "MemoryNeed",
    "bytes_text",
    "fits",
    "gpu_limit_bytes",
    "kv_bytes_per_token",
    "physical_memory_bytes",
]

# Scratch of a pass, the tokenizer, Python itself.
WORKING_BYTES = 500_000_000
# From this share of the limit on, other programs get into trouble.
TIGHT_SHARE = 0.85


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes that a pair needs, part by part, and the limit they are held against.

    ``verdict``: ``fits``, ``tight`` (more than 85 % of the limit) or ``does not fit``;
    ``unknown`` when the size of a model is not known.
    """

    weight_bytes: int
    kv_bytes: int
    working_bytes: int
    limit_bytes: int
    context: int
    verdict: str

    @property
    def total_bytes(self) -> int:
        return self.weight_bytes + self.kv_bytes + self.working_bytes

    @property
    def can_run(self) -> bool:
        return self.verdict in ("fits", "tight")


def bytes_text(count: float) -> str:
    """Bytes as people read them, in decimal units: ``8.3 GB``, ``52 GB``, ``4.2 MB``."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= 0.1 * size:
            digits = 0 if count >= 99.5 * size or (unit == "GB" and count >= 19.95e9) else 1
            return f"{count / size:.{digits}f} {unit}"
    return f"{count / 1e3:.0f} kB"


def kv_bytes_per_token(spec: ModelSpec, bytes_per_number: int = 2) -> int:
    """Bytes one token takes in the cache, keys and values of all layers.

    Of a hybrid, whose layers do not all grow, this is an upper bound.
    """
    return 2 * spec.layers * spec.kv_heads * spec.head_dim * bytes_per_number


def gpu_limit_bytes(memory_bytes: int, device_limit: int | None = None) -> int:
    """Bytes that macOS lets the GPU use: what the device says, else about 2/3 of the memory up to
    36 GiB and 3/4 above.
    """
    if device_limit:
        return device_limit
    share = (2, 3) if memory_bytes <= 36 * 2**30 else (3, 4)
    return memory_bytes * share[0] // share[1]


def fits(target: ModelSpec, draft: ModelSpec | None, context: int, limit_bytes: int) -> MemoryNeed:
    """What both models need with ``context`` tokens in each cache, against ``limit_bytes``."""
    specs = [target] if draft is None else [target, draft]
    weights = sum(spec.weight_bytes for spec in specs)
    kv = context * sum(kv_bytes_per_token(spec) for spec in specs)
    total = weights + kv + WORKING_BYTES
    if not all(spec.weight_bytes for spec in specs):
        verdict = "unknown"
    elif total > limit_bytes:
        verdict = "does not fit"
    else:
        verdict = "tight" if total > TIGHT_SHARE * limit_bytes else "fits"
    return MemoryNeed(weights, kv, WORKING_BYTES, limit_bytes, context, verdict)


def physical_memory_bytes() -> int:
    """The machine's memory in bytes; 0 when the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0

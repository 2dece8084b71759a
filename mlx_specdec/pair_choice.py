"""Which pair to take when nobody names one: the last one, the best on disk, or one to fetch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .costs.machines import Chip, published_forecast
from .downloads.question import Machine
from .errors import SpecdecError
from .last_pair import read_last_pair
from .locate import locate
from .memory import fits
from .model_spec import ModelSpec, PairSpec
from .registry import Registry

__all__ = ["PairChoice", "best_on_disk", "choose_pair", "pair_to_fetch"]

CONTEXT = 4096
COMFORTABLE = 20.0  # tokens a second, plain
CPU_FALLBACK = "qwen3-0.6b"


@dataclass(frozen=True, slots=True)
class PairChoice:
    """``why``: ``last`` or ``on disk``; ``missing_draft`` names a draft that is not here."""

    pair: PairSpec
    why: str
    missing_draft: str = ""


def choose_pair(
    registry: Registry, machine: Machine, can_run: Callable[[ModelSpec], bool]
) -> PairChoice | None:
    """The last pair if it is still here, else the best on disk, else None. Never the toy."""
    kept = read_last_pair()
    if kept is not None:
        try:
            pair = registry.resolve_pair(*kept)
        except SpecdecError:  # a folder that has gone, a name of a registry that has changed
            pair = None
        if pair is not None and all(_is_here(spec) for spec in pair.specs):
            return PairChoice(pair, "last")
    return best_on_disk(registry, machine, can_run)


def best_on_disk(
    registry: Registry, machine: Machine, can_run: Callable[[ModelSpec], bool]
) -> PairChoice | None:
    """The largest dense model here that fits the memory, with its draft if that is here too."""
    candidates = [
        spec
        for spec in registry
        if not spec.built_in
        and spec.kind == "dense"
        and _is_here(spec)
        and fits(spec, None, CONTEXT, machine.limit_bytes).can_run
        and can_run(spec)
    ]
    if not candidates:
        return None
    target = max(candidates, key=lambda spec: (spec.params, bool(spec.default_draft)))
    draft = registry.models.get(target.default_draft)
    if draft is None:
        return PairChoice(PairSpec(target, None), "on disk")
    if not _is_here(draft):
        return PairChoice(PairSpec(target, None), "on disk", missing_draft=draft.alias)
    return PairChoice(PairSpec(target, draft), "on disk")


def pair_to_fetch(
    registry: Registry, machine: Machine, can_run: Callable[[ModelSpec], bool]
) -> PairSpec:
    """What to download for this machine: the largest that fits with room, and runs at ease.

    Without published figures for the machine, the smallest model that is of any use.
    """
    best: ModelSpec | None = None
    for spec in registry:
        draft = registry.models.get(spec.default_draft)
        if spec.family != "qwen3" or spec.kind != "dense" or draft is None:
            continue
        if fits(spec, draft, CONTEXT, machine.limit_bytes).verdict != "fits" or not can_run(spec):
            continue
        if machine.chip is None or _plain_rate(machine.chip, spec) < COMFORTABLE:
            continue
        if best is None or spec.params > best.params:
            best = spec
    if best is None:
        return PairSpec(registry.models[CPU_FALLBACK], None)
    return registry.resolve_pair(best.alias)


def _is_here(spec: ModelSpec) -> bool:
    found = locate(spec)
    return found is not None and found.complete


def _plain_rate(chip: Chip, spec: ModelSpec) -> float:
    forecast = published_forecast(chip, spec, None, CONTEXT)
    return forecast.plain_tokens_per_second if forecast is not None else 0.0

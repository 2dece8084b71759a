"""ModelsScreen: the pairs there are, their size, and whether they are on this disk."""

from __future__ import annotations

from mlx_specdec.errors import SpecdecError
from mlx_specdec.figures import pair_names
from mlx_specdec.last_pair import draft_name
from mlx_specdec.locate import locate
from mlx_specdec.memory import bytes_text
from mlx_specdec.model_spec import ModelSpec, PairSpec
from mlx_specdec.registry import Registry
from tui.opening import PairRequest
from tui.screens.chooser import ChooserScreen

__all__ = ["ModelsScreen"]


class ModelsScreen(ChooserScreen[PairRequest]):
    """Gives the pair to load; what is not on this disk is asked about before it is fetched.

    Args:
        current: the pair in use.
    """

    def __init__(self, current: PairSpec | None) -> None:
        try:
            pairs = _pairs(Registry.load())
        except SpecdecError:  # the user's own file is broken; the app says so when it opens a pair
            pairs = []
        pairs.sort(key=lambda pair: not _is_here(pair))
        rows = [(_row(pair), _request(pair)) for pair in pairs]
        names = [pair.name for pair in pairs]
        marked = names.index(current.name) if current is not None and current.name in names else 0
        super().__init__(
            "Which models? The race on the screen stays until they are loaded.",
            rows,
            "another one: target+draft, org/name, or a folder",
            marked,
        )

    def typed(self, words: str) -> PairRequest:
        target, plus, draft = words.partition("+")
        return PairRequest(target=target.strip(), draft=draft.strip() if plus else None)


def _pairs(registry: Registry) -> list[PairSpec]:
    return [
        registry.resolve_pair(spec.alias)
        for spec in registry
        if spec.built_in != "draft" and spec.default_draft
    ]


def _request(pair: PairSpec) -> PairRequest:
    return PairRequest(pair.target.alias, draft_name(pair))


def _is_here(pair: PairSpec) -> bool:
    return all(_has(spec) for spec in pair.specs)


def _has(spec: ModelSpec) -> bool:
    found = locate(spec)
    return found is not None and found.complete


def _row(pair: PairSpec) -> str:
    size = sum(spec.weight_bytes for spec in pair.specs)
    where = "on this disk" if _is_here(pair) else "to download"
    if pair.target.built_in:
        where = "built in, a toy"
    return f"{pair_names(pair):<36}{bytes_text(size) if size else '':>9}   {where}"

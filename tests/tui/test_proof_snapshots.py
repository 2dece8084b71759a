"""The proof screen as it looks: honest, broken, moving, with a larger law."""

from __future__ import annotations

from typing import Any

from mlx_specdec.lesson.proof import NextWordLaw
from tests.tui.lesson_apps import SIZE_IDS, SIZES, BareApp
from tui.screens.proof import ProofScreen

import numpy as np
import pytest

_WORDS = (" light", " portable", " small", " lamp", " 日本語", " [b]", " device", "\n", " x", " y")


def wide_law() -> NextWordLaw:
    target = np.array([0.31, 0.17, 0.13, 0.10, 0.07, 0.04, 0.04, 0.04, 0.05, 0.05])
    draft = np.array([0.21, 0.09, 0.23, 0.06, 0.08, 0.01, 0.02, 0.10, 0.10, 0.10])
    return NextWordLaw(target, draft, _WORDS.__getitem__, "lantern: a", "built-in pair", 0.7)


STATES: dict[str, tuple[str, ...]] = {
    "honest": (),
    "redraw": ("1",),
    "unsure": ("3",),
    "mended": ("1", "3", "enter"),
}


@pytest.fixture(autouse=True)
def no_audit_yet(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def app(**more: Any) -> BareApp:
    return BareApp(ProofScreen(rng=np.random.default_rng(3), is_moving=False, **more))


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
@pytest.mark.parametrize("state", STATES)
def test_proof_state(state: str, size: tuple[int, int], snap_compare: Any) -> None:
    assert snap_compare(app(), terminal_size=size, press=STATES[state])


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
def test_proof_of_many_words(size: tuple[int, int], snap_compare: Any) -> None:
    assert snap_compare(app(law=wide_law()), terminal_size=size, press=("1",))

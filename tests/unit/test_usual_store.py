"""What guesses of a pair are usually worth: kept when an engine closes, known to the next one."""

from __future__ import annotations

import json
from pathlib import Path

from mlx_specdec import engine as engine_module
from mlx_specdec.engine import load
from mlx_specdec.lookahead.belief import AcceptanceBelief
from mlx_specdec.lookahead.store import load_usual, save_usual, usual_dir
from mlx_specdec.registry import Registry
from tests.lanes import VOCAB, session_of
from tests.toymodels import toy_model

import numpy as np
import pytest

NAMES = ("big (4-bit, 100 bytes)", "small (4-bit, 10 bytes)")


def mean_of(belief: AcceptanceBelief) -> float:
    return float(belief.usual @ belief.chances)


def told(chance: float, tokens: int = 3000) -> AcceptanceBelief:
    """A belief that has seen guesses kept with ``chance`` for so many tokens."""
    belief, random = AcceptanceBelief(), np.random.default_rng(1)
    for _ in range(tokens // 2):
        belief.observe(int(random.random() < chance), 1)
        belief.pass_by(2)
    return belief


def test_nothing_seen_is_nothing_kept(tmp_path: Path) -> None:
    assert AcceptanceBelief().carried == ()
    assert save_usual(*NAMES, (), tmp_path) is None
    assert load_usual(*NAMES, tmp_path) == ()


def test_what_was_usual_comes_back_and_leaves_room_for_other_texts(tmp_path: Path) -> None:
    seen = told(0.9)
    assert save_usual(*NAMES, seen.carried, tmp_path) is not None
    fresh, later = AcceptanceBelief(), AcceptanceBelief()
    later.begin_from(load_usual(*NAMES, tmp_path))
    assert mean_of(fresh) + 0.05 < mean_of(later) < mean_of(seen)
    assert later.weights == pytest.approx(later.usual)
    assert sum(weight for _, weight in later.carried) == pytest.approx(6.0)  # stretches
    assert load_usual(NAMES[0], "another", tmp_path) == ()


def test_many_short_programs_learn_what_a_long_one_would() -> None:
    """What is taken for usual of any pair does not come in anew each time."""
    carried = AcceptanceBelief().carried
    for _ in range(60):
        belief = AcceptanceBelief()
        belief.begin_from(carried)
        for _ in range(15):
            belief.observe(1, 1)
            belief.pass_by(2)
        carried = belief.carried
    assert mean_of(belief) > mean_of(AcceptanceBelief()) + 0.2


@pytest.mark.parametrize("change", ["schema", "target", "damage", "shape", "size", "depth"])
def test_what_cannot_be_read_or_is_of_another_pair_is_passed_over(
    change: str, tmp_path: Path
) -> None:
    path = save_usual(*NAMES, told(0.9).carried, tmp_path)
    assert path is not None
    document = json.loads(path.read_text())
    document.update({"schema": 2} if change == "schema" else {})
    document.update({"target": "x"} if change == "target" else {})
    document.update({"stretches": [[0.1]]} if change == "shape" else {})
    document.update({"stretches": [[10**400, 1]]} if change == "size" else {})
    text = {"damage": "{dam", "depth": 100_000 * "["}.get(change, json.dumps(document))
    path.write_text(text)
    assert load_usual(*NAMES, tmp_path) == ()


@pytest.mark.parametrize("wrong", ["grid", "length", "negative", "nan", "nothing"])
def test_values_that_make_no_sense_change_nothing(wrong: str) -> None:
    carried = list(told(0.9).carried)
    if wrong == "grid":
        carried = [(chance / 2, weight) for chance, weight in carried]
    elif wrong == "length":
        carried.pop()
    elif wrong == "negative":
        carried[0] = (carried[0][0], -1.0)
    elif wrong == "nan":
        carried[0] = (carried[0][0], float("nan"))
    else:
        carried = [(chance, 0.0) for chance, _ in carried]
    belief = AcceptanceBelief()
    belief.begin_from(tuple(carried))
    assert belief.usual == pytest.approx(AcceptanceBelief().usual)


def test_an_engine_that_closes_keeps_it_for_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with load("tiny", "tiny-draft") as engine:
        assert engine.session.lookahead.belief.carried == ()
        engine.session.lookahead.belief = told(0.95)
        wanted = engine.session.lookahead.belief.carried
    assert len(list(usual_dir().iterdir())) == 1
    with load("tiny", "tiny-draft") as engine:
        belief = engine.session.lookahead.belief
        assert mean_of(belief) > mean_of(AcceptanceBelief()) + 0.05
        before = mean_of(belief)
        lane = engine.session.beside(lambda: 0.0).lookahead.belief
        assert mean_of(lane) == pytest.approx(before)
        for _ in range(400):  # a race whose guesses miss tells the chat as well
            lane.observe(0, 1)
            lane.pass_by(1)
        assert mean_of(belief) < before - 0.1
        assert float(belief.weights @ belief.chances) == pytest.approx(before)
    assert dict(wanted).keys() == dict(belief.carried).keys()


def test_an_engine_that_cannot_keep_it_still_leaves_its_thread_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[str] = []

    def fail(*_: object) -> None:
        raise MemoryError

    made = engine_module._Loading(
        Registry.load().resolve_pair("tiny", "tiny-draft"), Path(), None, (), None, 64, False
    )
    target = toy_model(VOCAB, layers=1)
    made.session = session_of(target, target)
    monkeypatch.setattr(engine_module, "save_usual", fail)
    monkeypatch.setattr(engine_module, "release_thread", lambda: ended.append("released"))
    with pytest.raises(MemoryError):
        made.end()
    assert ended == ["released"]

"""How much memory a conversation may take, and what is wired for it."""

from __future__ import annotations

from dataclasses import replace

from mlx_specdec import backend, memory_room
from mlx_specdec.backend import mx
from mlx_specdec.errors import DoesNotFitError
from mlx_specdec.forward import ModelRunner
from mlx_specdec.memory_room import MemoryRoom, wired
from mlx_specdec.session import Session
from mlx_specdec.settings import Settings
from tests.toymodels import perturbed, toy_model, toy_pair

import pytest

GIB = 2**30


def test_i2_the_bytes_of_a_token_are_what_the_caches_take() -> None:
    loaded = toy_model()
    runner = ModelRunner(loaded)
    runner.prefill(list(range(40)) * 20, 768)  # a whole number of the caches' steps
    assert runner.cache.nbytes == 768 * loaded.kv_bytes_per_token


def test_i2_a_conversation_ends_where_memory_does(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = toy_pair(toy_model(vocab=288))
    need = MemoryRoom.of(pair)
    limit = need.bytes_at(512)
    monkeypatch.setattr(memory_room, "gpu_memory_limit_bytes", lambda: limit)
    session = Session(pair)
    assert session.context_length == 512


def test_i2_weights_that_take_everything_are_refused() -> None:
    room = MemoryRoom(8 * GIB, 1000, 8 * GIB, 16 * GIB)
    with pytest.raises(DoesNotFitError, match=r"8\.6 GB"):
        room.tokens()


def test_the_same_model_twice_is_counted_once_and_its_caches_twice() -> None:
    pair = toy_pair(toy_model(vocab=288))
    twice = MemoryRoom.of(replace(pair, draft=pair.target))
    assert twice.weight_bytes == pair.target.weight_bytes
    assert twice.kv_bytes_per_token == 2 * pair.target.kv_bytes_per_token


@pytest.mark.parametrize(
    ("weights", "physical", "asked"),
    [
        (1 * GIB, 16 * GIB, 1 * GIB + 256 * 2**20 + 4096 * 1000),  # what is needed, no more
        (10 * GIB, 12 * GIB, 10 * GIB),  # the machine keeps its reserve
        (10 * GIB, 64 * GIB, 10 * GIB + 256 * 2**20 + 4096 * 1000),
    ],
)
def test_i3_the_wired_limit_follows_the_models(weights: int, physical: int, asked: int) -> None:
    room = MemoryRoom(weights, 1000, 11 * GIB, physical)
    assert room.wired_bytes(4096) == asked


@pytest.mark.parametrize("fails", [False, True])
def test_i3_the_old_limit_comes_back(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    limits = [7]

    def set_limit(value: int) -> int:
        limits.append(value)
        return limits[-2]

    monkeypatch.setattr(memory_room, "set_wired_limit", set_limit)
    room = MemoryRoom(1 * GIB, 1000, 11 * GIB, 16 * GIB)
    try:
        with wired(room, 100):
            if fails:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert limits == [7, room.wired_bytes(100), 7]


def test_i3_no_limit_is_set_without_metal() -> None:
    assert backend.set_wired_limit(1) == 0


def test_i4_memory_is_flat_over_many_turns() -> None:
    pair = toy_pair(toy_model(vocab=288))
    session = Session(pair)
    settings = Settings(max_tokens=12, seed=1)
    held: list[int] = []
    for _ in range(20):
        list(session.ask("hello", settings))
        session.clear()
        held.append(mx.get_active_memory() + mx.get_cache_memory())
    assert max(held[2:]) <= held[1]


def test_a_pair_of_two_models_counts_both() -> None:
    target = toy_model(vocab=288)
    draft = perturbed(target)
    room = MemoryRoom.of(replace(toy_pair(target), draft=draft))
    assert room.weight_bytes == target.weight_bytes + draft.weight_bytes

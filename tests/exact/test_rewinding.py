"""Taking tokens back: as if they had never been read, or refused before anything is generated."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from mlx_specdec.backend import mx
from mlx_specdec.cache import RewindableCache
from mlx_specdec.errors import CacheNotRewindableError, GenerationError
from mlx_specdec.forward import ModelRunner, common_prefix
from tests.lanes import (
    VOCAB,
    answer_of,
    counts_of,
    session_of,
    tokens_of,
)
from tests.tables import loaded_of
from tests.toymodels import perturbed, toy_model

import pytest
from mlx_lm.models.cache import ArraysCache, ConcatenateKVCache, KVCache, RotatingKVCache

TOKENS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]


@functools.cache
def wide_headed() -> Any:
    """Heads of 64: the narrowest that an 8-bit cache in groups of 64 takes."""
    return toy_model(VOCAB, layers=2, seed=4, hidden=64, heads=1, head_dim=64)


@pytest.mark.parametrize("kv_bits", [None, 8, 4])
@pytest.mark.parametrize("keep", [0, 1, 5, 11])
def test_logits_after_a_rewind_equal_a_fresh_prefill(keep: int, kv_bits: int | None) -> None:
    runner = ModelRunner(wide_headed(), kv_bits=kv_bits)
    runner.extend(TOKENS)
    for guesses in ([7, 7], [8], [9, 10, 11]):
        runner.extend([], mx.array(guesses))
        runner.rollback()
        assert runner.read == TOKENS
    assert runner.align([*TOKENS[:keep], 200, 201]) == keep
    fresh = ModelRunner(wide_headed(), kv_bits=kv_bits)
    logits = runner.extend([200, 201, 202])
    expected = fresh.extend([*TOKENS[:keep], 200, 201, 202])[-3:]
    assert bool(mx.allclose(logits, expected, atol=1e-4))
    assert runner.read == fresh.read


@pytest.mark.parametrize("kv_bits", [8, 4])
@pytest.mark.parametrize("lookahead", [1, 4])
def test_e9_e10_quantised_caches_are_quantised_and_equal_plain(
    kv_bits: int, lookahead: int
) -> None:
    draft = perturbed(wide_headed())
    session = session_of(wide_headed(), draft, (), kv_bits=kv_bits)
    alone = session_of(wide_headed(), None, (), kv_bits=kv_bits)
    events = answer_of(session, TOKENS, max_tokens=24, lookahead=lookahead)
    assert tokens_of(events) == tokens_of(answer_of(alone, TOKENS, max_tokens=24))
    assert session.proposer is not None
    for runner in (session.target, session.proposer.runner):
        assert {type(layer).__name__ for layer in runner.cache.layers} == {"QuantizedKVCache"}
        assert {layer.bits for layer in runner.cache.layers} == {kv_bits}
    second = [*TOKENS, *tokens_of(events), 8, 9]
    cold = session_of(wide_headed(), draft, (), kv_bits=kv_bits)
    assert tokens_of(answer_of(session, second, max_tokens=12)) == tokens_of(
        answer_of(cold, second, max_tokens=12)
    )


def test_b11_a_quantised_draft_equal_to_its_target_is_always_right() -> None:
    session = session_of(wide_headed(), wide_headed(), (), kv_bits=8)
    proposed, accepted = counts_of(answer_of(session, TOKENS, max_tokens=30, lookahead=4))
    assert proposed == accepted > 0


class CachedModel:
    """A model that brings a cache of its own kind."""

    def __init__(self, *layers: Any) -> None:
        self._layers = layers

    def make_cache(self) -> list[Any]:
        return list(self._layers)

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        raise AssertionError("nothing may be generated")


class TrimlessCache(KVCache):  # type: ignore[misc]
    """Says that it can be trimmed, and cannot."""

    trim = None


@pytest.mark.parametrize(
    ("layers", "named"),
    [
        ((RotatingKVCache(max_size=16),), "RotatingKVCache"),
        ((KVCache(), RotatingKVCache(max_size=8, keep=4)), "RotatingKVCache"),
        ((ArraysCache(2), KVCache()), "ArraysCache"),
        ((ConcatenateKVCache(),), "ConcatenateKVCache"),
        ((TrimlessCache(),), "TrimlessCache"),
    ],
    ids=["A2 A3 B13 rotating", "rotating among others", "A5 hybrid", "concatenating", "A6"],
)
@pytest.mark.parametrize("kv_bits", [None, 8])
def test_a2_a3_a5_a6_b13_a_cache_that_cannot_be_rewound_is_refused(
    layers: tuple[Any, ...], named: str, kv_bits: int | None
) -> None:
    """When the session opens, as target or as draft, naming the model and the layer's class."""
    odd = loaded_of(CachedModel(*layers), VOCAB, "odd-model")
    fine = toy_model(VOCAB, layers=1)
    for pair in ((odd, None), (odd, fine), (fine, odd)):
        with pytest.raises(CacheNotRewindableError) as caught:
            session_of(*pair, kv_bits=kv_bits)
        assert named in caught.value.message
        assert "odd-model" in caught.value.message
        assert caught.value.title
        assert caught.value.hint


def test_layers_that_disagree_are_dropped() -> None:
    cache = RewindableCache(toy_model(VOCAB, layers=2).model, "toy")
    keys = mx.zeros((1, 2, 6, 16))
    for layer, count in zip(cache.layers, (6, 3), strict=True):
        layer.update_and_fetch(keys[:, :, :count], keys[:, :, :count])
    assert cache.length == 3
    with pytest.raises(GenerationError):
        cache.truncate_to(5)
    assert cache.length == 0


def test_layers_may_disagree_before_and_agree_after() -> None:
    """A pass broke off half-way: the surplus of the layers it reached goes."""
    cache = RewindableCache(toy_model(VOCAB, layers=2).model, "toy")
    keys = mx.zeros((1, 2, 6, 16))
    for layer, count in zip(cache.layers, (6, 4), strict=True):
        layer.update_and_fetch(keys[:, :, :count], keys[:, :, :count])
    cache.truncate_to(4)
    assert [layer.offset for layer in cache.layers] == [4, 4]
    cache.truncate_to(100)
    assert cache.length == 4


def test_i2_the_estimate_of_bytes_per_token_is_what_is_allocated() -> None:
    loaded = toy_model(VOCAB, layers=2)
    runner = ModelRunner(loaded)
    assert runner.cache.nbytes == 0
    runner.extend(TOKENS)
    runner.cache.evaluate()
    assert runner.cache.nbytes == 256 * loaded.kv_bytes_per_token


def test_feeding_an_id_the_model_lacks_becomes_its_last_one() -> None:
    """E4: an embedding answers any id with numbers of its own; nothing would be said."""
    loaded = toy_model(VOCAB, layers=1)
    logits = ModelRunner(loaded).extend([1, VOCAB + 50])
    expected = ModelRunner(loaded).extend([1, VOCAB - 1])
    assert bool(mx.array_equal(logits, expected))


def test_common_prefix() -> None:
    assert common_prefix([], [1]) == 0
    assert common_prefix([1, 2, 3], [1, 2, 3, 4]) == 3
    assert common_prefix([1, 2, 3], [1, 9, 3]) == 1
    assert common_prefix([1, 2], (1, 2)) == 2


def test_a_model_name_reaches_the_error() -> None:
    named = dataclasses.replace(loaded_of(CachedModel(ArraysCache(1)), 8), name="qwen-next")
    with pytest.raises(CacheNotRewindableError, match="qwen-next keeps a ArraysCache"):
        ModelRunner(named)

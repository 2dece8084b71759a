"""What a device may do differently: wide passes that round otherwise, quantised caches."""

from __future__ import annotations

from typing import Any

from mlx_specdec.cli import generate
from mlx_specdec.cli.commands import COMMANDS
from mlx_specdec.cli.options import explicit_settings
from mlx_specdec.cli.parser import CommandParser
from mlx_specdec.events import Emitted, Event
from mlx_specdec.race.demo import first_difference
from mlx_specdec.settings import Settings
from tests.lanes import VOCAB, answer_of, fresh_answer, rounds_of, session_of, tokens_of
from tests.toymodels import NoisyWideModel, perturbed, toy_model

import pytest

NOISE = 0.02


def emitted(events: list[Event]) -> list[Emitted]:
    return [token for each in rounds_of(events) for token in each.emitted]


@pytest.mark.parametrize("seed", range(4))
def test_a1_a_difference_is_placed_and_its_margin_told(seed: int) -> None:
    """Scores close together, and noise on every pass over several rows, as on a GPU."""
    target = toy_model(VOCAB, seed=seed, lm_head_scale=0.5)
    noisy = NoisyWideModel(target, NOISE, seed).loaded
    plain = emitted(fresh_answer(target, None, [5, 6, 7], max_tokens=80))
    drafted = emitted(fresh_answer(noisy, perturbed(target), [5, 6, 7], max_tokens=80))
    found = first_difference(plain, drafted)
    assert found is not None, "with this much noise some near-tie must fall the other way"
    assert [t.token for t in plain[: found.index]] == [t.token for t in drafted[: found.index]]
    assert found.margin < 8 * NOISE


def test_a10_the_command_lines_own_defaults_change_nothing() -> None:
    """Defaults, such as a hidden penalty, are part of the input."""
    parser = CommandParser(COMMANDS["generate"])
    generate.add_arguments(parser)
    settings = explicit_settings(parser.parse(["--target", "tiny", "hello"]), Settings())
    assert settings.sampling == Settings().sampling
    assert not settings.sampling.has_penalties
    target = toy_model(VOCAB, seed=3)
    options: dict[str, Any] = {
        "max_tokens": 40,
        "rule": settings.rule,
        "sampling": settings.sampling,
    }
    plain = fresh_answer(target, None, [4, 5], **options)
    drafted = fresh_answer(target, perturbed(target), [4, 5], **options)
    assert tokens_of(plain) == tokens_of(drafted)


@pytest.mark.parametrize("bits", [4, 8])
def test_e10_quantised_caches_reach_both_models_from_the_first_token(bits: int) -> None:
    target = toy_model(VOCAB, seed=2, head_dim=64)
    draft = perturbed(target)
    session = session_of(target, draft, (), kv_bits=bits)
    drafted = answer_of(session, [5, 6, 7, 8], max_tokens=40)
    assert session.proposer is not None
    for cache in (session.target.cache, session.proposer.runner.cache):
        assert {type(layer).__name__ for layer in cache.layers} == {"QuantizedKVCache"}
        assert {layer.bits for layer in cache.layers} == {bits}
    plain = answer_of(session_of(target, None, (), kv_bits=bits), [5, 6, 7, 8], max_tokens=40)
    assert tokens_of(plain) == tokens_of(drafted)

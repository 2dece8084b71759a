"""Folders to models and pairs: what is read, what is refused, and in which words."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from mlx_specdec.backend import mx
from mlx_specdec.errors import (
    IncompleteModelError,
    InvalidRequestError,
    PairMismatchError,
)
from mlx_specdec.loaded import LoadedModel
from mlx_specdec.loading import load_model, load_pair
from mlx_specdec.model_folder import model_name, same_tokenizer
from tests.toymodels import perturbed, save_toy, toy_model, toy_tokenizer, widened

import numpy as np
import pytest
from mlx_lm.models.cache import make_prompt_cache

TEXT = "the théory 漢字\n"


@pytest.fixture(scope="module")
def toy() -> LoadedModel:
    return toy_model(vocab=288, hidden=64, head_dim=32, context=512)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return toy_tokenizer(270)


@pytest.fixture
def target(tmp_path: Path, toy: LoadedModel, tokenizer: Any) -> Path:
    return save_toy(tmp_path / "target", toy, tokenizer)


@pytest.fixture
def draft(tmp_path: Path, toy: LoadedModel, tokenizer: Any) -> Path:
    return save_toy(tmp_path / "draft", perturbed(toy), tokenizer)


def logits(loaded: LoadedModel, tokens: tuple[int, ...] = (1, 2, 3)) -> np.ndarray[Any, Any]:
    return np.array(loaded.model(mx.array([tokens])).astype(mx.float32))


def patch_json(path: Path, **entries: Any) -> None:
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, **entries}))


# What is read


def test_a_folder_becomes_the_model_that_was_saved(target: Path, toy: LoadedModel) -> None:
    loaded = load_model(target, role="target")
    assert np.array_equal(logits(loaded), logits(toy))
    assert (loaded.name, loaded.path) == ("target", target)
    assert (loaded.vocab_width, loaded.num_layers, loaded.head_dim) == (288, 2, 32)
    assert loaded.context_length == 512
    assert loaded.weight_bytes == toy.weight_bytes
    assert loaded.quantisation == "float32"


@pytest.mark.parametrize("tie", [False, True])
def test_four_bits_are_expanded_to_float32(tmp_path: Path, tie: bool) -> None:
    toy = toy_model(vocab=288, hidden=64, head_dim=32, tie=tie)
    folder = save_toy(tmp_path / "q", toy, bits=4, group_size=32, dtype=mx.float16)
    stored = load_model(folder, role="target", expand="never")
    expanded = load_model(folder, role="target", expand="always")
    assert stored.quantisation == "4-bit, groups of 32"
    assert expanded.quantisation == "4-bit, groups of 32, expanded to float32"
    assert expanded.weight_bytes == toy.weight_bytes
    assert stored.weight_bytes < toy.weight_bytes / 4
    assert expanded.model(mx.array([[1]])).dtype == mx.float32
    # float16 arithmetic in one, float32 in the other, over the same weights
    assert np.allclose(logits(stored), logits(expanded), rtol=0.02, atol=0.5)


def test_halves_are_expanded_on_a_cpu(tmp_path: Path, toy: LoadedModel) -> None:
    if mx.default_device() != mx.Device(mx.cpu):
        pytest.skip("a GPU keeps what is stored")
    loaded = load_model(save_toy(tmp_path / "half", toy, dtype=mx.bfloat16), role="target")
    assert loaded.quantisation == "bfloat16, expanded to float32"
    assert loaded.model(mx.array([[1]])).dtype == mx.float32


def test_what_is_too_large_to_expand_still_computes_in_float32(
    tmp_path: Path, toy: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlx_specdec.weights.backend_name", lambda: "cpu")
    monkeypatch.setattr("mlx_specdec.weights.memory_bytes", lambda: 1)
    folder = save_toy(tmp_path / "q", toy, bits=4, group_size=32, dtype=mx.bfloat16)
    held = load_model(folder, role="target")
    stored = load_model(folder, role="target", expand="never")
    assert held.quantisation == "4-bit, groups of 32, scales held as float32"
    assert held.model(mx.array([[1]])).dtype == mx.float32
    assert stored.weight_bytes < held.weight_bytes < 1.4 * stored.weight_bytes
    # The same weights, computed in bfloat16 and in float32.
    assert np.allclose(logits(stored), logits(held), rtol=0.1, atol=0.8)
    halves = save_toy(tmp_path / "half", toy, dtype=mx.bfloat16)
    assert load_model(halves, role="target").quantisation == "bfloat16"  # it would double


def test_i2_cache_bytes_are_what_the_cache_takes(tmp_path: Path, toy: LoadedModel) -> None:
    folder = save_toy(tmp_path / "half", toy, dtype=mx.float16)
    for expand in ("never", "always"):
        loaded = load_model(folder, role="target", expand=expand)
        cache = make_prompt_cache(loaded.model)
        mx.eval(loaded.model(mx.array([[1] * 256]), cache=cache))
        assert loaded.kv_bytes_per_token * 256 == sum(layer.nbytes for layer in cache)
    quantised = load_model(folder, role="target", expand="never", kv_bits=8, kv_group_size=32)
    cache = make_prompt_cache(quantised.model)
    mx.eval(quantised.model(mx.array([[1] * 256]), cache=cache))
    small = [layer.to_quantized(group_size=32, bits=8) for layer in cache]
    assert quantised.kv_bytes_per_token * 256 == sum(layer.nbytes for layer in small)


def test_weights_can_be_used_on_another_thread(target: Path) -> None:
    loaded = load_model(target, role="target")
    seen: list[tuple[int, ...]] = []
    thread = threading.Thread(target=lambda: seen.append(logits(loaded).shape))
    thread.start()
    thread.join()
    assert seen == [(1, 3, 288)]


def test_a_pair_shares_one_tokenizer(target: Path, draft: Path) -> None:
    pair = load_pair(target, draft)
    assert pair.draft is not None
    assert pair.report is not None
    assert pair.report.shared_ids == pair.tokenizer_width == 270
    assert pair.context_length == 512
    assert pair.tokenizer.decode(pair.tokenizer.encode(TEXT)) == TEXT


def test_the_same_folder_twice_is_loaded_once(target: Path) -> None:
    pair = load_pair(target, target)
    assert pair.draft is pair.target


def test_equal_tokenizer_files_are_known_without_reading_them_twice(
    target: Path, draft: Path
) -> None:
    assert same_tokenizer(target, draft)
    patch_json(draft / "tokenizer_config.json", chat_template="another", model_max_length=9)
    assert same_tokenizer(target, draft)
    patch_json(draft / "tokenizer_config.json", eos_token="<|endoftext|>")
    assert not same_tokenizer(target, draft)
    report = load_pair(target, draft).report
    assert report is not None
    assert report.notes[0].startswith("eos_token is '<|im_end|>' in the target")


def test_without_a_draft_nothing_is_compared(target: Path) -> None:
    pair = load_pair(target)
    assert (pair.draft, pair.report) == (None, None)


def test_e1_padded_vocabularies_load_together(
    tmp_path: Path, target: Path, toy: LoadedModel, tokenizer: Any
) -> None:
    wide = save_toy(tmp_path / "wide", widened(toy, 320), tokenizer)
    for first, second in ((target, wide), (wide, target)):
        pair = load_pair(first, second)
        assert pair.draft is not None
        assert {pair.target.vocab_width, pair.draft.vocab_width} == {288, 320}
        assert pair.tokenizer_width == 270


def test_e2_a_foreign_tokenizer_is_refused_before_weights_are_read(
    tmp_path: Path, target: Path, toy: LoadedModel
) -> None:
    foreign = save_toy(tmp_path / "foreign", toy, toy_tokenizer(270, swap=(65, 70)))
    with pytest.raises(PairMismatchError, match=r"foreign cannot draft here.*id 65"):
        load_pair(target, foreign)


def test_e3_added_tokens_at_the_end_are_noted(
    tmp_path: Path, target: Path, toy: LoadedModel
) -> None:
    longer = save_toy(tmp_path / "longer", toy, toy_tokenizer(270, extra=("<a>", "<b>", "<c>")))
    report = load_pair(longer, target).report
    assert report is not None
    assert "Only the target knows 3 added tokens" in report.notes[0]


def test_c14_end_tokens_are_joined_not_replaced(
    tmp_path: Path, toy: LoadedModel, tokenizer: Any
) -> None:
    folder = save_toy(tmp_path / "ends", toy, tokenizer, eos_token_id=11)
    patch_json(folder / "generation_config.json", eos_token_id=[11, 12])
    pair = load_pair(folder)
    assert pair.eos_token_ids == {269, 11, 12}
    assert pair.tokenizer.eos_token_ids == {269, 11, 12}


def test_c14_one_end_token_anywhere_is_enough(
    tmp_path: Path, toy: LoadedModel, tokenizer: Any
) -> None:
    folder = save_toy(tmp_path / "none", toy, tokenizer)
    assert load_pair(folder).eos_token_ids == {269}
    patch_json(folder / "config.json", eos_token_id=[3, 4])
    assert load_pair(folder).eos_token_ids == {269, 3, 4}


def test_generation_defaults_keep_the_names_of_our_settings(target: Path) -> None:
    patch_json(
        target / "generation_config.json",
        do_sample=True,
        temperature=0.6,
        top_p=0.95,
        top_k=20,
        transformers_version="5",
        max_new_tokens=2048,
    )
    assert load_pair(target).generation_defaults == {
        "temperature": 0.6,
        "top_p": 0.95,
        "top_k": 20,
    }
    patch_json(target / "generation_config.json", do_sample=False)
    assert load_pair(target).generation_defaults["temperature"] == 0


def test_g6_a_byte_level_tokenizer_with_a_foreign_decoder_prints_spaces(target: Path) -> None:
    patch_json(
        target / "tokenizer.json",
        decoder={
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
    )
    wrapper = load_pair(target).tokenizer
    ids = wrapper.encode(TEXT)
    assert wrapper.decode(ids) == TEXT
    detokenizer = wrapper.detokenizer
    for token in ids:
        detokenizer.add_token(token)
    detokenizer.finalize()
    assert detokenizer.text == TEXT


def test_names_of_folders_in_the_hugging_face_cache() -> None:
    snapshot = Path("/c/models--mlx-community--Qwen3-14B-4bit/snapshots/0a1b2c")
    assert model_name(snapshot) == "Qwen3-14B-4bit"
    assert model_name(Path("/models/mine")) == "mine"


# What is refused


def test_e9_kv_bits_that_the_heads_do_not_allow(tmp_path: Path, tokenizer: Any) -> None:
    narrow = save_toy(tmp_path / "narrow", toy_model(vocab=288), tokenizer)
    with pytest.raises(InvalidRequestError, match=r"narrow are 16 wide.*Leave --kv-bits out"):
        load_model(narrow, role="target", kv_bits=8)
    wide = save_toy(tmp_path / "wide", toy_model(vocab=288, head_dim=96), tokenizer)
    with pytest.raises(InvalidRequestError, match="--kv-group-size 32"):
        load_pair(wide, kv_bits=4)
    with pytest.raises(InvalidRequestError, match="7 bits"):
        load_model(wide, role="target", kv_bits=7)


def test_e9_the_drafts_heads_count_too(tmp_path: Path, tokenizer: Any) -> None:
    target = save_toy(tmp_path / "t", toy_model(vocab=288, head_dim=64), tokenizer)
    draft = save_toy(tmp_path / "d", toy_model(vocab=288, head_dim=16), tokenizer)
    with pytest.raises(InvalidRequestError, match="heads of d are 16 wide"):
        load_pair(target, draft, kv_bits=8)


@pytest.mark.parametrize("content", ["{", '{"model": 3}', "[]"])
def test_a_damaged_tokenizer_is_one_clear_line(target: Path, content: str) -> None:
    (target / "tokenizer.json").write_text(content)
    with pytest.raises(IncompleteModelError, match="tokenizer") as caught:
        load_pair(target)
    assert "\n" not in str(caught.value)


def test_a_missing_tokenizer_is_named(target: Path) -> None:
    (target / "tokenizer.json").unlink()
    with pytest.raises(IncompleteModelError, match=r"tokenizer\.json is missing"):
        load_pair(target)


def test_a_damaged_generation_config_is_named(target: Path) -> None:
    (target / "generation_config.json").write_text("{")
    with pytest.raises(IncompleteModelError, match=r"generation_config\.json"):
        load_pair(target)

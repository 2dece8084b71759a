"""Folders that are broken, incomplete or of another kind: one clear line each, and no traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlx_specdec.errors import (
    DraftLoadError,
    IncompleteModelError,
    ModelNotFoundError,
    SpecdecError,
    UnsupportedModelError,
)
from mlx_specdec.loaded import LoadedModel
from mlx_specdec.loading import load_model, load_pair
from tests.toymodels import save_toy, toy_model, toy_tokenizer

import pytest


@pytest.fixture(scope="module")
def toy() -> LoadedModel:
    return toy_model(vocab=288)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return toy_tokenizer(270)


@pytest.fixture
def target(tmp_path: Path, toy: LoadedModel, tokenizer: Any) -> Path:
    return save_toy(tmp_path / "target", toy, tokenizer)


@pytest.fixture
def draft(tmp_path: Path, toy: LoadedModel, tokenizer: Any) -> Path:
    return save_toy(tmp_path / "draft", toy, tokenizer)


def patch_json(path: Path, **entries: Any) -> None:
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, **entries}))


def break_config(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "qwen3", ')


def cut_weights(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000])


def scramble_weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"version https://git-lfs\noid sha256:0\n")


def lose_a_shard(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00003.safetensors")


def lose_an_indexed_shard(folder: Path) -> None:
    patch_json(
        folder / "model.safetensors.index.json",
        weight_map={"a": "model-00002-of-00002.safetensors", "b": "model.safetensors"},
    )


def lose(name: str) -> Any:
    def remove(folder: Path) -> None:
        (folder / name).unlink()

    return remove


def become(name: str) -> Any:
    def replace(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / name).write_bytes(b"GGUF")

    return replace


def set_config(**entries: Any) -> Any:
    return lambda folder: patch_json(folder / "config.json", **entries)


def forget_width(folder: Path) -> None:
    content = json.loads((folder / "config.json").read_text())
    del content["head_dim"]
    (folder / "config.json").write_text(json.dumps(content))


BROKEN: list[tuple[Any, type[SpecdecError], str]] = [
    (break_config, IncompleteModelError, r"config\.json of m cannot be read"),
    (lose("config.json"), IncompleteModelError, r"config\.json is missing"),
    (lose("model.safetensors"), IncompleteModelError, r"model\.safetensors is missing"),
    (cut_weights, IncompleteModelError, r"model\.safetensors of m is cut short: .* of .* bytes"),
    (scramble_weights, IncompleteModelError, r"model\.safetensors of m is damaged"),
    (
        lose_a_shard,
        IncompleteModelError,
        r"model-00002-of-00003\.safetensors, model-00003-of-00003\.safetensors are missing",
    ),
    (lose_an_indexed_shard, IncompleteModelError, r"model-00002-of-00002\.safetensors is missing"),
    (set_config(model_type="nosuch"), UnsupportedModelError, r"model_type 'nosuch'"),
    (set_config(model_type=None), UnsupportedModelError, r"names no model_type"),
    (set_config(vocab_size=99), UnsupportedModelError, r"do not fit its architecture 'qwen3'"),
    (set_config(num_hidden_layers=3), UnsupportedModelError, r"do not fit its architecture"),
    (forget_width, UnsupportedModelError, r"head_dim"),
    (set_config(model_file="own.py"), UnsupportedModelError, r"own\.py.*--trust-remote-code"),
    (become("model-q4.gguf"), UnsupportedModelError, r"m/model-q4\.gguf is a GGUF file"),
    (become("adapter_config.json"), UnsupportedModelError, r"m is an adapter"),
    (become("pytorch_model.bin"), UnsupportedModelError, r"PyTorch weights"),
]


@pytest.mark.parametrize(("damage", "kind", "words"), BROKEN)
def test_broken_folders_are_one_clear_line(
    tmp_path: Path, toy: LoadedModel, damage: Any, kind: type[SpecdecError], words: str
) -> None:
    folder = save_toy(tmp_path / "m", toy)
    damage(folder)
    with pytest.raises(kind, match=words) as caught:
        load_model(folder, role="target")
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("damage", "kind", "words"), BROKEN)
def test_e6_a_broken_draft_is_an_error_with_its_reason(
    target: Path, toy: LoadedModel, tokenizer: Any, damage: Any, kind: type[Exception], words: str
) -> None:
    draft = save_toy(target.parent / "m", toy, tokenizer)
    damage(draft)
    with pytest.raises(DraftLoadError, match=words) as caught:
        load_pair(target, draft)
    assert caught.value.message.startswith("No draft: m cannot be loaded.")
    assert isinstance(caught.value.__cause__, kind)


def test_e6_a_draft_that_is_not_there(target: Path, tmp_path: Path) -> None:
    with pytest.raises(DraftLoadError, match=r"No draft: gone cannot be loaded.*--draft none"):
        load_pair(target, tmp_path / "gone")
    with pytest.raises(ModelNotFoundError, match="gone"):
        load_pair(tmp_path / "gone")


def test_e6_an_unknown_kind_of_draft_is_refused_before_the_target_is_read(
    target: Path, draft: Path
) -> None:
    patch_json(draft / "config.json", model_type="nosuch")
    (target / "model.safetensors").write_bytes(
        (target / "model.safetensors")
        .read_bytes()
        .replace(b"self_attn.q_proj", b"self_attn.x_proj")
    )
    with pytest.raises(DraftLoadError, match="model_type 'nosuch'"):
        load_pair(target, draft)


def test_a_gguf_file_in_place_of_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match=r"small\.gguf is a GGUF file"):
        load_model(tmp_path / "small.gguf", role="target")

"""Where models are, and whether all of them is there."""

from __future__ import annotations

import json
from pathlib import Path

from mlx_specdec.locate import (
    Quantisation,
    hub_cache_folder,
    inspect_folder,
    lm_studio_folders,
    lm_studio_models,
    locate,
    locate_all,
)
from mlx_specdec.model_spec import ModelSpec
from tests.fakehub import COMMIT, model_files, safetensors

import pytest

SPEC = ModelSpec(alias="big", repo="org/big")
SHARD = "model-00002-of-00002.safetensors"


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("MLX_SPECDEC_LMSTUDIO_DIR", str(tmp_path / "studio"))


def write(folder: Path, files: dict[str, bytes] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (files or model_files()).items():
        (folder / name).write_bytes(content)
    return folder


def snapshot(commit: str = COMMIT, repo: str = "org/big") -> Path:
    return hub_cache_folder(repo) / "snapshots" / commit


def test_nowhere() -> None:
    assert locate(SPEC) is None


def test_a_complete_folder(tmp_path: Path) -> None:
    found = inspect_folder(write(tmp_path / "m"))
    assert found.complete
    assert found.missing == ()
    assert found.quantisation == Quantisation(4, 64)
    assert found.model_type == "qwen3"
    assert found.bytes_on_disk == sum(map(len, model_files().values()))


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", SHARD])
def test_each_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / "m")
    (folder / name).unlink()
    found = inspect_folder(folder)
    assert not found.complete
    assert found.missing == (name,)


def test_a_shard_that_was_cut_short_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "m")
    (folder / SHARD).write_bytes(model_files()[SHARD][:-1])
    assert inspect_folder(folder).missing == (SHARD,)
    for junk in (
        b"",
        b"1234567",
        (10**15).to_bytes(8, "little") + b"{}",
        b"\x02" + b"\0" * 7 + b"[]",
    ):
        (folder / SHARD).write_bytes(junk)
        assert inspect_folder(folder).missing == (SHARD,)


def test_shards_without_an_index_are_counted_by_their_names(tmp_path: Path) -> None:
    folder = write(tmp_path / "m")
    (folder / "model.safetensors.index.json").unlink()
    assert inspect_folder(folder).complete
    (folder / SHARD).unlink()
    assert inspect_folder(folder).missing == (SHARD,)


def test_an_unreadable_index_is_not_complete(tmp_path: Path) -> None:
    folder = write(tmp_path / "m")
    (folder / "model.safetensors.index.json").write_text("{")
    assert inspect_folder(folder).missing == ("model.safetensors.index.json",)


def test_no_weights_at_all(tmp_path: Path) -> None:
    folder = write(tmp_path / "m", {"config.json": b"{}", "tokenizer.json": b"{}"})
    found = inspect_folder(folder)
    assert found.missing == ("model.safetensors",)
    assert found.quantisation is None


@pytest.mark.parametrize(
    "names", [["tokenizer.model"], ["vocab.json", "merges.txt"], ["q.tiktoken"]]
)
def test_other_tokenizers_count(tmp_path: Path, names: list[str]) -> None:
    folder = write(tmp_path / "m")
    (folder / "tokenizer.json").unlink()
    for name in names:
        (folder / name).write_bytes(b"x")
    assert inspect_folder(folder).complete


def test_in_the_hub_cache() -> None:
    write(snapshot())
    found = locate(SPEC)
    assert found is not None
    assert (found.origin, found.path, found.complete) == ("Hugging Face cache", snapshot(), True)


def test_a_dangling_link_is_a_missing_file() -> None:
    folder = write(snapshot())
    (folder / SHARD).unlink()
    (folder / SHARD).symlink_to("../../blobs/none")
    found = locate(SPEC)
    assert found is not None
    assert found.missing == (SHARD,)


def test_the_snapshot_that_main_names_comes_first_unless_it_is_half() -> None:
    write(snapshot("a" * 40))
    write(snapshot("b" * 40))
    refs = hub_cache_folder("org/big") / "refs"
    refs.mkdir()
    for commit in ("a" * 40, "b" * 40):
        (refs / "main").write_text(commit)
        found = locate(SPEC)
        assert found is not None
        assert found.path.name == commit
    (snapshot("b" * 40) / SHARD).unlink()
    found = locate(SPEC)
    assert found is not None
    assert (found.path.name, found.complete) == ("a" * 40, True)


def test_in_lm_studio_when_the_hub_cache_holds_a_half(tmp_path: Path) -> None:
    (write(snapshot()) / SHARD).unlink()
    write(tmp_path / "studio" / "org" / "big")
    found = locate(SPEC)
    assert found is not None
    assert (found.origin, found.complete) == ("LM Studio", True)
    assert [place.complete for place in locate_all(SPEC)] == [True, False]


def test_lm_studio_models_are_those_we_can_load(tmp_path: Path) -> None:
    write(tmp_path / "studio" / "org" / "good")
    write(tmp_path / "studio" / "org" / "gguf", {"model.gguf": b"x"})
    write(tmp_path / "studio" / "org" / "half", {"config.json": b"{}"})
    assert [name for name, _ in lm_studio_models()] == ["org/good"]


def test_lm_studio_folders_of_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLX_SPECDEC_LMSTUDIO_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    new, old = tmp_path / ".lmstudio" / "models", tmp_path / ".cache" / "lm-studio" / "models"
    moved = tmp_path / "elsewhere" / "models"
    assert lm_studio_folders() == []
    for folder in (new, old, moved):
        folder.mkdir(parents=True)
    assert lm_studio_folders() == [new, old]
    (tmp_path / ".lmstudio-home-pointer").write_text(f"{moved.parent}\n")
    assert lm_studio_folders() == [moved, new, old]


def test_a_folder_and_the_built_in_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "m")
    found = locate(ModelSpec(alias=str(folder), path=folder))
    assert found is not None
    assert found.origin == "folder"
    write(tmp_path / "tiny" / "target")
    monkeypatch.setattr("mlx_specdec.registry._PACKAGE", tmp_path)
    found = locate(ModelSpec(alias="tiny", built_in="target"))
    assert found is not None
    assert (found.origin, found.complete) == ("built-in", True)
    assert locate(ModelSpec(alias="tiny-draft", built_in="draft")) is None


def test_eight_bit_and_plain_weights(tmp_path: Path) -> None:
    files = model_files(shards=1)
    files["config.json"] = json.dumps({"quantization": {"bits": 8, "group_size": 32}}).encode()
    assert inspect_folder(write(tmp_path / "a", files)).quantisation == Quantisation(8, 32)
    files["config.json"] = json.dumps({"quantization_config": {"quant_method": "awq"}}).encode()
    files["model.safetensors"] = safetensors(10)
    assert inspect_folder(write(tmp_path / "b", files)).quantisation is None

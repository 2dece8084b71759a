"""Names, shapes and the user's own file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from mlx_specdec.errors import UnknownModelError, UsageError
from mlx_specdec.model_spec import ModelSpec, count_parameters, quantised_bytes
from mlx_specdec.registry import Registry, config_dir

import pytest

# Billions of parameters as the models' cards give them.
CARDS = {
    "qwen3-0.6b": 0.6,
    "qwen3-1.7b": 1.7,
    "qwen3-4b": 4.0,
    "qwen3-8b": 8.2,
    "qwen3-14b": 14.8,
    "qwen3-32b": 32.8,
    "qwen3-30b-a3b": 30.5,
    "qwen2.5-0.5b": 0.49,
    "qwen2.5-1.5b": 1.54,
    "qwen2.5-3b": 3.09,
    "qwen2.5-7b": 7.61,
    "qwen2.5-14b": 14.7,
    "qwen2.5-32b": 32.5,
    "qwen2.5-72b": 72.7,
    "qwen2.5-coder-0.5b": 0.49,
    "qwen2.5-coder-1.5b": 1.54,
    "qwen2.5-coder-3b": 3.09,
    "qwen2.5-coder-7b": 7.61,
    "qwen2.5-coder-14b": 14.7,
    "qwen2.5-coder-32b": 32.5,
}


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.load(tmp_path / "none.toml")


def user_file(folder: Path, text: str) -> Path:
    path = folder / "models.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_model_of_the_cards_is_there(registry: Registry) -> None:
    assert {spec.alias for spec in registry} == set(CARDS) | {"tiny", "tiny-draft"}
    for alias, billions in CARDS.items():
        assert registry.resolve(alias).params / 1e9 == pytest.approx(billions, rel=0.02), alias


def test_parameters_and_bytes_follow_from_the_widths(registry: Registry) -> None:
    for alias in CARDS:
        spec = registry.resolve(alias)
        params, active, plain = count_parameters(spec)
        assert spec.params == params, alias
        assert (spec.active_params or params) == active, alias
        assert spec.weight_bytes == (params - plain) * 9 // 16 + 2 * plain, alias
        assert (spec.bits, spec.group_size) == (4, 64)
        assert spec.mlp_width % 64 == spec.hidden_width % 64 == 0


def test_the_14b_is_the_size_that_is_published(registry: Registry) -> None:
    spec = registry.resolve("qwen3-14b")
    assert spec.repo == "mlx-community/Qwen3-14B-4bit"
    assert spec.params == 14_768_307_200
    assert spec.weight_bytes / 1e9 == pytest.approx(8.31, abs=0.005)
    assert spec.read_bytes / 1e9 == pytest.approx(7.87, abs=0.005)
    assert registry.resolve("qwen3-0.6b").read_bytes / 1e9 == pytest.approx(0.335, abs=0.001)


def test_a_mixture_of_experts_reads_a_part_of_itself(registry: Registry) -> None:
    spec = registry.resolve("qwen3-30b-a3b")
    assert spec.kind == "moe"
    assert spec.active_params / 1e9 == pytest.approx(3.35, abs=0.06)
    assert spec.read_bytes < spec.weight_bytes / 8


def test_aliases_in_any_case(registry: Registry) -> None:
    assert registry.resolve(" QWEN3-14B ") is registry.resolve("qwen3-14b")


def test_a_repository_that_has_an_alias_is_that_model(registry: Registry) -> None:
    assert registry.resolve("mlx-community/qwen3-14b-4bit").alias == "qwen3-14b"


def test_any_other_repository_works(registry: Registry) -> None:
    spec = registry.resolve("someone/Model-8bit")
    assert (spec.repo, spec.bits, spec.params, spec.has_shape) == (
        "someone/Model-8bit",
        8,
        0,
        False,
    )


def test_a_folder_works(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {
        "model_type": "qwen3",
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "intermediate_size": 128,
        "vocab_size": 100,
        "max_position_embeddings": 512,
        "tie_word_embeddings": True,
        "quantization": {"bits": 4, "group_size": 64},
    }
    folder = tmp_path / "org" / "mine"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(b"12345")
    spec = registry.resolve(str(folder))
    assert spec.path == folder
    assert (spec.layers, spec.kv_heads, spec.bits, spec.weight_bytes) == (2, 2, 4, 5)
    assert spec.params == count_parameters(spec)[0] == 100 * 64 + 2 * (3 * 64 * 128 + 12_288) + 384
    monkeypatch.chdir(tmp_path)
    assert registry.resolve("org/mine").path == folder


def test_a_folder_with_a_broken_config_is_left_to_the_loader(
    registry: Registry, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text("{")
    assert registry.resolve(str(tmp_path)).path == tmp_path


@pytest.mark.parametrize("name", ["qwen3-14", "qwen3:14b", "qwen3_14b", "Qwen3 14B", "qwen3-14b "])
def test_a_wrong_alias_gets_did_you_mean(registry: Registry, name: str) -> None:
    if name.strip() == "qwen3-14b":
        assert registry.resolve(name).alias == "qwen3-14b"
        return
    with pytest.raises(UnknownModelError, match=r"Did you mean qwen3-14b\?"):
        registry.resolve(name)


@pytest.mark.parametrize("name", ["smollm2", "", "zzz"])
def test_a_name_far_from_all_gets_the_list(registry: Registry, name: str) -> None:
    with pytest.raises(UnknownModelError, match="mlx-specdec models") as caught:
        registry.resolve(name)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", ["./nothing", "~/nothing", "/nothing/at/all", "a/b/c"])
def test_a_folder_that_is_not_there(registry: Registry, name: str) -> None:
    with pytest.raises(UnknownModelError, match="does not exist"):
        registry.resolve(name)


def test_a_folder_without_a_model(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(UnknownModelError, match=r"holds no config\.json"):
        registry.resolve(str(tmp_path))


def test_pairs(registry: Registry) -> None:
    assert registry.resolve_pair("qwen3-14b+qwen3-0.6b").name == "qwen3-14b+qwen3-0.6b"
    assert registry.resolve_pair("qwen3-14b").name == "qwen3-14b+qwen3-0.6b"
    assert registry.resolve_pair("qwen3-14b", "none").specs == (registry.resolve("qwen3-14b"),)
    assert registry.resolve_pair("tiny").name == "tiny+tiny-draft"
    copying = registry.resolve_pair("qwen3-14b+copy")
    assert (copying.name, copying.copies, copying.draft) == ("qwen3-14b+copy", True, None)
    assert registry.resolve_pair("tiny", "COPY") == registry.resolve_pair("tiny").as_drafted("copy")
    assert registry.resolve_pair("qwen3-0.6b").draft is None
    with pytest.raises(UnknownModelError, match=r"Did you mean qwen3-0\.6b\?"):
        registry.resolve_pair("qwen3-14b+qwen3-06b")


def test_default_drafts_share_the_family(registry: Registry) -> None:
    for spec in registry:
        if spec.default_draft:
            assert registry.resolve(spec.default_draft).family == spec.family


def test_a_user_file_adds_and_overrides(tmp_path: Path) -> None:
    path = user_file(
        tmp_path,
        """
        [models."My-Model"]
        repo = "me/My-Model-6bit"
        default_draft = "QWEN3-0.6B"
        [models."qwen3-14b"]
        default_draft = "qwen3-1.7b"
        [models."qwen3-8b"]
        repo = "mlx-community/Qwen3-8B-8bit"
        """,
    )
    registry = Registry.load(path)
    mine = registry.resolve("my-model")
    assert (mine.repo, mine.bits, mine.default_draft) == ("me/My-Model-6bit", 6, "qwen3-0.6b")
    assert registry.resolve("qwen3-14b").default_draft == "qwen3-1.7b"
    assert registry.resolve("qwen3-14b").layers == 40
    eight = registry.resolve("qwen3-8b")
    assert (eight.bits, eight.params) == (8, 8_190_735_360)
    assert eight.weight_bytes / 1e9 == pytest.approx(8.19 * 8.5 / 8, rel=0.001)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[models.a]\nrepo = \n", 2, "not valid TOML"),
        ('[models.a]\nrepo = "x/y"\nlayerz = 4\n', 3, "'layerz' is not a field"),
        ('[models.a]\nrepo = "x/y"\n\nlayers = "4"\n', 4, "'layers' must be a whole number"),
        ('[models.a]\nrepo = "x/y"\nlayers = -4\n', 3, "'layers' is negative"),
        ('[models.a]\nrepo = "x"\n', 2, "'x' is no repository"),
        ('\n[models.a]\nnotes = "x"\n', 2, "says not where it is"),
        ('[models.a]\nrepo = "x/y"\nkind = "big"\n', 3, "no kind 'big'"),
        ('\n\n[modells.a]\nrepo = "x/y"\n', 3, "'modells' has no meaning"),
        ("[models]\na = 1\n", 2, "'a' is not a table"),
    ],
)
def test_a_bad_user_file_names_the_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        Registry.load(user_file(tmp_path, text))
    assert f"line {line}" in caught.value.message
    assert "models.toml" in caught.value.message
    assert caught.value.hint


def test_a_default_draft_must_be_known(tmp_path: Path) -> None:
    path = user_file(tmp_path, '[models.a]\nrepo = "x/y"\ndefault_draft = "zzz"\n')
    with pytest.raises(UsageError, match="zzz"):
        Registry.load(path)


def test_where_the_user_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config_dir({"MLX_SPECDEC_CONFIG_DIR": "/x"}) == Path("/x")
    assert config_dir({"XDG_CONFIG_HOME": "/y"}) == Path("/y/mlx-specdec")
    assert config_dir({}) == Path.home() / ".config" / "mlx-specdec"
    user_file(tmp_path, '[models.mine]\nrepo = "x/y"\n')
    monkeypatch.setenv("MLX_SPECDEC_CONFIG_DIR", str(tmp_path))
    assert Registry.load().resolve("mine").repo == "x/y"


def test_quantised_bytes() -> None:
    assert quantised_bytes(64, 4, 64) == 36
    assert quantised_bytes(64, 16, 0) == quantised_bytes(64, 0, 64) == 128


def test_a_hybrid_is_recognised_from_its_config() -> None:
    config = {"text_config": {"num_hidden_layers": 4, "full_attention_interval": 4}}
    assert ModelSpec.from_config("x", config).kind == "hybrid"


def test_the_registry_imports_neither_mlx_nor_the_hub() -> None:
    code = (
        "import sys, mlx_specdec.registry, mlx_specdec.costs.machines, mlx_specdec.memory\n"
        "print([n for n in sys.modules if n.split('.')[0] in "
        "('mlx', 'mlx_lm', 'huggingface_hub', 'numpy')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

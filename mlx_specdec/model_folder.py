"""What lies in a model's folder: is it complete, is it a kind that can be loaded, is it intact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .errors import IncompleteModelError, ModelNotFoundError, UnsupportedModelError
from .weight_files import fault_of, missing_weight_files

__all__ = ["check_folder", "check_tokenizer_files", "model_name", "read_json", "same_tokenizer"]

_AGAIN = "Download the model again, or point to a complete folder."
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "tiktoken.model")


def model_name(path: Path) -> str:
    """A short name for a folder; the repository's name for one in the Hugging Face cache."""
    if path.parent.name == "snapshots":
        return path.parent.parent.name.split("--")[-1]
    return path.name or str(path)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        IncompleteModelError: the file is missing, unreadable or holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise IncompleteModelError(f"{path.name} is missing from {path.parent}.", _AGAIN) from None
    except (OSError, ValueError) as error:
        raise IncompleteModelError(
            f"{path.name} of {model_name(path.parent)} cannot be read: {error}.", _AGAIN
        ) from error
    if not isinstance(content, dict):
        raise IncompleteModelError(
            f"{path.name} of {model_name(path.parent)} holds no JSON object.", _AGAIN
        )
    return content


def check_folder(path: Path) -> dict[str, Any]:
    """Look a folder over before anything is loaded, and return its config.json.

    Reads config, index and the headers of the weight files: fast, whatever the model's size.

    Raises:
        ModelNotFoundError: there is no such folder.
        UnsupportedModelError: GGUF, a PEFT adapter, PyTorch weights, no model type.
        IncompleteModelError: files are missing (all of them are named), cut short or damaged.
    """
    if path.suffix == ".gguf":
        raise _gguf(path.name)
    if not path.is_dir():
        raise ModelNotFoundError(
            f"There is no model folder {path}.", "Give a folder with a config.json in it."
        )
    name = model_name(path)
    weights = sorted(path.glob("model*.safetensors"))
    if not weights or not (path / "config.json").is_file():
        _check_kind(path, name)
    config = read_json(path / "config.json")
    if not config.get("model_type"):
        raise UnsupportedModelError(
            f"config.json of {name} names no model_type.", "It does not describe a language model."
        )
    missing = missing_weight_files(path)
    if missing:
        raise IncompleteModelError(
            f"{name} is incomplete: {', '.join(missing)} {_verb(missing)} missing.", _AGAIN
        )
    for file in weights:
        fault = fault_of(file)
        if fault:
            raise IncompleteModelError(f"{file.name} of {name} is {fault}.", _AGAIN)
    return config


def check_tokenizer_files(path: Path) -> None:
    """Raise IncompleteModelError unless some tokenizer lies in the folder."""
    if not any((path / file).is_file() for file in _TOKENIZER_FILES) and not any(
        path.glob("*.tiktoken")
    ):
        raise IncompleteModelError(
            f"{model_name(path)} is incomplete: tokenizer.json is missing.", _AGAIN
        )
    file = path / "tokenizer.json"
    if file.is_file() and not _is_tokenizer(file):
        raise IncompleteModelError(
            f"The tokenizer of {model_name(path)} cannot be read: tokenizer.json is damaged.",
            _AGAIN,
        )


def _is_tokenizer(file: Path) -> bool:
    """Whether the tokenizers library can read a file; for one that is damaged it raises a bare
    Exception, so what it would stumble over is looked at first."""
    try:
        content = json.loads(file.read_bytes())
    except ValueError:
        return False
    model = content.get("model") if isinstance(content, dict) else None
    return isinstance(model, dict) and isinstance(model.get("vocab"), dict | list)


def same_tokenizer(first: Path, second: Path) -> bool:
    """True when two folders surely hold the same tokenizer, told from the files alone.

    The vocabulary's files must agree byte for byte, the settings in all that names tokens.
    """
    if not (first / "tokenizer.json").is_file():
        return False
    for file in ("tokenizer.json", "added_tokens.json", "special_tokens_map.json"):
        contents = [
            (path / file).read_bytes() if (path / file).is_file() else b""
            for path in (first, second)
        ]
        if contents[0] != contents[1]:
            return False
    return _token_settings(first) == _token_settings(second)


def _token_settings(path: Path) -> dict[str, Any]:
    file = path / "tokenizer_config.json"
    settings = read_json(file) if file.is_file() else {}
    return {
        key: value
        for key, value in settings.items()
        if key == "tokenizer_class" or key.endswith(("_token", "_tokens", "_tokens_decoder"))
    }


def _verb(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _gguf(file: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{file} is a GGUF file, which mlx-lm cannot load.",
        "Take the same model in MLX form (the mlx-community pages), or convert the original.",
    )


def _check_kind(path: Path, name: str) -> None:
    """Say what a folder without MLX weights is, if it is something we know."""
    for gguf in sorted(path.glob("*.gguf")):
        raise _gguf(f"{name}/{gguf.name}")
    if (path / "adapter_config.json").is_file() or (path / "adapters.safetensors").is_file():
        raise UnsupportedModelError(
            f"{name} is an adapter (LoRA, PEFT), not a whole model.",
            "Merge it into its base model first: mlx_lm.fuse.",
        )
    if any(path.glob("*.bin")) and not any(path.glob("*.safetensors")):
        raise UnsupportedModelError(
            f"{name} holds PyTorch weights (.bin), not safetensors.",
            "Convert it first: mlx_lm.convert.",
        )

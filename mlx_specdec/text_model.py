"""The target's tokenizer: loading it, where an answer ends, how text comes out of ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .architecture import text_config
from .backend import mx as _mx  # noqa: F401  mlx_lm must find MLX loaded behind the fast BLAS
from .errors import IncompleteModelError, UnsupportedModelError
from .model_folder import check_tokenizer_files, model_name, read_json

__all__ = ["eos_token_ids", "generation_defaults", "load_tokenizer"]

_DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError)
_PROBE = "Ünï cödé 漢字 👩‍👧, two  spaces\n\tand a tab. "
_SETTINGS = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")


def load_tokenizer(path: Path, *, trust_remote_code: bool = False) -> Any:
    """mlx-lm's TokenizerWrapper over the tokenizer in a folder.

    Its detokenizer is checked on a sample, since the files of some models mislead the choice.

    Raises:
        IncompleteModelError: no tokenizer there, or one whose files are damaged.
        UnsupportedModelError: a tokenizer that needs code or packages that are not there.
    """
    check_tokenizer_files(path)
    from mlx_lm.utils import load_tokenizer as load

    extra = {"trust_remote_code": True} if trust_remote_code else None
    name = model_name(path)
    try:
        tokenizer = load(path, extra)
    except (ImportError, NotImplementedError) as error:
        raise UnsupportedModelError(
            f"The tokenizer of {name} needs something that is not installed: {first_line(error)}."
        ) from error
    except _DAMAGED as error:
        raise IncompleteModelError(
            f"The tokenizer of {name} cannot be read: {first_line(error)}.",
            "Download the model again.",
        ) from error
    _repair_decoder(tokenizer)
    tokenizer._detokenizer = _checked_detokenizer(tokenizer)
    return tokenizer


def first_line(error: BaseException) -> str:
    """The first line of a library's message, without its closing full stop."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__


def _repair_decoder(tokenizer: Any) -> None:
    """Give a byte-level vocabulary its own decoder when the files name another kind.

    Without it such a model prints the marks that stand for bytes, a ``Ġ`` for each space.
    """
    core = getattr(tokenizer._tokenizer, "backend_tokenizer", None)
    if core is None:
        return
    from tokenizers import decoders

    ids = core.encode(_PROBE, add_special_tokens=False).ids
    if core.decode(ids).strip() == _PROBE.strip():
        return
    named = core.decoder
    core.decoder = decoders.ByteLevel()
    if core.decode(ids).strip() != _PROBE.strip():
        core.decoder = named


def _spelled(detokenizer: Any, ids: Iterable[int]) -> str:
    detokenizer.reset()
    for token in ids:
        detokenizer.add_token(token)
    detokenizer.finalize()
    text: str = detokenizer.text
    detokenizer.reset()
    return text


def _checked_detokenizer(tokenizer: Any) -> Any:
    """mlx-lm's choice if it gives a sample back; else the first class that does."""
    from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, NaiveStreamingDetokenizer

    chosen = tokenizer._detokenizer
    ids = tokenizer.encode(_PROBE, add_special_tokens=False)
    if _spelled(chosen, ids).strip() == _PROBE.strip():
        return chosen
    bare = tokenizer._tokenizer
    for kind in (BPEStreamingDetokenizer, NaiveStreamingDetokenizer):
        candidate = kind(bare)
        try:
            text = _spelled(candidate, ids)
        except KeyError:  # the byte-level class meets a character that stands for no byte
            continue
        if text.strip() == _PROBE.strip():
            return candidate
    return chosen


def eos_token_ids(config: Mapping[str, Any], path: Path | None, tokenizer: Any) -> frozenset[int]:
    """Every id that ends an answer: model config, generation config and tokenizer, joined.

    Args:
        config: the model's config.json as written, before generation_config.json replaced parts.
        path: the folder with generation_config.json, if there is one.
        tokenizer: mlx-lm's wrapper.
    """
    generation = _generation_config(path)
    ids: set[Any] = set(tokenizer.eos_token_ids)
    for source in (config, text_config(config), generation):
        value = source.get("eos_token_id")
        ids.update(value if isinstance(value, list) else [value])
    ids.add(tokenizer.eos_token_id)
    return frozenset(i for i in ids if isinstance(i, int) and not isinstance(i, bool))


def generation_defaults(path: Path | None) -> dict[str, Any]:
    """The sampling settings its makers recommend, by SamplingParams' names; often empty."""
    generation = _generation_config(path)
    settings: dict[str, Any] = {
        name: value
        for name in _SETTINGS
        if isinstance(value := generation.get(name), int | float) and not isinstance(value, bool)
    }
    if generation.get("do_sample") is False:
        settings["temperature"] = 0.0
    return settings


def _generation_config(path: Path | None) -> dict[str, Any]:
    if path is None or not (path / "generation_config.json").is_file():
        return {}
    return read_json(path / "generation_config.json")

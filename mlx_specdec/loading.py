"""From a folder to a model in memory, and from two folders to a checked pair.

Files are looked over and tokenizers compared before any weight is read, so that what cannot
work says so at once. Everything here runs on the thread that owns MLX.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .architecture import KV_GROUP_SIZE, Architecture, architecture_of
from .backend import mx
from .errors import (
    DoesNotFitError,
    DraftLoadError,
    InvalidRequestError,
    ModelError,
    PairMismatchError,
    UnsupportedModelError,
)
from .loaded import LoadedModel, Pair
from .model_folder import check_folder, model_name, read_json, same_tokenizer
from .pairing import PairReport, check_pair, tokenizer_width
from .text_model import eos_token_ids, first_line, generation_defaults, load_tokenizer
from .weights import Expand, arrange_weights, describe_quantisation, weight_bytes

__all__ = ["LoadedModel", "Pair", "check_kv_bits", "load_model", "load_pair"]

Role = Literal["target", "draft"]

_KV_BITS = (2, 3, 4, 5, 6, 8)
_GROUP_SIZES = (128, 64, 32)
# What mlx-lm and the model classes raise for files that do not fit each other.
_LOAD_FAILURES = (ValueError, TypeError, KeyError, AttributeError, RuntimeError, OSError)


@dataclass(frozen=True, slots=True)
class _Options:
    """How the models of a pair are loaded: the arguments of load_model that they share."""

    trust_remote_code: bool
    expand: Expand
    kv_bits: int | None
    kv_group_size: int


def load_model(
    path: Path,
    *,
    role: Role,
    trust_remote_code: bool = False,
    expand: Expand = "auto",
    kv_bits: int | None = None,
    kv_group_size: int = KV_GROUP_SIZE,
    name: str = "",
) -> LoadedModel:
    """Load one model through mlx-lm, with all its weights evaluated.

    Args:
        path: a folder with config.json and model*.safetensors.
        role: a draft that cannot be loaded gives DraftLoadError, whatever the reason.
        trust_remote_code: run the model's own Python file, if its config names one.
        expand: see weights.arrange_weights.
        kv_bits: bits of a quantised cache to come, checked against the head's width here.
        kv_group_size: numbers that share a scale in that cache.
        name: what to call the model; the folder's name otherwise.

    Raises:
        DraftLoadError, ModelNotFoundError, IncompleteModelError, UnsupportedModelError,
        DoesNotFitError: see their classes.
        InvalidRequestError: kv_bits that this model's cache cannot have.
    """
    options = _Options(trust_remote_code, expand, kv_bits, kv_group_size)
    name = name or model_name(path)
    if role == "draft":
        return _load_draft(path, name, options)
    return _load(path, name, _check_model(path, name, options), options)


def load_pair(
    target_path: Path,
    draft_path: Path | None = None,
    *,
    trust_remote_code: bool = False,
    expand: Expand = "auto",
    kv_bits: int | None = None,
    kv_group_size: int = KV_GROUP_SIZE,
    target_name: str = "",
    draft_name: str = "",
) -> Pair:
    """Load a target and perhaps a draft, with the target's tokenizer.

    Both folders and the two tokenizers are checked before any weight is read. The same folder
    given twice is loaded once: the pair shares the weights, not the caches.

    Raises:
        PairMismatchError: the tokenizers mean different texts by an id.
        Otherwise as load_model.
    """
    options = _Options(trust_remote_code, expand, kv_bits, kv_group_size)
    target_name = target_name or model_name(target_path)
    config = _check_model(target_path, target_name, options)
    tokenizer = load_tokenizer(target_path, trust_remote_code=trust_remote_code)
    report = None
    if draft_path is not None:
        draft_name = draft_name or model_name(draft_path)
        width = architecture_of(config).vocab_size
        report = _check_draft(draft_path, draft_name, target_path, tokenizer, width, options)
    target = _load(target_path, target_name, config, options)
    draft = None
    if draft_path is not None:
        is_shared = draft_path.resolve() == target_path.resolve()
        draft = target if is_shared else _load_draft(draft_path, draft_name, options)
    ends = eos_token_ids(read_json(target_path / "config.json"), target_path, tokenizer)
    tokenizer.eos_token_ids = set(ends)
    return Pair(
        target=target,
        draft=draft,
        tokenizer=tokenizer,
        eos_token_ids=ends,
        tokenizer_width=min(tokenizer_width(tokenizer), target.vocab_width),
        generation_defaults=generation_defaults(target_path),
        report=report,
    )


def _load_draft(path: Path, name: str, options: _Options) -> LoadedModel:
    try:
        return _load(path, name, _check_model(path, name, options), options)
    except (ModelError, DoesNotFitError) as error:
        raise _draft_failure(name, error) from error


def _draft_failure(name: str, error: ModelError | DoesNotFitError) -> DraftLoadError:
    return DraftLoadError(
        f"No draft: {name} cannot be loaded. {error.message}",
        f"{error.hint} Or decode without one: --draft none.".strip(),
    )


def _check_draft(
    path: Path,
    name: str,
    target_path: Path,
    target_tokenizer: Any,
    target_width: int,
    options: _Options,
) -> PairReport:
    try:
        config = _check_model(path, name, options)
        if same_tokenizer(target_path, path):  # reading a large one takes seconds
            tokenizer = target_tokenizer
        else:
            tokenizer = load_tokenizer(path, trust_remote_code=options.trust_remote_code)
    except ModelError as error:
        raise _draft_failure(name, error) from error
    draft_width = architecture_of(config).vocab_size
    try:
        return check_pair(target_tokenizer, tokenizer, target_width, draft_width)
    except PairMismatchError as error:
        raise PairMismatchError(f"{name} cannot draft here. {error.message}", error.hint) from None


def check_kv_bits(shape: Architecture, name: str, kv_bits: int | None, group_size: int) -> None:
    """Raise InvalidRequestError when a quantised cache of this kind is impossible."""
    if kv_bits is None:
        return
    if kv_bits not in _KV_BITS:
        raise InvalidRequestError(
            f"A cache of {kv_bits} bits does not exist.",
            f"Take one of {', '.join(map(str, _KV_BITS))}, or leave --kv-bits out.",
        )
    if shape.head_dim and shape.head_dim % group_size:
        fitting = [size for size in _GROUP_SIZES if shape.head_dim % size == 0]
        raise InvalidRequestError(
            f"The heads of {name} are {shape.head_dim} wide, which groups of {group_size} "
            "do not divide.",
            f"Take --kv-group-size {fitting[0]}." if fitting else "Leave --kv-bits out.",
        )


def _check_model(path: Path, name: str, options: _Options) -> dict[str, Any]:
    config = check_folder(path)
    if config.get("model_file") is not None and not options.trust_remote_code:
        raise UnsupportedModelError(
            f"{name} brings its own Python code ({config['model_file']}).",
            "If you trust its makers: --trust-remote-code.",
        )
    if config.get("model_file") is None:
        _check_architecture(name, config)
    check_kv_bits(architecture_of(config), name, options.kv_bits, options.kv_group_size)
    return config


def _check_architecture(name: str, config: Mapping[str, Any]) -> None:
    """Raise unless mlx-lm knows this kind of model and its config says all that is needed."""
    from mlx_lm.utils import _get_classes

    try:
        _get_classes(config)[1].from_dict(config)
    except (*_LOAD_FAILURES, ImportError) as error:
        raise _load_failure(name, config, error) from error


def _load(path: Path, name: str, raw_config: Mapping[str, Any], options: _Options) -> LoadedModel:
    from mlx_lm.utils import load_model as load

    try:
        model, config = load(path, lazy=True, trust_remote_code=options.trust_remote_code)
        stored = describe_quantisation(model, config)
        done = arrange_weights(model, config, options.expand)
    except (*_LOAD_FAILURES, ImportError) as error:
        raise _load_failure(name, raw_config, error) from error
    # One token's logits, never evaluated: a graph knows its own width and kind of number.
    logits = model(mx.array([[0]]))
    shape = architecture_of(config)
    return LoadedModel(
        model=model,
        config=config,
        path=path,
        name=name,
        vocab_width=int(logits.shape[-1]),
        num_layers=shape.num_layers,
        context_length=shape.context_length,
        weight_bytes=weight_bytes(model),
        quantisation=f"{stored}, {done}" if done else stored,
        kv_bytes_per_token=shape.kv_bytes_per_token(
            logits.dtype.size, options.kv_bits, options.kv_group_size
        ),
        head_dim=shape.head_dim,
    )


def _load_failure(
    name: str, config: Mapping[str, Any], error: Exception
) -> ModelError | DoesNotFitError:
    model_type, reason = config.get("model_type"), first_line(error)
    cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
    if isinstance(cause, ImportError) and not str(cause.name).startswith("mlx_lm"):
        return UnsupportedModelError(
            f"{name} needs a package that is not installed: {first_line(cause)}."
        )
    if isinstance(cause, ImportError):
        return UnsupportedModelError(
            f"{name} is of a kind that mlx-lm does not know: model_type {model_type!r}.",
            "A newer mlx-lm may know it: pip install --upgrade mlx-lm.",
        )
    if isinstance(error, RuntimeError) and "alloc" in reason:
        return DoesNotFitError(
            f"{name} does not fit into the memory: {reason}.", "Take a smaller model."
        )
    return UnsupportedModelError(
        f"The files of {name} do not fit its architecture {model_type!r}: {reason}.",
        "Download it again, or take another conversion of the same model.",
    )

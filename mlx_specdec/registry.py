"""The registry: short names for models, read from models.toml; pure, no download.

A user's own file adds names or overrides figures: ``models.toml`` in
``$MLX_SPECDEC_CONFIG_DIR``, else in ``mlx-specdec`` below ``$XDG_CONFIG_HOME`` or ``~/.config``.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .errors import UnknownModelError, UsageError
from .model_spec import MODEL_KINDS, ModelSpec, PairSpec, bits_in_name
from .request import COPY

__all__ = ["ModelSpec", "PairSpec", "Registry", "builtin_folder", "config_dir"]

_PACKAGE = Path(__file__).resolve().parent
_REPOSITORY_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_TYPES: dict[str, type] = {
    field.name: {"str": str, "int": int, "bool": bool}.get(str(field.type), Path)
    for field in fields(ModelSpec)
    if field.name != "alias"
}
# Fields whose change leaves a model's shape and size as they are.
_WORDS = {"default_draft", "notes", "family", "context_length", "params", "weight_bytes"}


def config_dir(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the user's own settings; it need not exist."""
    env = os.environ if environ is None else environ
    if env.get("MLX_SPECDEC_CONFIG_DIR"):
        return Path(env["MLX_SPECDEC_CONFIG_DIR"]).expanduser()
    base = env.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "mlx-specdec"


def builtin_folder(part: str) -> Path:
    """Where the package keeps a built-in model; ``part`` is ``target`` or ``draft``."""
    return _PACKAGE / "tiny" / part


@dataclass(frozen=True, slots=True)
class Registry:
    """All known models by alias."""

    models: Mapping[str, ModelSpec]

    @classmethod
    def load(cls, user_file: Path | None = None) -> Registry:
        """The shipped models, then the user's file on top when there is one.

        Raises:
            UsageError: the user's file cannot be read, with the line to look at.
        """
        beside = _PACKAGE / "models.toml"
        shipped = beside if beside.is_file() else _PACKAGE.parent / "models.toml"
        models = _read(shipped, {})
        own = config_dir() / "models.toml" if user_file is None else user_file
        if own.is_file():
            models = _read(own, models)
        for spec in models.values():
            if spec.default_draft and spec.default_draft not in models:
                raise UsageError(
                    f"The default draft of {spec.alias}, {spec.default_draft}, is unknown.",
                    f"Correct default_draft in {own}.",
                )
        return cls({alias: _with_shape_on_disk(spec) for alias, spec in models.items()})

    def __iter__(self) -> Iterator[ModelSpec]:
        return iter(self.models.values())

    def __len__(self) -> int:
        return len(self.models)

    def resolve(self, name: str) -> ModelSpec:
        """The model that a person means by an alias, a repository id or a folder.

        Raises:
            UnknownModelError: none of the three; the hint names the nearest alias.
        """
        wanted = name.strip()
        if wanted.lower() in self.models:
            return self.models[wanted.lower()]
        folder = Path(wanted).expanduser() if wanted else Path("/nothing")
        if (folder / "config.json").is_file():
            return _spec_of_folder(folder.resolve())
        looks_like_path = wanted.startswith((".", "~", os.sep)) or wanted.count("/") > 1
        if looks_like_path or (folder.is_dir() and "/" in wanted):
            what = "holds no config.json" if folder.is_dir() else "does not exist"
            raise UnknownModelError(
                f"The folder {wanted} {what}.",
                "Name a folder with config.json, tokenizer and safetensors files, or an alias "
                "of `mlx-specdec models`.",
            )
        if _REPOSITORY_ID.fullmatch(wanted):
            for spec in self.models.values():
                if spec.repo.lower() == wanted.lower():
                    return spec
            return ModelSpec(alias=wanted, repo=wanted, bits=bits_in_name(wanted), group_size=64)
        near = difflib.get_close_matches(wanted.lower(), list(self.models), n=1, cutoff=0.6)
        raise UnknownModelError(
            f"There is no model called {wanted!r}.",
            f"Did you mean {near[0]}?"
            if near
            else "`mlx-specdec models` lists the names; org/name of the hub and folders work too.",
        )

    def resolve_pair(self, name: str, draft: str | None = None) -> PairSpec:
        """A pair from ``target+draft``, or from a target and the name of its draft.

        ``draft`` None takes the target's default draft, ``none`` takes none, and ``copy`` copies
        from the text, which takes none either.

        Raises:
            UnknownModelError: one of the two is not known.
        """
        text = name
        if draft is None and "+" in name and not Path(name).expanduser().exists():
            text, draft = name.split("+", 1)
        target = self.resolve(text)
        wanted = target.default_draft if draft is None else draft
        if not wanted or wanted.lower() == "none":
            return PairSpec(target, None)
        if wanted.lower() == COPY:
            return PairSpec(target, None, copies=True)
        return PairSpec(target, self.resolve(wanted))


def _read(path: Path, base: Mapping[str, ModelSpec]) -> dict[str, ModelSpec]:
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.", "Correct that line.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", "Correct or remove it.") from None
    models = dict(base)
    for key in data:
        if key not in ("schema", "models"):
            raise _wrong(path, text, "", key, f"{key!r} has no meaning here", "[models.NAME]")
    tables = data.get("models", {})
    if not isinstance(tables, dict):
        raise _wrong(path, text, "", "models", "'models' is not a table", "[models.NAME]")
    for alias, entry in tables.items():
        name = alias.lower()
        if not isinstance(entry, dict):
            raise _wrong(path, text, "", alias, f"{alias!r} is not a table", "[models.NAME]")
        for key, value in entry.items():
            wanted = _TYPES.get(key)
            if wanted is None:
                near = difflib.get_close_matches(key, list(_TYPES), n=1)
                fix = near[0] if near else "repo, path, layers, ..."
                raise _wrong(path, text, alias, key, f"{key!r} is not a field of a model", fix)
            if type(value) is not (str if wanted is Path else wanted):
                kind = {str: "text", int: "a whole number", bool: "true or false", Path: "a path"}
                raise _wrong(
                    path, text, alias, key, f"{key!r} must be {kind[wanted]}", kind[wanted]
                )
            if isinstance(value, int) and value < 0:
                raise _wrong(path, text, alias, key, f"{key!r} is negative", "0 or more")
        kind_name = entry.get("kind", "dense")
        if kind_name not in MODEL_KINDS:
            fix = ", ".join(MODEL_KINDS)
            raise _wrong(path, text, alias, "kind", f"there is no kind {kind_name!r}", fix)
        models[name] = _merge(path, text, name, models.get(name), entry)
    return models


def _merge(
    path: Path, text: str, alias: str, old: ModelSpec | None, entry: dict[str, Any]
) -> ModelSpec:
    values: dict[str, Any] = {"alias": alias}
    if old is not None:
        values = {field.name: getattr(old, field.name) for field in fields(ModelSpec)}
    values.update(entry)
    if old and entry.keys() - _WORDS:  # another shape or another file: old counts are not its own
        stale = {"params", "active_params", "weight_bytes"} - entry.keys()
        values.update(dict.fromkeys(stale, 0))
    if "repo" in entry and "bits" not in entry:
        values["bits"] = bits_in_name(entry["repo"]) or values.get("bits", 0)
    values["group_size"] = values.get("group_size") or 64
    if "default_draft" in entry:
        values["default_draft"] = entry["default_draft"].lower()
    if "path" in entry:
        values["path"] = Path(entry["path"]).expanduser()
    if "repo" in entry and not _REPOSITORY_ID.fullmatch(entry["repo"]):
        raise _wrong(path, text, alias, "repo", f"{entry['repo']!r} is no repository", "org/name")
    spec = ModelSpec(**values)
    if not (spec.repo or spec.path or spec.built_in):
        raise _wrong(path, text, alias, "", f"{alias!r} says not where it is", 'repo = "org/name"')
    return spec.with_counts()


def _wrong(path: Path, text: str, alias: str, key: str, what: str, fix: str) -> UsageError:
    return UsageError(f"{path}, line {_line_of(text, alias, key)}: {what}.", f"Use {fix}.")


def _line_of(text: str, alias: str, key: str) -> int:
    """The line (from 1) of ``key`` within the table of ``alias``; the table's own line if none."""
    table, found = "", 1
    entry = re.compile(rf"\s*\[*\s*[\"']?{re.escape(key)}[\"']?\s*[\].=]")
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\s*models\s*\.\s*[\"']?(.+?)[\"']?\s*\]", line)
        if header:
            table = header[1].lower()
            if table in (alias.lower(), key.lower()):
                found = number
        elif key and table == alias.lower() and entry.match(line):
            return number
    return found


def _spec_of_folder(folder: Path) -> ModelSpec:
    spec = _from_folder(str(folder), folder)
    return ModelSpec(alias=str(folder), path=folder) if spec is None else spec


def _from_folder(alias: str, folder: Path, **more: Any) -> ModelSpec | None:
    """None when there is no readable config.json; the loader says later what is wrong with it."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        size = sum(part.stat().st_size for part in folder.glob("*.safetensors"))
    except (OSError, ValueError):
        return None
    if not isinstance(config, dict):
        return None
    return ModelSpec.from_config(alias, config, size, **(more or {"path": folder}))


def _with_shape_on_disk(spec: ModelSpec) -> ModelSpec:
    """Built-in models and an alias of a folder are described by their own config.json."""
    folder = builtin_folder(spec.built_in) if spec.built_in else spec.path
    if folder is None or spec.has_shape:
        return spec
    more = {key: getattr(spec, key) for key in ("built_in", "path", "default_draft", "notes")}
    found = _from_folder(spec.alias, folder, **more)
    return spec if found is None else found

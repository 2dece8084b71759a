"""Workloads: the benchmark's prompts by kind, ours or a file's."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from ..errors import InvalidRequestError

__all__ = ["Workload", "read_prompts", "read_prompts_file", "workloads"]

_MORE_PILOTS = 2
_FIX = 'Give one JSON object a line, such as {"kind": "code", "text": "Write ..."}.'


@dataclass(frozen=True, slots=True)
class Workload:
    """Prompts of one kind.

    ``pilot`` is the prompt that a forecast may look at; it is never among ``prompts``, so that
    nothing is predicted from what it is scored on. None where there was only one prompt. ``rest``
    are prompts of the kind that were left out.
    ``think``: whether the model thinks first; None leaves it to the settings.
    """

    kind: str
    words: str
    prompts: tuple[str, ...]
    pilot: str | None = None
    think: bool | None = None
    rest: tuple[str, ...] = ()

    @property
    def pilots(self) -> tuple[str, ...]:
        """What a forecast looks at: the pilot, and a few prompts that are not measured anyway."""
        own = () if self.pilot is None else (self.pilot,)
        return own + self.rest[:_MORE_PILOTS]

    def first(self, count: int) -> Workload:
        """The same with at most ``count`` prompts."""
        rest = self.prompts[count:] + self.rest
        return replace(self, prompts=self.prompts[:count], rest=rest)

    def thinking(self, think: bool) -> Workload:
        """The same prompts with thinking on or off; the kind says so where it is on."""
        return replace(self, kind=f"{self.kind} +think" if think else self.kind, think=think)


def workloads() -> tuple[Workload, ...]:
    """The built-in ones, in the order of their file."""
    text = resources.files(__package__).joinpath("workloads.toml").read_text("utf-8")
    return tuple(
        _workload(kind, str(entry["words"]), [str(prompt) for prompt in entry["prompts"]])
        for kind, entry in tomllib.loads(text).items()
    )


def read_prompts(lines: Iterable[str], name: str = "the file") -> tuple[Workload, ...]:
    """Workloads from JSONL: ``text`` (or ``prompt``) and, if given, ``kind`` of each line.

    The last prompt of a kind becomes its pilot when there are two or more.

    Raises:
        InvalidRequestError: a line that is no such object, or no prompt at all.
    """
    by_kind: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            kind, text = _prompt(json.loads(line))
        except ValueError as error:
            raise InvalidRequestError(f"Line {number} of {name}: {error}.", _FIX) from None
        by_kind.setdefault(kind, []).append(text)
    if not by_kind:
        raise InvalidRequestError(f"There is no prompt in {name}.", _FIX)
    return tuple(_workload(kind, "", prompts) for kind, prompts in by_kind.items())


def read_prompts_file(path: Path) -> tuple[Workload, ...]:
    """As read_prompts, from a file.

    Raises:
        InvalidRequestError: it cannot be read, or holds no prompts.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            return read_prompts(lines, path.name)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequestError(f"{path} cannot be read: {error}.", _FIX) from None


def _workload(kind: str, words: str, prompts: list[str]) -> Workload:
    if len(prompts) == 1:
        return Workload(kind, words, tuple(prompts))
    return Workload(kind, words, tuple(prompts[:-1]), prompts[-1])


def _prompt(data: Any) -> tuple[str, str]:
    if not isinstance(data, dict):
        raise ValueError("it is not a JSON object")
    text = data.get("text", data.get("prompt"))
    if not isinstance(text, str) or not text.strip():
        raise ValueError("it has no text")
    return str(data.get("kind") or "own"), text

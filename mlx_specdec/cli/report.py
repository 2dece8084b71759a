"""What ``--json`` prints: schema 1."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Protocol

from .. import __version__
from ..metrics import Metrics, to_json
from ..model_spec import ModelSpec, PairSpec
from ..request import COPY
from ..settings import Settings
from .terminal import Terminal

if TYPE_CHECKING:
    from ..loaded import LoadedModel, Pair

__all__ = ["SCHEMA", "lane_fields", "model_fields", "print_json", "reply_fields", "settings_fields"]

SCHEMA = 1


def print_json(terminal: Terminal, document: dict[str, Any]) -> None:
    """One document on standard output; no control code can be in it."""
    encoding = (terminal.out.encoding or "utf-8").lower().replace("-", "")
    text = json.dumps(document, indent=2, ensure_ascii=encoding != "utf8")
    # JSON leaves DEL and the C1 codes as they are.
    text = "".join(f"\\u{ord(c):04x}" if "\x7f" <= c <= "\x9f" else c for c in text)
    terminal.out.write(f"{text}\n")
    terminal.out.flush()


class Answered(Protocol):
    """An answer that is complete: a Reply, or one lane of a demo."""

    @property
    def text(self) -> str: ...
    @property
    def tokens(self) -> tuple[int, ...]: ...
    @property
    def finish_reason(self) -> str: ...
    @property
    def metrics(self) -> Metrics: ...


def lane_fields(reply: Answered) -> dict[str, Any]:
    """One answer: text, tokens, how it ended, its figures."""
    return {
        "text": reply.text,
        "tokens": list(reply.tokens),
        "finish_reason": reply.finish_reason,
        "metrics": to_json(reply.metrics),
    }


def reply_fields(reply: Answered, settings: Settings, spec: PairSpec, pair: Pair) -> dict[str, Any]:
    """One answer with what made it."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "models": model_fields(spec, pair),
        "settings": settings_fields(settings),
        **lane_fields(reply),
    }


def model_fields(spec: PairSpec, pair: Pair) -> dict[str, Any]:
    """Target and draft; the draft is null in plain decoding, a name alone where it copies."""
    draft = {"name": COPY} if pair.copies else None
    if spec.draft is not None and pair.draft is not None:
        draft = _model(spec.draft, pair.draft)
    return {"target": _model(spec.target, pair.target), "draft": draft}


def _model(spec: ModelSpec, loaded: LoadedModel) -> dict[str, Any]:
    return {
        "name": spec.alias,
        "where": spec.where,
        "quantization": loaded.quantisation,
        "weight_bytes": loaded.weight_bytes,
        "context_length": loaded.context_length,
    }


def settings_fields(settings: Settings) -> dict[str, Any]:
    """Everything that was set, the sampling settings flat among it."""
    fields = dataclasses.asdict(settings)
    sampling = fields.pop("sampling")
    fields.pop("draft_sampling")
    return {**sampling, **fields}

"""Which settings a chat keeps, and how a resumed chat takes them up again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..errors import InvalidRequestError
from ..request import SamplingParams
from ..settings import Settings, settings_from

__all__ = ["kept_settings", "resumed_settings"]

_OWN = ("max_tokens", "lookahead", "rule", "seed", "think", "draft")


def kept_settings(settings: Settings) -> dict[str, Any]:
    """Plain values by name, those of the sampling that differ from its defaults."""
    usual = SamplingParams()
    law = {
        field.name: getattr(settings.sampling, field.name)
        for field in fields(SamplingParams)
        if field.name != "logit_bias"
        and getattr(settings.sampling, field.name) != getattr(usual, field.name)
    }
    return {"temperature": settings.sampling.temperature, **law} | {
        name: getattr(settings, name) for name in _OWN
    }


def resumed_settings(base: Settings, kept: Mapping[str, Any]) -> Settings:
    """``base`` with what a chat kept; a value that makes no sense any more is left out."""
    settings = base
    for name, value in kept.items():
        try:
            changed = settings_from(settings, **{name: value})
            changed.request((0,))
        except (InvalidRequestError, TypeError):
            continue
        settings = changed
    return settings

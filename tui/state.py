"""AppState: what the screens share, as plain data; only the app writes to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mlx_specdec.events import Event
from mlx_specdec.figures import pair_names
from mlx_specdec.model_spec import PairSpec
from mlx_specdec.prompts import Prompt, default_prompt
from mlx_specdec.race.recording import Recording
from mlx_specdec.settings import Settings

if TYPE_CHECKING:
    from mlx_specdec.costs.prices import Prices
    from mlx_specdec.forecast.prediction import Score

__all__ = ["AppState", "pair_words"]

TOY_TEMPERATURE = 0.7  # at 0 a model as small as the built-in one repeats itself


def race_defaults() -> Settings:
    """A race's own settings: 160 tokens fit both panes, coupled noise makes equal texts."""
    return Settings(max_tokens=160, think=False, rule="coupled")


@dataclass
class AppState:
    """What is loaded, set and known.

    Args:
        pair: the models in use; None while there are none.
        machine: ``M3 Pro 36 GB``; empty until the models are loaded.
        power: ``mains``, ``battery`` or empty where the system does not say.
        versions: of this program and of MLX, by name.
        settings: of the chat's replies.
        race_settings: of the next race.
        prompt: of the next race.
        recording: the last race, perhaps one under way; None before the first.
        replies: the events of every reply of this chat, the one under way last.
        score: of what was forecast of the last race before it ran; None where nothing was.
        prices: what passes cost here, and where those figures come from.
        is_ready: the models are loaded.
        wants_measuring: no calibration of this pair with this MLX on this machine is kept.
        context_length: tokens that a conversation may take; None when not known.
        weight_bytes: of the loaded models, as they lie in memory.
        memory_limit_bytes: what models and caches may take on this machine.
        kv_bytes_per_token: both caches.
    """

    pair: PairSpec | None = None
    machine: str = ""
    power: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    settings: Settings = field(default_factory=lambda: Settings(max_tokens=4096))
    race_settings: Settings = field(default_factory=race_defaults)
    prompt: Prompt = field(default_factory=lambda: default_prompt(True))
    recording: Recording | None = None
    replies: list[tuple[Event, ...]] = field(default_factory=list)
    prices: Prices | None = None
    score: Score | None = None
    is_ready: bool = False
    wants_measuring: bool = False
    context_length: int | None = None
    weight_bytes: int = 0
    memory_limit_bytes: int = 0
    kv_bytes_per_token: int = 0

    @property
    def is_toy(self) -> bool:
        return self.pair is not None and bool(self.pair.target.built_in)


def pair_words(state: AppState, temperature: float | None = None) -> str:
    """``qwen3-14b + qwen3-0.6b · 4-bit · temp 0 · M3 Pro 36 GB``: what the top line says.

    Args:
        temperature: None takes the chat's.
    """
    if state.pair is None:
        return state.machine
    target = state.pair.target
    wanted = state.settings.sampling.temperature if temperature is None else temperature
    parts = [pair_names(state.pair), f"{target.bits}-bit" if 0 < target.bits < 16 else ""]
    parts += [f"temp {wanted:g}", state.machine]
    return " · ".join(part for part in parts if part)

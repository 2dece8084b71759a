"""What the race's screen asks of the engine's thread: races, and passes in other formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from mlx_specdec.settings import Settings

if TYPE_CHECKING:
    from mlx_specdec.engine import Engine
    from mlx_specdec.forecast.format_table import TimedFormats
    from mlx_specdec.model_spec import PairSpec
    from mlx_specdec.race.recording import LaneEvent

__all__ = ["live_race", "timed_formats"]


def live_race(
    engine: Engine,
    prompt: str,
    settings: Settings,
    *,
    system: str = "",
    template_options: Mapping[str, object] | None = None,
    warm_up: bool = True,
    on_prompt: Callable[[int], None] = lambda num_tokens: None,
) -> Callable[[Callable[[], bool]], Iterator[LaneEvent]]:
    """The job of one race: its prompt is read, then both lanes run; yields LaneEvents.

    Args:
        warm_up: False when both lanes have run before.
        on_prompt: told how many tokens the prompt has, before anything runs.
    """
    from mlx_specdec.conversation import Conversation
    from mlx_specdec.race.race import race_job

    def tokens() -> list[int]:
        conversation = Conversation(system, template_options=dict(template_options or {}))
        conversation.say("user", prompt)
        prompt_tokens = conversation.prompt_tokens(engine.pair.tokenizer, settings.think)
        on_prompt(len(prompt_tokens))
        return prompt_tokens

    return race_job(engine.session, tokens, settings, warm_up=warm_up)


def timed_formats(
    engine: Engine, pair: PairSpec, seconds: float
) -> Callable[[Callable[[], bool]], Iterator[float | TimedFormats]]:
    """The job that times the target in other weight formats, beside what is loaded."""

    def job(is_cancelled: Callable[[], bool]) -> Iterator[float | TimedFormats]:
        from mlx_specdec.forecast.format_job import formats_job

        taken = engine.session.room.weight_bytes
        return formats_job(pair, seconds, taken_bytes=taken)(is_cancelled)

    return job

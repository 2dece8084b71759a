"""What step mode asks of the engine: the odds of one round of a race, after the fact."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlx_specdec.events import Round
from mlx_specdec.race.recording import Recording
from mlx_specdec.settings import Settings, settings_from

if TYPE_CHECKING:
    from mlx_specdec.session import Session

__all__ = ["odds_of_round"]


def odds_of_round(
    recording: Recording, index: int, settings: Settings
) -> Callable[[Session], Round]:
    """The round of that index with its detail, read again by the loaded pair.

    Args:
        settings: what the race was run with; temperature and rule are the recording's own.
    """
    rounds = [event for event in recording.speculative if isinstance(event, Round)]
    header = recording.header
    changed = settings_from(
        settings, temperature=header.temperature, rule=header.rule or settings.rule
    )

    def job(session: Session) -> Round:
        from mlx_specdec.lesson.round_odds import with_detail

        prompt = session.chat_tokens(header.prompt, think=changed.think)
        return with_detail(session, prompt, rounds, index, changed)

    return job

"""RaceWishes: what a person wants of the next race, and how it differs from the last one."""

from __future__ import annotations

from mlx_specdec.errors import InvalidRequestError
from mlx_specdec.prompts import Prompt, default_prompt, edit_prompt
from mlx_specdec.request import AUTO, COPY
from mlx_specdec.settings import Settings, settings_from
from tui.state import AppState

__all__ = ["RaceWishes"]

TEMPERATURES = (0.0, 0.3, 0.7, 1.0)
MOST_LOOKAHEAD = 16
USUAL_LOOKAHEAD = 3


class RaceWishes:
    """Changes the state's race settings; they take effect with the next race."""

    def __init__(self, state: AppState) -> None:
        self._state = state
        self._raced_with = state.race_settings

    @property
    def settings(self) -> Settings:
        return self._state.race_settings

    def first_prompt(self) -> Prompt:
        """What a pair that was just loaded is raced on."""
        pair = self._state.pair
        asked = edit_prompt if pair is not None and pair.copies else default_prompt
        return asked(self._state.is_toy)

    def are_met(self) -> None:
        """A race with these settings has begun."""
        self._raced_with = self.settings

    def words(self) -> str:
        """What the next race will have otherwise than the last one; empty where nothing."""
        before, wanted = self._raced_with, self.settings
        parts = []
        if wanted.lookahead != before.lookahead:
            off = " (no drafting)" if wanted.lookahead == 0 else ""
            parts.append(f"lookahead {wanted.lookahead}{off}")
        if wanted.sampling.temperature != before.sampling.temperature:
            parts.append(f"temp {wanted.sampling.temperature:g}")
        return f"{', '.join(parts)} from the next race" if parts else ""

    def change_lookahead(self, step: int) -> str:
        """One more or one less guess a round; why not, in words."""
        now = self.settings.lookahead
        current = now if isinstance(now, int) else USUAL_LOOKAHEAD
        return self.set_lookahead(min(max(current + step, 0), MOST_LOOKAHEAD))

    def set_lookahead(self, value: int | str) -> str:
        """So many guesses a round, or ``auto``; why not, in words."""
        try:
            wanted = settings_from(
                self.settings, lookahead=value, draft=self.settings.draft or True
            )
            wanted.request((0,))
        except InvalidRequestError as error:
            return error.message
        self._state.race_settings = wanted
        return ""

    def force(self) -> str:
        """Draft, whatever it costs; there is nothing to say of it."""
        self._state.race_settings = settings_from(
            self.settings, lookahead=USUAL_LOOKAHEAD, draft=True
        )
        return ""

    def change_copying(self) -> str:
        """Copy from the text instead of drafting, on a prompt that there is something to copy
        from; or draft again, if it copied. What that means, in words."""
        if self.settings.draft == COPY:
            self._state.race_settings = self.settings.changed(draft=True)
            return "Drafting again."
        lookahead = self.settings.lookahead or AUTO
        self._state.race_settings = self.settings.changed(draft=COPY, lookahead=lookahead)
        self._state.prompt = edit_prompt(self._state.is_toy)
        return "Copying, on an edit: its answer repeats much of its prompt. c drafts again."

    def change_temperature(self) -> None:
        """The next of a few temperatures."""
        now = self.settings.sampling.temperature
        following = next((value for value in TEMPERATURES if value > now), TEMPERATURES[0])
        self._state.race_settings = settings_from(self.settings, temperature=following)

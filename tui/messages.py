"""What the app tells its screens, and what screens ask of it."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

__all__ = ["Notice", "OpenStep", "ShareLine", "StateChanged"]


class StateChanged(Message):
    """Something in the app's state is new: models are ready, or a setting has another value.

    Posted to every screen; a screen that draws from the state handles ``on_state_changed``.
    """


@dataclass
class Notice(Message):
    """Show a notice: what happened, and the fix. Texts are shown as they are, never as markup."""

    title: str
    text: str
    hint: str = ""
    is_error: bool = False


@dataclass
class OpenStep(Message):
    """Open step mode on the race at hand, at the pass with this index (None: the first)."""

    round_index: int | None = None


@dataclass
class ShareLine(Message):
    """The result line to leave in the scrollback when the app ends."""

    line: str

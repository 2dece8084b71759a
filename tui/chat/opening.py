"""ChatOpening: with what a chat begins: what the command line said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mlx_specdec.chat.record import SavedChat
from mlx_specdec.chat.store import ChatStore
from mlx_specdec.settings import Settings

__all__ = ["ChatOpening"]


def _unchanged(settings: Settings) -> Settings:
    return settings


@dataclass(frozen=True, slots=True)
class ChatOpening:
    """Args:
    store: where chats are kept; ``is_kept`` False only reads there (``--no-save``).
    resumed: a chat to go on with.
    system: what the model is told beforehand; None leaves it to the resumed chat.
    template_options: for the chat template.
    with_options: puts what the command line asks for on top of the model's own settings.
    """

    store: ChatStore = field(default_factory=ChatStore)
    is_kept: bool = True
    resumed: SavedChat | None = None
    system: str | None = None
    template_options: Mapping[str, object] = field(default_factory=dict)
    with_options: Callable[[Settings], Settings] = _unchanged

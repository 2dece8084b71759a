"""NoticeScreen: what happened and what helps, over the screen that goes on below."""

from __future__ import annotations

from typing import ClassVar

from mlx_specdec.safe_text import safe_text

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

__all__ = ["NoticeScreen"]


class NoticeScreen(ModalScreen[None]):
    """One thing to read; any of a few keys closes it. Texts are shown as they are."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,space", "dismiss(None)", "close", show=False),
    ]

    def __init__(self, title: str, text: str, hint: str = "", is_error: bool = False) -> None:
        super().__init__()
        self._title = safe_text(title)
        self._text = safe_text(text)
        self._hint = safe_text(hint)
        self.set_class(is_error, "-error")

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(self._title, id="title", markup=False)
            yield Static(self._text, id="text", markup=False)
            if self._hint:
                yield Static(self._hint, id="hint", markup=False)
            yield Static("enter close   m other models   q quit", id="keys", markup=False)

"""DownloadScreen: the question before a download, with what it costs and brings here."""

from __future__ import annotations

from typing import ClassVar

from mlx_specdec.safe_text import safe_text
from tui.opening import Question

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

__all__ = ["DownloadScreen"]


class DownloadScreen(ModalScreen[str]):
    """Gives ``download``, ``better`` or ``quit``; the race on the screen goes on below."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,n", "dismiss('quit')", "not now", show=False),
        Binding("d,y", "dismiss('download')", "download", show=False),
    ]

    def __init__(self, question: Question) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static("These models are not on this disk yet", id="title", markup=False)
            with VerticalScroll():
                yield Static(
                    safe_text("\n".join(self._question.lines[:-2])), id="text", markup=False
                )
            yield Static(self._keys(), id="keys", markup=False)

    def _keys(self) -> str:
        better = self._question.better
        other = f"   {self._question.better_key} take {better.alias}" if better else ""
        return f"d download{other}   esc not now"

    def on_key(self, event: events.Key) -> None:
        if self._question.better is not None and event.character == self._question.better_key:
            event.stop()
            self.dismiss("better")

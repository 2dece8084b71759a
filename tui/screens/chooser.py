"""ChooserScreen: a list to choose from, or a line to type; what both pickers are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from mlx_specdec.safe_text import safe_text

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

__all__ = ["ChooserScreen"]

T = TypeVar("T")


class ChooserScreen(ModalScreen[T | None], Generic[T]):
    """Arrows move in the list, letters go to the line; enter takes the line if there is one.

    Args:
        title: what is chosen.
        rows: what each choice says, in fixed columns, with what it stands for.
        placeholder: what the line is for.
        marked: the place of the choice that holds now.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "close", show=False),
        Binding("up", "move(-1)", "up", show=False, priority=True),
        Binding("down", "move(1)", "down", show=False, priority=True),
        Binding("pageup", "move(-8)", "up", show=False, priority=True),
        Binding("pagedown", "move(8)", "down", show=False, priority=True),
    ]

    def __init__(
        self, title: str, rows: Sequence[tuple[str, T]], placeholder: str, marked: int = 0
    ) -> None:
        super().__init__()
        self._title = title
        self._rows = list(rows)
        self._placeholder = placeholder
        self._marked = marked

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(self._title, id="title", markup=False)
            yield Input(placeholder=self._placeholder, id="line")
            yield OptionList(*(Option(Content(safe_text(words))) for words, _ in self._rows))
            yield Static("enter take   ↑ ↓ choose   esc back", id="keys", markup=False)

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.can_focus = False
        if self._rows:
            options.highlighted = min(max(self._marked, 0), len(self._rows) - 1)
        self.query_one(Input).focus()

    def action_move(self, rows: int) -> None:
        options = self.query_one(OptionList)
        if self._rows:
            now = options.highlighted or 0
            options.highlighted = min(max(now + rows, 0), len(self._rows) - 1)

    @on(Input.Submitted)
    def take(self, event: Input.Submitted) -> None:
        """Enter: the line if anything stands there, else the choice."""
        words = event.value.strip()
        if words:
            self.dismiss(self.typed(words))
            return
        index = self.query_one(OptionList).highlighted
        self.dismiss(None if index is None else self._rows[index][1])

    @on(OptionList.OptionSelected)
    def take_row(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        self.dismiss(self._rows[event.option_index][1])

    def typed(self, words: str) -> T | None:
        """What the typed line stands for."""
        raise NotImplementedError

"""ChatInput: several lines to write in, with a history; and the list of what may complete it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mlx_specdec.safe_text import safe_text

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static, TextArea

__all__ = ["ChatInput", "CompletionList"]

_MOST_SHOWN = 9


class CompletionList(Static):
    """What the line may become; one is marked, tab takes it."""

    DEFAULT_CSS = """
    CompletionList { height: auto; width: 1fr; padding: 0 1 0 3; background: $panel; }
    """

    def __init__(self) -> None:
        super().__init__("", id="completions", markup=False)
        self.display = False
        self._choices: tuple[tuple[str, str], ...] = ()
        self._marked = 0

    @property
    def is_open(self) -> bool:
        return bool(self._choices)

    @property
    def marked(self) -> str:
        """The line that tab makes."""
        return self._choices[self._marked][0]

    def offer(self, choices: Sequence[tuple[str, str]]) -> None:
        """Show what the line may become; nothing hides the list."""
        if tuple(choices) != self._choices:
            self._choices, self._marked = tuple(choices), 0
            self._draw()

    def move(self, by: int) -> None:
        """Mark another one; after the last comes the first."""
        self._marked = (self._marked + by) % len(self._choices)
        self._draw()

    def _draw(self) -> None:
        self.display = self.is_open
        width = max((len(line) for line, _ in self._choices), default=0)
        first = max(0, self._marked - _MOST_SHOWN + 1)
        rows = []
        for place in range(first, min(first + _MOST_SHOWN, len(self._choices))):
            line, words = self._choices[place]
            style = "bold reverse" if place == self._marked else "bold"
            rows.append(Content.assemble((line, style), " " * (width - len(line) + 3), words))
        self.update(Content("\n").join(rows))


class ChatInput(TextArea):
    """Enter sends, ctrl+j or a backslash before enter begins a new line.

    Up on an empty field asks for the last message to edit; on the first row of a text it goes
    back through what was sent, down on the last row forward again.
    """

    DEFAULT_CSS = """
    ChatInput {
        height: auto; max-height: 8; width: 1fr; padding: 0; border: none;
        background: transparent;
    }
    ChatInput:focus { border: none; }
    ChatInput .text-area--cursor-line { background: transparent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j", "new_line", "new line", show=False),
        Binding("ctrl+d", "end_or_delete", "quit", show=False),
        Binding("pageup", "screen.page(-1)", "scroll up", show=False),
        Binding("pagedown", "screen.page(1)", "scroll down", show=False),
        Binding("ctrl+z", "app.suspend_process", "suspend", show=False),
    ]

    @dataclass
    class Sent(Message):
        """A line, or several, for the model or a command."""

        text: str

    class EditLast(Message):
        """The last message should come back to be written anew."""

    class Ended(Message):
        """Ctrl-D on an empty field."""

    def __init__(self, completions: CompletionList) -> None:
        super().__init__(
            id="input",
            soft_wrap=True,
            compact=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            placeholder="Write a message; / shows the commands",
        )
        self._completions = completions
        self.cursor_blink = False  # only what has changed moves
        self.sent: list[str] = []
        self._place = 0
        self._draft = ""

    def remember(self, text: str) -> None:
        """Add to the history."""
        if not self.sent or self.sent[-1] != text:
            self.sent.append(text)
        self._place, self._draft = len(self.sent), ""

    def put(self, text: str) -> None:
        """Replace what stands in the field, the cursor at its end."""
        self.text = text
        self.move_cursor(self.document.end)

    def put_last(self, text: str = "") -> None:
        """The last message, to be written anew; without one, the end of the history."""
        if not text and not self.sent:
            return
        if not text or self.sent[-1:] == [text]:
            self._place = len(self.sent) - 1
        self.put(text or self.sent[-1])

    async def _on_key(self, event: events.Key) -> None:
        handler = {
            "enter": self._enter,
            "tab": self._tab,
            "up": self._up,
            "down": self._down,
        }.get(event.key)
        if handler is None or not handler():
            if event.key != "tab":
                await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        """What is pasted is text: a control code among it is shown, not obeyed."""
        event.stop()
        event.prevent_default()
        await super()._on_paste(events.Paste(safe_text(event.text)))

    def action_new_line(self) -> None:
        self.insert("\n")

    def action_end_or_delete(self) -> None:
        if self.text:
            self.action_delete_right()
        else:
            self.post_message(self.Ended())

    def _enter(self) -> bool:
        row, column = self.cursor_location
        if column and self.document[row][:column].endswith("\\"):
            self.replace("\n", (row, column - 1), (row, column))
            return True
        if self._completions.is_open and " " not in self.text:
            self.put(self._completions.marked)  # the name was half written
            if self.text.endswith(" "):
                return True
        if self.text.strip():
            self.post_message(self.Sent(self.text))
        return True

    def _tab(self) -> bool:
        if self._completions.is_open:
            self.put(self._completions.marked)
        return True

    def _up(self) -> bool:
        if self._completions.is_open:
            self._completions.move(-1)
        elif not self.text and self._place == len(self.sent):
            self.post_message(self.EditLast())
        elif self.cursor_location[0] == 0 and self._place > 0:
            self._recall(self._place - 1)
        else:
            return False
        return True

    def _down(self) -> bool:
        if self._completions.is_open:
            self._completions.move(1)
        elif self.cursor_location[0] == self.document.line_count - 1 and self._place < len(
            self.sent
        ):
            self._recall(self._place + 1)
        else:
            return False
        return True

    def _recall(self, place: int) -> None:
        if self._place == len(self.sent):
            self._draft = self.text
        self._place = place
        self.put(self.sent[place] if place < len(self.sent) else self._draft)

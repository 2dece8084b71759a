"""Small rows of the chat: the rule above the input, and what stands there before the first turn."""

from __future__ import annotations

from mlx_specdec.safe_text import safe_text
from tui.widgets.top_line import fitted

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

__all__ = ["Prompt", "RuleLine", "Welcome"]


class RuleLine(Widget):
    """A line across the screen with a few words at its right end."""

    DEFAULT_CSS = """
    RuleLine { height: 1; width: 1fr; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__(id="rule")
        self._words = ""

    def set_words(self, words: str) -> None:
        """Say something else from now on; empty for a plain line."""
        if words != self._words:
            self._words = words
            self.refresh()

    def render(self) -> Content:
        width = self.size.width
        words = fitted(safe_text(self._words), max(width - 8, 0))
        if not words:
            return Content("─" * width)
        return Content(f"{'─' * max(width - cell_len(words) - 4, 0)} {words} ──")


class Welcome(Static):
    """What stands in an empty chat."""

    DEFAULT_CSS = """
    Welcome { height: auto; width: 1fr; padding: 1 3; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__("", id="welcome", markup=False)

    def say(self, words: str) -> None:
        """Show these lines."""
        self.update(safe_text(words))


class Prompt(Static):
    """The sign before what the person writes."""

    DEFAULT_CSS = """
    Prompt { width: 3; height: 1; padding: 0 1; color: $text-accent; }
    """

    def __init__(self) -> None:
        super().__init__("›", markup=False)

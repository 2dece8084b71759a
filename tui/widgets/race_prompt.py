"""RacePrompt: the question, and beside it what must be known about the race that is shown."""

from __future__ import annotations

from mlx_specdec.prompts import PROMPTS, prompt_named
from mlx_specdec.race.recording import RecordingHeader
from mlx_specdec.safe_text import safe_text

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

__all__ = ["RacePrompt", "one_row"]


def one_row(text: str, width: int) -> str:
    """Text of several lines in one row of at most ``width`` cells, control codes made visible."""
    row = " ".join(safe_text(text).split())
    if cell_len(row) <= width:
        return row
    while row and cell_len(row) > width - 1:
        row = row[:-1]
    return f"{row}…" if width > 0 else ""


class RacePrompt(Widget):
    """`` › Why is the sky blue?            explain-2, 9 of 12``; a label stands out."""

    DEFAULT_CSS = """
    RacePrompt { text-wrap: nowrap; width: 1fr; height: 1; padding: 0 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._value = ("", "", "", "")

    def show(self, header: RecordingHeader, label: str = "", short_label: str = "") -> None:
        """Show the race's prompt, and the label in the place of the prompt's number.

        Args:
            short_label: for a row in which the label would leave no room for the prompt.
        """
        value = (header.prompt, label, short_label, _place(header.prompt_id))
        if value != self._value:
            self._value = value
            self.refresh()

    def render(self) -> Content:
        prompt, label, short_label, place = self._value
        width = self.size.width
        if cell_len(label) > width // 2:
            label = short_label
        right = label or place
        question = one_row(prompt, width - cell_len(right) - 5)
        blank = max(width - cell_len(question) - cell_len(right) - 2, 1)
        return Content.assemble(
            ("› ", "$foreground-muted"),
            question,
            " " * blank,
            (right, "bold $text-warning" if label else "$foreground-muted"),
        )


def _place(prompt_id: str) -> str:
    if not prompt_id:
        return "your own prompt"
    ids = [prompt.id for prompt in PROMPTS]
    if prompt_id in ids:
        return f"{prompt_id}, {ids.index(prompt_id) + 1} of {len(ids)}"
    return prompt_id if prompt_named(prompt_id) is not None else ""

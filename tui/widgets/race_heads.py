"""RaceHeads: the names of both lanes over their texts, and what the colour there means."""

from __future__ import annotations

from mlx_specdec.race.moment import RaceMoment
from mlx_specdec.race.words import draft_word, target_word
from mlx_specdec.request import COPY

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

__all__ = ["RaceHeads"]

_ROOMY = 50  # cells of a pane, from which a whole phrase fits


class RaceHeads(Horizontal):
    """One row; each name stands over its pane."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._drawn: tuple[object, ...] | None = None

    def compose(self) -> ComposeResult:
        yield Static("", id="head-standard", markup=False)
        yield Static("", id="head-speculative", markup=False)

    def show(self, moment: RaceMoment) -> None:
        """Draw the names, unless they stand there already."""
        width = self.query_one("#head-standard").size.width
        value = (width, moment.is_parked, moment.header)
        if value == self._drawn:
            return
        self._drawn = value
        for name, words in (("standard", ""), ("speculative", self._legend(moment, width))):
            head = name.upper()
            line = "─" * max(width - cell_len(head) - cell_len(words) - (3 if words else 2), 1)
            text = Content.assemble(
                (head, "bold"),
                " ",
                (line, "$foreground-disabled"),
                " " if words else "",
                (words, "$text-success"),
            )
            self.query_one(f"#head-{name}", Static).update(text, layout=False)

    def _legend(self, moment: RaceMoment, width: int) -> str:
        """How the draft's words are told from the target's."""
        if moment.is_parked:
            return ""
        if self.app.no_color:
            long, short = (
                f"underlined = by {target_word(moment.header)} itself",
                "underlined = target",
            )
        elif moment.header.draft == COPY:
            long, short = "green = copied from the text", "green = copied"
        else:
            long, short = f"green = written by {draft_word(moment.header)}", "green = draft"
        return long if width >= _ROOMY else short

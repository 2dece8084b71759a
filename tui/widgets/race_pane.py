"""RacePane: one lane's text: who wrote each word, and the guess that is being checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from mlx_specdec.events import Emitted
from mlx_specdec.race.lane_track import LaneMoment
from tui.widgets.flowing_text import FlowingText, Line

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

__all__ = ["RacePane", "guess_pieces", "shared_top"]

DRAFTED = ("accepted", "copied")
CURSOR = "▌"
_VISIBLE_ROUND = 0.3  # seconds on the screen below which a guess would only flicker
_STRUCK_SHARE = 0.35  # of a round: so long the guesses just thrown away are still seen
_BEHIND = 3  # lines of the slower lane that stay in sight


def shared_top(num_lines: Sequence[int], height: int) -> int:
    """The first line that both panes show, so that equal words stand on equal rows.

    As far down as the lane ahead needs, unless the one behind would be lost from sight.
    """
    return max(0, min(max(num_lines) - height, min(num_lines) - _BEHIND))


def guess_pieces(lane: LaneMoment, rate: float) -> tuple[tuple[str, str], ...]:
    """What stands after the cursor: guesses just thrown away, then those being checked."""
    under_way = lane.under_way
    if under_way is None or lane.is_finished:
        return ()
    length = under_way.at - lane.under_way_since
    if length / rate < _VISIBLE_ROUND:
        return ()
    last = lane.rounds[-1] if lane.rounds else None
    if last is not None and lane.seconds - lane.under_way_since < _STRUCK_SHARE * length:
        missed = last.proposed[min(last.num_accepted, len(last.emitted)) :]
        if missed:
            return tuple((token.text, "struck") for token in missed)
    return tuple((token.text, "guess") for token in under_way.proposed)


class RacePane(Widget):
    """The text of one lane. What is behind never changes; new tokens are appended.

    ``show`` takes the lane's tokens and its guess, ``scroll_text`` the first line to show.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "race-pane--own",
        "race-pane--drafted",
        "race-pane--guess",
        "race-pane--struck",
        "race-pane--differs",
        "race-pane--cursor",
    }
    DEFAULT_CSS = """
    RacePane { width: 1fr; height: 1fr; }
    RacePane .race-pane--own { color: $foreground; }
    RacePane .race-pane--drafted { color: $text-success; }
    RacePane .race-pane--guess { color: $text-muted; text-style: italic; }
    RacePane .race-pane--struck { color: $text-muted; text-style: strike; }
    RacePane .race-pane--differs { text-style: reverse; }
    RacePane .race-pane--cursor { color: $foreground; }
    RacePane.-marks-own .race-pane--own { text-style: underline; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._tokens: tuple[Emitted, ...] = ()
        self._guess: tuple[tuple[str, str], ...] = ()
        self._trailing = ""
        self._differs: int | None = None
        self._is_writing = True
        self._flow = FlowingText(2)
        self._shown = 0
        self._top = 0
        self._ending_at, self._ending = 0, [Line()]
        self._styles: dict[str, Style] = {}

    # ------------------------------------------------------------------ what it shows

    def show(
        self,
        tokens: tuple[Emitted, ...],
        guess: tuple[tuple[str, str], ...] = (),
        *,
        is_writing: bool = True,
        differs_at: int | None = None,
        trailing: str = "",
    ) -> None:
        """Show these tokens.

        Args:
            tokens: of the lane so far.
            guess: text with its mark (``guess`` or ``struck``) after the cursor.
            is_writing: the cursor stands at the end.
            differs_at: the token to point out.
            trailing: text after the last token, once the answer has ended.
        """
        wanted = (guess, is_writing, differs_at, trailing)
        if wanted == (self._guess, self._is_writing, self._differs, self._trailing) and (
            tokens is self._tokens or tokens == self._tokens
        ):
            return
        before, self._tokens = self._tokens, tokens
        is_longer = len(tokens) >= self._shown and tokens[: self._shown] == before[: self._shown]
        is_new = not is_longer or differs_at != self._differs or bool(self._trailing)
        first = 0 if is_new else self._ending_at
        if is_new:
            self._restart()
        self._guess, self._is_writing, self._differs, self._trailing = wanted
        self._lay_out()
        self._refresh_from(first)

    @property
    def num_lines(self) -> int:
        """Lines of what is written, the guess not counted."""
        return self._flow.num_lines

    def scroll_text(self, top: int) -> None:
        """Show the text from line ``top`` on."""
        if top != self._top:
            self._top = top
            self.refresh()

    # ------------------------------------------------------------------ drawing

    def _refresh_from(self, line: int) -> None:
        """Draw this line and those below it: what is above has not changed."""
        row = max(line - self._top, 0)
        if row < self.size.height:
            self.refresh(Region(0, row, self.size.width, self.size.height - row))

    def _restart(self) -> None:
        self._flow = FlowingText(self._flow.width)
        self._shown = 0

    def _lay_out(self) -> None:
        for index in range(self._shown, len(self._tokens)):
            token = self._tokens[index]
            mark = "drafted" if token.kind in DRAFTED else "own"
            self._flow.append(token.text, "differs" if index == self._differs else mark)
        self._shown = len(self._tokens)
        if self._trailing:
            self._flow.append(self._trailing, "own")
        after = [(CURSOR, "cursor")] if self._is_writing else []
        self._ending_at, self._ending = self._flow.ending([*after, *self._guess])

    def on_resize(self) -> None:
        if self.size.width != self._flow.width and self.size.width > 1:
            self._flow = FlowingText(self.size.width)
            self._shown = 0
            self._lay_out()
            self.refresh()

    def notify_style_update(self) -> None:
        self._styles.clear()
        super().notify_style_update()

    def _style(self, mark: str) -> Style:
        style = self._styles.get(mark)
        if style is None:
            named = f"race-pane--{mark}"
            style = self.get_component_rich_style(named) if mark else self.rich_style
            self._styles[mark] = style
        return style

    def _line(self, number: int) -> Line:
        if number < self._ending_at:
            return self._flow.line(number)
        number -= self._ending_at
        return self._ending[number] if number < len(self._ending) else []

    def render_line(self, y: int) -> Strip:
        segments = [Segment(text, self._style(mark)) for text, mark in self._line(self._top + y)]
        return Strip(segments).adjust_cell_length(self.size.width, self._style(""))

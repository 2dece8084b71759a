"""RacePanes: both lanes' texts side by side, equal words on equal rows."""

from __future__ import annotations

from mlx_specdec.race.moment import RaceMoment
from tui.widgets.race_pane import RacePane, guess_pieces, shared_top

from textual.app import ComposeResult
from textual.containers import Horizontal

__all__ = ["RacePanes"]


class RacePanes(Horizontal):
    """Both scroll together; they follow the text until somebody moves them."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._top: int | None = None  # None follows the text

    def compose(self) -> ComposeResult:
        yield RacePane(id="standard")
        yield RacePane(id="speculative")

    def on_mount(self) -> None:
        for pane in self._panes:
            pane.set_class(self.app.no_color, "-marks-own")

    @property
    def _panes(self) -> list[RacePane]:
        return list(self.query(RacePane))

    def show(self, moment: RaceMoment, rate: float) -> None:
        """Draw both texts; ``rate`` is the race clock's, which guesses under way depend on."""
        found = moment.equality.difference
        panes = self._panes
        for pane, lane in zip(panes, moment.lanes, strict=True):
            pane.show(
                lane.emitted,
                guess_pieces(lane, rate),
                is_writing=not lane.is_finished,
                differs_at=found.index if found is not None else None,
                trailing=lane.text[sum(len(token.text) for token in lane.emitted) :],
            )
        top = self._following if self._top is None else self._top
        for pane in panes:
            pane.scroll_text(top)

    @property
    def _following(self) -> int:
        """The first row that is shown while the text is followed."""
        panes = self._panes
        return shared_top([pane.num_lines for pane in panes], panes[0].size.height)

    def follow(self) -> None:
        """Follow what is written, from the next time it is drawn."""
        self._top = None

    def move(self, lines: int) -> None:
        """Stand so many rows further down, from the next time it is drawn."""
        panes = self._panes
        most = max(max(pane.num_lines for pane in panes) - panes[0].size.height, 0)
        now = self._following if self._top is None else self._top
        self._top = min(max(now + lines, 0), most)

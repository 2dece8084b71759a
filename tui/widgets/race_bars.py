"""RaceBars: how far each lane is, one under the other."""

from __future__ import annotations

from mlx_specdec.race.lane_track import LaneMoment
from mlx_specdec.race.moment import RaceMoment

from textual.content import Content
from textual.widget import Widget

__all__ = ["RaceBars", "bar"]

WIDE = 100


def bar(share: float, width: int) -> tuple[str, str]:
    """The part that is done and the rest, ``width`` cells together."""
    share = min(max(share, 0.0), 1.0)
    halves = round(share * width * 2)
    full, half = divmod(halves, 2)
    done = "━" * full + ("╸" if half else "")
    return done, "─" * (width - len(done))


class RaceBars(Widget):
    """Two rows: progress, tokens of how many, the lane's seconds; a flag for who is in."""

    DEFAULT_CSS = """
    RaceBars { text-wrap: nowrap; width: 1fr; height: 2; padding: 0 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._moment: RaceMoment | None = None
        self._totals = (0, 0)

    def show(self, moment: RaceMoment, totals: tuple[int, int]) -> None:
        """Draw the bars.

        Args:
            totals: tokens that each lane will have, as far as it is known; 0 where not.
        """
        self._moment, self._totals = moment, totals
        self.refresh()

    def render(self) -> Content:
        if self._moment is None:
            return Content("")
        names = ("standard", "speculative")
        return Content("\n").join(
            self._row(*row) for row in zip(names, self._moment.lanes, self._totals, strict=True)
        )

    def _row(self, name: str, lane: LaneMoment, total: int) -> Content:
        is_wide = self.size.width >= WIDE
        assert self._moment is not None
        if lane.is_finished:
            words = f"⚑ {lane.num_tokens} in"
        else:
            words = f"{lane.num_tokens} of {total}" if total else f"{lane.num_tokens} tokens"
        at = lane.finished_at if lane.finished_at is not None else self._moment.seconds
        right = f"{words:<14}{at:6.2f} s" if is_wide else f"{words:>13}"
        label = f"{name:<13}" if is_wide else f"{name:<12}"
        width = max(self.size.width - len(label) - len(right) - 1, 4)
        done, rest = bar(lane.num_tokens / total if total else 0.0, width)
        accent = "$text-success" if name == "speculative" else ""
        return Content.assemble(label, (done, accent), (rest, "$foreground-disabled"), " ", right)

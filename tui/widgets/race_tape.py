"""The tape: both lanes' passes on one time axis, a block each, above it the tokens it bought."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from mlx_specdec.events import Round
from mlx_specdec.race.moment import RaceMoment
from mlx_specdec.race.words import draft_word, target_word
from mlx_specdec.request import COPY

from textual.content import Content
from textual.widget import Widget

__all__ = ["RaceTape", "seconds_per_column", "tape_rows"]

_COLUMNS_A_PASS = 4
_NAMES = 14


def seconds_per_column(rounds: Sequence[Round]) -> float | None:
    """Seconds that a column stands for: a usual pass of the plain lane takes four; None early."""
    gaps = [b.at - a.at for a, b in pairwise(rounds[:64])]
    usual = median(gaps) if gaps else 0.0
    return usual / _COLUMNS_A_PASS if usual > 0 else None


def tape_rows(
    rounds: Sequence[Round], end: float, width: int, scale: float, block: str = "▄"
) -> tuple[str, str]:
    """The figures' row and the blocks' row for the ``width`` columns before second ``end``.

    Args:
        rounds: those that are over.
        scale: seconds a column.
        block: what a pass is drawn with.
    """
    last = round(end / scale)
    first = max(0, last - width)
    figures, blocks = [" "] * width, [" "] * width
    for event, before in pairwise(reversed(rounds)):
        start, stop = round(before.at / scale) - first, round(event.at / scale) - first
        if stop <= 0:
            break
        for column in range(max(start, 0), min(stop - 1, width)):
            is_draft = bool(event.proposed) and column == start
            blocks[column] = "·" if is_draft else block
        tokens = str(len(event.emitted))
        middle = (start + max(stop - 1, start) - len(tokens) + 1) // 2
        for offset, digit in enumerate(tokens):
            if 0 <= middle + offset < width:
                figures[middle + offset] = digit
    return "".join(figures), "".join(blocks)


class RaceTape(Widget):
    """Five rows where there is room (``is_tall``), else two without blocks."""

    DEFAULT_CSS = """
    RaceTape { text-wrap: nowrap; width: 1fr; height: 2; padding: 0 1; }
    RaceTape.-tall { height: 5; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._moment: RaceMoment | None = None
        self._scale: float | None = None

    def show(self, moment: RaceMoment) -> None:
        """Draw the tape up to this moment."""
        self._moment = moment
        self._scale = seconds_per_column(moment.standard.rounds) or self._scale
        self.refresh()

    def restart(self) -> None:
        """Forget the last race's scale."""
        self._moment, self._scale = None, None

    def render(self) -> Content:
        moment = self._moment
        if moment is None:
            return Content("")
        is_tall = self.size.height >= 5
        counts = [f"{lane.num_tokens} tokens" for lane in moment.lanes]
        room = self.size.width - _NAMES - (max(map(len, counts)) + 1 if is_tall else 0)
        rows: list[Content] = []
        if is_tall:
            rows.append(Content.styled(_legend(moment, self.size.width), "$foreground-muted"))
        for name, lane, count in zip(
            ("standard", "speculative"), moment.lanes, counts, strict=True
        ):
            figures, blocks = " " * room, " " * room
            if self._scale is not None and room > 0:
                figures, blocks = tape_rows(lane.rounds, moment.seconds, room, self._scale)
            accent = "$text-success" if name == "speculative" else ""
            if is_tall:
                rows.append(Content(" " * _NAMES + figures))
                rows.append(Content.assemble(f"{name:<{_NAMES}}", (blocks, accent), f" {count}"))
            else:
                rows.append(
                    Content.assemble(f"{name:<{_NAMES}}", (_merged(figures, blocks), accent))
                )
        return Content("\n").join(rows)


def _merged(figures: str, blocks: str) -> str:
    """Figures, and the dots that show where drafting began, in one row."""
    return "".join(
        figure if figure != " " else "·" if block == "·" else " "
        for figure, block in zip(figures, blocks, strict=True)
    )


def _legend(moment: RaceMoment, width: int) -> str:
    header = moment.header
    target, draft = target_word(header), draft_word(header)
    long = (
        f"one clock for both: a block is one pass over {target}, its figure the tokens it bought, "
        f"a dot {draft if header.draft == COPY else f'{draft} drafting'}"
    )
    short = f"a block is a pass over {target}, its figure the tokens it bought"
    return long if len(long) <= width else short

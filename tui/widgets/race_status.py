"""RaceStatus: acceptance, lookahead, equality, and the race clock with its rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from mlx_specdec.race.moment import RaceMoment
from tui.widgets.race_prompt import one_row
from tui.widgets.race_words import (
    acceptance_words,
    clock_words,
    equality_words,
    first_token_words,
    lookahead_words,
    positions_words,
    speed_words,
)

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

if TYPE_CHECKING:
    from mlx_specdec.forecast.prediction import Score

__all__ = ["RaceStatus"]

_LONG_ORDER = (0, 3, 2, 1, 4)


class Shown(Protocol):
    """What the status needs of whoever directs the race."""

    @property
    def rate(self) -> float: ...
    @property
    def is_paused(self) -> bool: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def is_photo(self) -> bool: ...
    @property
    def score(self) -> Score | None: ...
    def why_this_speed(self) -> str: ...


class RaceStatus(Widget):
    """Two rows where there is room, else one: the most telling parts that fit."""

    DEFAULT_CSS = """
    RaceStatus { text-wrap: nowrap; width: 1fr; height: 1; padding: 0 1; }
    RaceStatus.-tall { height: 2; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._rows: tuple[Content, ...] = ()
        self._value: tuple[RaceMoment, Shown, str] | None = None

    def show(self, moment: RaceMoment, shown: Shown, opening: str) -> None:
        """Draw it; ``opening`` says how far models are that are on their way."""
        self._value = (moment, shown, opening)
        self.refresh()

    def render(self) -> Content:
        if self._value is None:
            return Content("")
        moment, shown, opening = self._value
        width = self.size.width
        if self.size.height < 2:
            if opening:
                return Content.styled(one_row(opening, width), "bold")
            parts = _short(moment, shown)
            return _equality_marked(_fitting(parts, width, range(len(parts))), moment)
        figures = _fitting(_long(moment), width, _LONG_ORDER)
        why = "" if shown.is_over or shown.is_paused else shown.why_this_speed()
        clock = clock_words(moment.seconds, shown.rate, shown.is_paused, why)
        if shown.score is not None:
            clock = f"{_score_words(shown.score)}, said before the race"
        if shown.is_photo:
            clock = f"⚑ photo finish at {moment.seconds:.2f} s"
        hint = opening or _hint(shown)
        blank = max(width - cell_len(clock) - cell_len(hint), 3)
        style = "bold" if opening else "$foreground-muted"
        if cell_len(clock) + cell_len(hint) + 3 > width:
            clock, blank = "", 0
        second = Content.assemble(clock, " " * blank, (hint, style))
        return Content("\n").join([_equality_marked(figures, moment), second])


def _score_words(score: Score) -> str:
    from mlx_specdec.forecast.prediction import short_score  # no race has a score at first

    return short_score(score)


def _hint(shown: Shown) -> str:
    if shown.is_over:
        return "R  watch it again at true speed     ← →  pass by pass"
    if shown.is_paused:
        return "space  go on     ← →  pass by pass     s  what happened in it"
    return ""


def _long(moment: RaceMoment) -> list[str]:
    return [
        acceptance_words(moment, True),
        positions_words(moment),
        lookahead_words(moment),
        equality_words(moment, False),
        first_token_words(moment),
    ]


def _short(moment: RaceMoment, shown: Shown) -> list[str]:
    if shown.is_paused:
        clock = f"⏸ {moment.seconds:.2f} s"
    elif shown.is_photo:
        clock = f"⚑ {moment.seconds:.2f} s, photo finish"
    elif shown.is_over:
        clock = "R true speed"
    else:
        clock = f"{moment.seconds:.2f} s at {speed_words(shown.rate)}"
    if moment.equality.difference is not None:
        return [equality_words(moment, False), acceptance_words(moment, False), clock]
    return [
        acceptance_words(moment, False),
        equality_words(moment, True),
        *([_score_words(shown.score)] if shown.score is not None else []),
        clock,
        lookahead_words(moment),
    ]


def _fitting(parts: Sequence[str], width: int, order: Sequence[int]) -> str:
    """As many parts as fit, three cells apart; those first in ``order`` are the most telling."""
    kept: list[int] = []
    for index in order:
        chosen = [parts[i] for i in sorted([*kept, index]) if parts[i]]
        if cell_len("   ".join(chosen)) <= width:
            kept.append(index)
    return "   ".join(parts[i] for i in sorted(kept) if parts[i])


def _equality_marked(row: str, moment: RaceMoment) -> Content:
    content = Content(row)
    sign = "≠" if moment.equality.difference is not None else "✓"
    place = row.find(sign)
    if place < 0:
        return content
    return content.stylize("$text-warning" if sign == "≠" else "$text-success", place, place + 1)

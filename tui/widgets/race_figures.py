"""RaceFigures: both rates and the speedup between them, three rows high."""

from __future__ import annotations

from mlx_specdec.figures import rate
from mlx_specdec.race.lane_track import LaneMoment
from mlx_specdec.race.moment import RaceMoment
from mlx_specdec.race.words import target_word
from tui.widgets.big_figures import big_rows

from textual.content import Content
from textual.widget import Widget

__all__ = ["RaceFigures"]

WIDE = 100
_BIG = 10  # cells of a rate: 99.9
_GAP = 3  # between a rate and its labels
_MEANINGFUL = 4  # tokens; a rate of fewer jumps about


class RaceFigures(Widget):
    """Rates and speedup, with the last race's speedup below it (``was``)."""

    DEFAULT_CSS = """
    RaceFigures { text-wrap: nowrap; width: 1fr; height: 4; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._moment: RaceMoment | None = None
        self._was = self._pending = ""

    def show(self, moment: RaceMoment, was: str = "", pending: str = "") -> None:
        """Draw these figures; ``was`` is the result before this one, in words, and ``pending``
        what the next race will have otherwise."""
        self._moment, self._was, self._pending = moment, was, pending
        self.refresh()

    def render(self) -> Content:
        moment = self._moment
        if moment is None:
            return Content("")
        width = self.size.width
        is_wide = width >= WIDE
        middle, right = (53, 72) if is_wide else (round(width * 0.4), round(width * 0.655))
        left = big_rows(_rate(moment.standard), _BIG)
        speed = moment.speedup
        times = big_rows("" if speed is None else f"{speed:.2f}×", 12)
        fast = big_rows(_rate(moment.speculative), _BIG)
        labels = _labels(moment, is_wide, width - right - _BIG - _GAP)
        rows = []
        for row in range(3):
            one, other = labels[0][row], labels[1][row]
            gap = middle - 1 - _BIG - _GAP - len(one)
            between = right - middle - 12
            rows.append(
                Content.assemble(
                    " ",
                    (left[row], "bold"),
                    " " * _GAP,
                    (one, "bold" if row == 0 else "$foreground-muted"),
                    " " * max(gap, 1),
                    (times[row], _speed_style(speed)),
                    " " * max(between, 1),
                    (fast[row], "bold"),
                    " " * _GAP,
                    (other, "bold" if row == 0 else "$foreground-muted"),
                )
            )
        rows.append(self._below(middle))
        return Content("\n").join(rows)

    def _below(self, middle: int) -> Content:
        """The row below: what changes with the next race, and the last result under this one."""
        pending, was = self._pending, self._was
        blank = max(middle + 2 - 1 - len(pending), 1 if pending else 0)
        return Content.assemble(" ", (pending, "bold"), " " * blank, (was, "$foreground-muted"))


def _speed_style(speed: float | None) -> str:
    """Green where drafting gains, amber where it loses, plain in between."""
    if speed is None or 0.97 <= speed <= 1.03:
        return "bold"
    return "bold $text-success" if speed > 1 else "bold $text-warning"


def _rate(lane: LaneMoment) -> str:
    if lane.num_tokens < _MEANINGFUL or lane.tokens_per_second is None:
        return ""
    return rate(lane.tokens_per_second)


def _labels(moment: RaceMoment, is_wide: bool, room: int) -> tuple[tuple[str, str, str], ...]:
    """Beside either rate; ``room`` is what the right one has, in cells."""
    unit = "tokens a second" if is_wide else "tok/s"
    many = moment.speculative.tokens_per_pass
    one, bought = _per_pass(moment, many, room if is_wide else 0)
    if moment.is_parked:
        bought = "parked" if moment.header.lookahead != "0" else "drafting is off"
    return ("STANDARD", unit, one), ("SPECULATIVE", unit, bought)


def _per_pass(moment: RaceMoment, many: float | None, room: int) -> tuple[str, str]:
    """What a pass buys in either lane, in the longest words of which the right ones fit."""
    for words in (f"per pass of {target_word(moment.header)}", "per pass"):
        if len(f"0.0 tokens {words}") <= room:
            one, several = f"1 token {words}", f"tokens {words}"
            break
    else:
        one, several = "1 per pass", "per pass"
    return one, "" if many is None else f"{many:.1f} {several}"

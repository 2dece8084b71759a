"""ProofBoard: bars that fall onto the target's law, or do not."""

from __future__ import annotations

from mlx_specdec.lesson.guess_table import WIDE
from mlx_specdec.lesson.overlap import OTHERS
from mlx_specdec.lesson.proof import ProofDraw, ProofStep, Way
from mlx_specdec.lesson.step_page import paragraph
from mlx_specdec.lesson.styled_lines import (
    Line,
    Span,
    clipped,
    cut,
    line,
    padded,
    quoted,
    told_apart,
)
from tui.lesson.proof_view import BREAKS, ProofView
from tui.widgets.styled_text import StyledText

__all__ = ["ProofBoard", "proof_lines"]

_BLANK: Line = ()
_ALLOWED = "Honest draws stay within the allowed distance in 999 of 1,000 tries."
_FIXED_ROWS = 14  # everything but the bars, at its least
_LABEL, _FIGURES = 11, 30


class ProofBoard(StyledText):
    """The lines of proof_lines at the widget's own size."""

    def set_view(self, view: ProofView) -> None:
        """Draw a moment of the proof."""
        self.show(proof_lines(view, self.size.width, self.size.height))


def proof_lines(view: ProofView, width: int, height: int) -> list[Line]:
    """The screen between the top line and the keys."""
    intro = paragraph(_intro(view), width)
    rows = max(min(height - _FIXED_ROWS - len(intro), 16), 3)
    lines = [
        *intro,
        _BLANK,
        *_bars(view, width, rows),
        _BLANK,
        *_distance(view, width),
        _BLANK,
        line(" ", Span("Break it on purpose:", "head")),
        *_breaks(view, width),
        _BLANK,
        *paragraph(view.audit, width),
        *paragraph(view.note or _ALLOWED, width, "dim"),
    ]
    return [clipped(each, width) for each in lines[:height]]


def _intro(view: ProofView) -> str:
    shown = view.shown
    where = f"The next word after {quoted(view.law.prefix)}"
    drawn = "drawn with drafting, against the target's own odds, which are computed exactly."
    if view.way != "exact" and shown is not None:
        words = next(words for _, way, words in BREAKS if way == view.way)
        return f"{where}, drawn with a broken rule: {words}."
    return f"{where}, {drawn}"


def _bars(view: ProofView, width: int, rows: int) -> list[Line]:
    """A row a word: drawn as a bar with the target's place marked, and all three figures."""
    law, shown = view.law, view.shown
    target, draft = law.grouped(law.target), law.grouped(law.draft)
    shares = [0.0] * len(target) if shown is None else list(shown.shares)
    listed = list(range(len(target) - 1))[:rows]
    hidden = range(len(listed), len(target))
    table = [(law.names[i], shares[i], float(target[i]), float(draft[i])) for i in listed]
    rest = [sum(float(each[i]) for i in hidden) for each in (shares, target, draft)]
    if max(rest) > 5e-4:
        table.append((OTHERS, rest[0], rest[1], rest[2]))
    room = width - _LABEL - _FIGURES - 2
    unit = (room - 1) / max(max(row[1], row[2]) for row in table)
    heads = "".join(f"{head:>9}" for head in ("drawn", "target", "draft"))
    lines = [line(" ", padded("", _LABEL), padded("drawn", room), heads)]
    names = told_apart([row[0] for row in table])
    for name, (_, share, wanted, guessed) in zip(names, table, strict=True):
        figures = "".join(f"{_three(value):>9}" for value in (share, wanted, guessed))
        label = padded(cut(name, _LABEL - 1), _LABEL)
        lines.append(line(" ", label, *_bar(share, wanted, unit, room), figures))
    return lines


def _three(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _bar(share: float, wanted: float, unit: float, room: int) -> list[Span]:
    """What was drawn as a bar, and a stroke where the target's odds are."""
    length, mark = round(share * unit), min(round(wanted * unit), room - 1)
    cells = ["█" if place < length else " " for place in range(room)]
    cells[mark] = "│" if mark >= length else "▏"
    before, after = "".join(cells[:mark]), "".join(cells[mark + 1 :])
    return [Span(before, "draft"), Span(cells[mark], "head"), Span(after, "miss")]


def _distance(view: ProofView, width: int) -> list[Line]:
    draw, shown = view.draw, view.shown
    if draw is None or shown is None:
        return [line(" Press enter to draw.")]
    index = draw.steps.index(shown)
    seen = draw.steps[: index + 1]
    numbers = "  ".join(_short(step.distance) for step in (seen if width >= WIDE else seen[-4:]))
    room = 55 if width >= WIDE else 36
    allowed = f"allowed {_short(draw.allowed)}   "
    verdict = _verdict(view, draw, shown)
    return [line(" ", padded(f"distance   {numbers}", room), allowed, verdict)]


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _verdict(view: ProofView, draw: ProofDraw, shown: ProofStep) -> Span:
    if not view.is_whole:
        return Span(f"{shown.num_draws:,} draws so far", "dim")
    if draw.is_same_law:
        same = "✓ the same law" if draw.way == "exact" else "not seen at this place"
        return Span(same, "draft")
    return Span("✗ another law", "miss")


def _breaks(view: ProofView, width: int) -> list[Line]:
    lines = []
    for key, way, words in BREAKS:
        result = view.rewind if way is None else _result(view, way)
        style = "miss" if result.startswith("✗") else "dim"
        lines.append(line("   ", Span(key, "head"), "  ", padded(words, 53), Span(result, style)))
    return lines


def _result(view: ProofView, way: Way) -> str:
    draw = view.draws.get(way)
    if draw is None or (way == view.way and not view.is_whole):
        return "not tried yet" if draw is None else "drawing"
    distance = _short(draw.distance)
    return f"not seen: {distance}" if draw.is_same_law else f"✗ caught: {distance}"

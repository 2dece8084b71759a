"""The card of a race: an SVG of 800 x 420 with both bars, both rates, both texts, the verdict.

It is readable where no web font is loaded (system monospace, explicit text lengths) and on a
light or a dark page (its own background). What was drafted and kept is told apart by colour and,
for eyes and printers without, by what the target wrote itself being underlined.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..costs.prices import Prices
from ..lesson.styled_lines import cell_length
from ..race.recording import Recording
from .face import DRAFTED, CardFace, LaneFace, card_face
from .svg import CELL_SHARE, document, element, number, rectangle, text
from .text_lines import Run, shortened

__all__ = ["HEIGHT", "WIDTH", "card_svg"]

WIDTH, HEIGHT = 800, 420
BACK, PANEL, TRACK = "#11161d", "#171e27", "#2b3644"
INK, DIM, GREEN, AMBER = "#dbe4ee", "#93a1b3", "#4ade80", "#fbbf24"
_LEFT, _RIGHT = 28, 772
_TEXT_SIZE, _LINE_STEP, _TEXT_CELLS, _TEXT_LINES = 12.5, 19, 48, 6
_TEXT_TOP = 232
_COLUMNS = (_LEFT, 412)
_BAR_LEFT, _BAR_WIDTH = 128, 300


def card_svg(recording: Recording, prices: Prices | None = None, runs: int = 1) -> str:
    """The card as SVG text.

    Args:
        recording: a race that is over, or as far as it came.
        prices: where drafting was parked they are shown as the reason.
        runs: how many races the figures stand for.
    """
    face = card_face(recording, _TEXT_CELLS, _TEXT_LINES, runs)
    parts = [
        rectangle(0, 0, WIDTH, HEIGHT, rx=12, fill=BACK),
        *_head(face),
        *lane_bar(face.standard, 100, DIM),
        *lane_bar(face.speculative, 130, GREEN if face.is_good else AMBER),
        *_speedup(face),
        *_verdict(face),
        *(_reason(prices) if face.is_parked and prices is not None else _texts(face)),
        *_foot(face),
        *watermarks(face.tags),
    ]
    return document(WIDTH, HEIGHT, "\n".join(part for part in parts if part), _alt(face), fill=INK)


def _alt(face: CardFace) -> str:
    return f"{face.title}: {face.sentence} {'. '.join(face.tags)}".strip()


def _head(face: CardFace) -> list[str]:
    room = 78
    return [
        text(shortened(face.title, 60), _LEFT, 40, 16, font_weight="bold"),
        text("mlx-specdec", _RIGHT, 40, 13, text_anchor="end", fill=DIM),
        text(f"› {shortened(face.prompt, room)}" if face.prompt else "", _LEFT, 66, 13, fill=DIM),
    ]


def lane_bar(lane: LaneFace, y: float, colour: str) -> list[str]:
    """A lane's name, its bar at the photo finish, its rate and its tokens."""
    count = f"{lane.total_tokens} in" if lane.is_in else f"{lane.num_tokens} of {lane.total_tokens}"
    return [
        text(lane.name, _LEFT, y + 4, 13),
        rectangle(_BAR_LEFT, y - 6, _BAR_WIDTH, 12, rx=3, fill=TRACK),
        rectangle(_BAR_LEFT, y - 6, _BAR_WIDTH * lane.share, 12, rx=3, fill=colour),
        text(f"{lane.rate} tok/s", 446, y + 5, 15, font_weight="bold"),
        text(count, 640, y + 4, 12, text_anchor="end", fill=DIM),
    ]


def _speedup(face: CardFace) -> list[str]:
    colour = GREEN if face.is_good else AMBER
    figure = "–" if face.speedup is None else f"{face.speedup:.2f}"
    words = shortened(face.speedup_words, 20)
    return [
        text(figure, _RIGHT, 122, 44, text_anchor="end", fill=colour, font_weight="bold"),
        text(words, _RIGHT, 144, 12, text_anchor="end", fill=DIM),
    ]


def _verdict(face: CardFace) -> list[str]:
    photo = f"bars at {face.finish_seconds:.2f} s, when the first lane was in"
    return [
        text(photo, _BAR_LEFT, 156, 11, fill=DIM),
        sentence(face, 184),
    ]


def sentence(face: CardFace, y: float, **more: str | float) -> str:
    """The verdict in one line, a little smaller where it is long."""
    words = shortened(face.sentence, 103)
    size = min(14.0, (_RIGHT - _LEFT) / (cell_length(words) * CELL_SHARE))
    colour = INK if face.is_good else AMBER
    return text(words, _LEFT, y, size, fill=colour, font_weight="bold", **more)


def _texts(face: CardFace) -> list[str]:
    parts = [
        rectangle(_LEFT - 8, 196, WIDTH - 2 * _LEFT + 16, 146, rx=6, fill=PANEL),
        text("STANDARD", _COLUMNS[0], 213, 11, fill=DIM),
        text("SPECULATIVE", _COLUMNS[1], 213, 11, fill=DIM),
    ]
    if not face.is_parked:
        parts += legend(_RIGHT, 213)
    for lane, x, is_marked in (
        (face.standard, _COLUMNS[0], False),
        (face.speculative, _COLUMNS[1], not face.is_parked),
    ):
        parts += text_lines(lane.lines, x, _TEXT_TOP, is_marked)
        if lane.lines and lane.has_cursor:
            parts.append(_cursor(lane.lines, x))
    return parts


def legend(right: float, y: float) -> list[str]:
    """``green: drafted   underlined: own``, its right edge given."""
    size, own, drafted = 11, "underlined: target's own", "green: drafted, "
    cell = size * CELL_SHARE
    left = right - len(own) * cell
    return [
        text(drafted, left, y, size, text_anchor="end", fill=GREEN),
        text(own, left, y, size),
        rectangle(left, y + 3, len(own) * cell, 1, fill=DIM),
    ]


def text_lines(lines: Sequence[Sequence[Run]], x: float, y: float, is_marked: bool) -> list[str]:
    """Lines of runs; with ``is_marked`` the drafted ones green and the others underlined."""
    cell = _TEXT_SIZE * CELL_SHARE
    parts = []
    for row, line in enumerate(lines):
        top = y + row * _LINE_STEP
        for run in line:
            left = x + run.column * cell
            drafted = is_marked and run.mark == DRAFTED
            more = {"fill": GREEN} if drafted else {}
            parts.append(text(run.text, left, top, _TEXT_SIZE, run.cells, **more))
            if is_marked and not drafted:
                parts.append(_underline(run, left, top + 3))
    return parts


def _underline(run: Run, left: float, y: float) -> str:
    """A line under a run's words, not under the spaces at its ends."""
    cell = _TEXT_SIZE * CELL_SHARE
    before = len(run.text) - len(run.text.lstrip(" "))
    after = len(run.text) - len(run.text.rstrip(" "))
    cells = run.cells - before - after
    return rectangle(left + before * cell, y, cells * cell, 1, fill=DIM)


def _cursor(lines: Sequence[Sequence[Run]], x: float) -> str:
    row = len(lines) - 1
    column = sum(run.cells for run in lines[row])
    cell = _TEXT_SIZE * CELL_SHARE
    return rectangle(x + column * cell + 1, _TEXT_TOP + row * _LINE_STEP - 11, 6, 14, fill=DIM)


def _reason(prices: Prices) -> list[str]:
    """Why drafting is parked: what a pass over one row costs, and over more."""
    model = prices.model
    most = 3 if model.max_lookahead is None else min(model.max_lookahead, 3)
    costs = [(g + 1, model.verify_seconds(g)) for g in range(most + 1)]
    longest = max(seconds for _, seconds in costs)
    parts = [
        rectangle(_LEFT - 8, 196, WIDTH - 2 * _LEFT + 16, 146, rx=6, fill=PANEL),
        text("WHY: A PASS OF THE TARGET, BY ROWS", _LEFT, 213, 11, fill=DIM),
    ]
    for index, (rows, seconds) in enumerate(costs):
        y = 238 + index * 24
        words = f"{rows} token{'' if rows == 1 else 's'}"
        times = f"{seconds * 1000:.3g} ms   {seconds / costs[0][1]:.2f} times"
        parts += [
            text(words, _LEFT, y, 13),
            rectangle(_BAR_LEFT, y - 10, 380 * seconds / longest, 11, rx=2, fill=AMBER),
            text(times, 530, y, 13),
        ]
    parts.append(text(shortened(prices.words, 100), _LEFT, 334, 11, fill=DIM))
    return parts


def _foot(face: CardFace) -> list[str]:
    colour = GREEN if face.is_equal else AMBER
    equality = shortened(face.equality, 35)
    return [
        text(equality, _LEFT, 364, 13, fill=colour, font_weight="bold"),
        text(shortened(face.figures, 66), _RIGHT, 364, 11.5, text_anchor="end"),
        text(shortened(face.facts[0], 112), _LEFT, 387, 11, fill=DIM),
        text(shortened(face.facts[1], 112), _LEFT, 405, 11, fill=DIM),
    ]


def watermarks(tags: Sequence[str]) -> list[str]:
    """What must not be overlooked: a badge each, and the words faintly across the picture."""
    parts: list[str] = []
    right = float(_RIGHT)
    for tag in tags:
        width = len(tag) * 12 * CELL_SHARE + 16
        parts += [
            rectangle(right - width, 52, width, 20, rx=10, fill="none", stroke=AMBER),
            text(tag, right - width / 2, 66, 12, text_anchor="middle", fill=AMBER),
        ]
        right -= width + 8
    if tags:
        across = text(
            " · ".join(tags), 0, 0, _watermark_size(tags), text_anchor="middle", fill=AMBER
        )
        move = f"translate({number(WIDTH / 2)} 280) rotate(-12)"
        parts.append(element("g", across, transform=move, opacity=0.13))
    return parts


def _watermark_size(tags: Sequence[str]) -> float:
    """As large as the words may be to fit across."""
    return min(96.0, WIDTH * 0.8 / (len(" · ".join(tags)) * CELL_SHARE))

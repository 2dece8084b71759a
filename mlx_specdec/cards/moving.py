"""The moving card: an SVG of 800 x 420 that runs the race again at true speed, and once more.

Only CSS moves it: pages show it as a plain picture. Who asks their system for less motion sees the
finished race, as does a program that knows no CSS animation. The file stays below MAX_BYTES: of a
long race words come in coarser steps, then fewer lines of the text are shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..events import Event
from ..figures import rate as rate_words
from ..race.lane_track import LaneMoment, LaneTrack
from ..race.recording import Recording
from .card import AMBER, BACK, DIM, GREEN, HEIGHT, INK, PANEL, TRACK, WIDTH, legend, sentence
from .card import watermarks as card_watermarks
from .face import DRAFTED, CardFace, card_face, pieces_of
from .svg import CELL_SHARE, document, element, number, rectangle, text
from .text_lines import Piece, Run, shortened, wrapped_runs

__all__ = ["MAX_BYTES", "moving_card_svg"]

MAX_BYTES = 100_000
PAUSE_SECONDS = 4.0
_FIGURE_HZ, _MOST_FIGURES = 4.0, 50
_WORD_HZ, _LEAST_HZ, _MOST_STEPS = 60.0, 2.0, 400
_SIZE, _STEP, _CELLS, _ROWS, _MOST_LINES = 10.5, 14.0, 57, 13, 60
_LEFT, _RIGHT, _COLUMNS = 28, 772, (28, 412)
_PANEL_TOP, _PANEL_HEIGHT = 142, 208
_BAR_LEFT, _BAR_WIDTH = 128, 300


@dataclass(slots=True)
class _Reel:
    """Moments turned into keyframes, each written once however many elements share it."""

    period: float
    rate: float
    _names: dict[str, str] = field(default_factory=dict)

    def place(self, race_seconds: float) -> str:
        """A race second as a share of the loop."""
        return f"{min(race_seconds / self.rate / self.period, 1) * 100:.2f}%"

    def from_(self, since: float) -> str:
        """Class of what is seen from a race second on."""
        return self._name(f"0%{{opacity:0}}{self.place(since)}{{opacity:1}}")

    def between(self, since: float, until: float) -> str:
        """Class of what is seen for a while; without motion it is not seen."""
        start = self.place(since)
        first = "" if start == "0.00%" else "0%{opacity:0}"
        return self._name(f"{first}{start}{{opacity:1}}{self.place(until)}{{opacity:0}}")

    def through(self, stops: Sequence[tuple[float, str]]) -> str:
        """Class of what goes through transforms at race seconds."""
        steps = "".join(f"{self.place(at)}{{transform:{to}}}" for at, to in stops)
        return self._name(steps)

    def _name(self, frames: str) -> str:
        return self._names.setdefault(frames, f"k{len(self._names)}")

    def css(self) -> str:
        """Every keyframe and class."""
        return "".join(
            f"@keyframes {name}{{{frames}}}.{name}{{animation-name:{name}}}"
            for frames, name in self._names.items()
        )


def moving_card_svg(recording: Recording, rate: float = 1.0, runs: int = 1) -> str:
    """The moving card as SVG text.

    Args:
        recording: a race that is over, or as far as it came.
        rate: race seconds a second; 1 is true speed, anything else is written on the card.
        runs: how many races the figures stand for.
    """
    end = max(_end_of(recording.standard), _end_of(recording.speculative), 0.01)
    words_hz, lines = min(_WORD_HZ, _MOST_STEPS * rate / end), _MOST_LINES
    while True:
        made = _drawn(recording, rate, runs, words_hz, lines)
        excess = len(made.encode()) / MAX_BYTES
        if excess <= 1 or lines <= 1:
            return made
        if words_hz > _LEAST_HZ:
            words_hz = max(words_hz / (2 * excess), _LEAST_HZ)
        else:
            lines = int(lines / max(excess, 1.2))


def _end_of(events: Sequence[Event]) -> float:
    return events[-1].at if events else 0.0


def _drawn(recording: Recording, rate: float, runs: int, words_hz: float, lines: int) -> str:
    tracks = LaneTrack(recording.standard), LaneTrack(recording.speculative)
    end = max(max(track.clock for track in tracks), 0.01)
    reel = _Reel(end / rate + PAUSE_SECONDS, rate)
    face = card_face(recording, _CELLS, 1, runs)
    body = [
        rectangle(0, 0, WIDTH, HEIGHT, rx=12, fill=BACK),
        text(shortened(face.title, 60), _LEFT, 38, 16, font_weight="bold"),
        text(f"› {shortened(face.prompt, 78)}", _LEFT, 62, 13, fill=DIM),
        *_clock(reel, end, rate),
        *_bars(reel, face, tracks, end),
        *_panes(reel, face, tracks, (words_hz, lines), rate),
        *_verdict(reel, face, face.finish_seconds),
        *card_watermarks(face.tags),
    ]
    kept = "\n".join(part for part in body if part)
    return document(WIDTH, HEIGHT, kept, f"{face.title}: {face.sentence}", _style(reel), INK)


def _style(reel: _Reel) -> str:
    return (
        f".m{{animation:{number(reel.period)}s step-end infinite}}"
        f".s{{animation:{number(reel.period)}s linear infinite}}"
        f".c{{opacity:0}}.g{{fill:{GREEN}}}.o{{text-decoration:underline}}"
        f"{reel.css()}"
        "@media (prefers-reduced-motion:reduce){*{animation:none!important}}"
    )


def _moments(end: float, rate: float) -> list[float]:
    """When figures change: four times a second, less often in a long race."""
    step = max(rate / _FIGURE_HZ, end / _MOST_FIGURES)
    count = math.ceil(end / step)
    return [index * step for index in range(count)] + [end]


def _changing(
    reel: _Reel,
    moments: Sequence[float],
    words: Callable[[float], str],
    x: float,
    y: float,
    size: float,
    **more: str | float,
) -> list[str]:
    """A text that changes; equal neighbours are one element, and the last one stays."""
    seen: list[tuple[float, str]] = []
    for moment in moments:
        now = words(moment)
        if not seen or seen[-1][1] != now:
            seen.append((moment, now))
    parts = []
    for index, (since, shown) in enumerate(seen):
        if index + 1 < len(seen):
            name = f"c m {reel.between(since, seen[index + 1][0])}"
        else:
            name = f"m {reel.from_(since)}" if since else ""
        classes: dict[str, str | float] = {"class_": name} if name else {}
        parts.append(text(shown, x, y, size, **classes, **more))
    return parts


def _clock(reel: _Reel, end: float, rate: float) -> list[str]:
    speed = "true speed" if rate == 1 else f"shown at {rate:.3g} of true speed"
    decimals = 1 if end >= 2 else 2
    parts = _changing(
        reel,
        _moments(end, rate),
        lambda at: f"{at:.{decimals}f} s",
        _RIGHT,
        38,
        13,
        text_anchor="end",
    )
    return [*parts, text(f"mlx-specdec · {speed}", 700, 38, 12, text_anchor="end", fill=DIM)]


def _bars(
    reel: _Reel, face: CardFace, tracks: tuple[LaneTrack, LaneTrack], end: float
) -> list[str]:
    fast = GREEN if face.is_good else AMBER
    most = max(face.standard.total_tokens, face.speculative.total_tokens, 1)
    moments = _moments(end, reel.rate)
    parts = []
    lanes = zip((face.standard, face.speculative), tracks, (92, 122), (DIM, fast), strict=True)
    for lane, track, y, colour in lanes:
        shares = [
            (at, f"scaleX({number(track.at(at).num_tokens / most)})")
            for at in sorted({*moments, track.clock})
        ]
        whole = _BAR_WIDTH * lane.total_tokens / most
        bar = element(
            "rect",
            width=_BAR_WIDTH,
            height=12,
            fill=colour,
            transform=f"scale({number(whole / _BAR_WIDTH)} 1)",
            class_=f"s {reel.through(shares)}",
        )
        parts += [
            text(lane.name, _LEFT, y + 4, 13),
            rectangle(_BAR_LEFT, y - 6, _BAR_WIDTH, 12, fill=TRACK),
            element("g", bar, transform=f"translate({_BAR_LEFT} {y - 6})"),
            *_counter(reel, track, moments, y + 5),
        ]
    return parts


def _counter(reel: _Reel, track: LaneTrack, moments: Sequence[float], y: float) -> list[str]:
    def words(at: float) -> str:
        return _figures(track.at(at))

    return _changing(reel, sorted({*moments, track.clock}), words, 640, y, 14, text_anchor="end")


def _figures(moment: LaneMoment) -> str:
    speed = rate_words(moment.tokens_per_second) if moment.num_tokens >= 16 else ""
    return f"{moment.num_tokens:>4} {f'{speed} tok/s':>12}" if speed else f"{moment.num_tokens} tok"


def _panes(
    reel: _Reel,
    face: CardFace,
    tracks: tuple[LaneTrack, LaneTrack],
    grain: tuple[float, int],
    rate: float,
) -> list[str]:
    words_hz, most_lines = grain
    clip = rectangle(0, _PANEL_TOP + 22, WIDTH, _PANEL_HEIGHT - 24)
    parts = [
        rectangle(_LEFT - 8, _PANEL_TOP, WIDTH - 2 * _LEFT + 16, _PANEL_HEIGHT, rx=6, fill=PANEL),
        text("STANDARD", _COLUMNS[0], _PANEL_TOP + 16, 11, fill=DIM),
        text("SPECULATIVE", _COLUMNS[1], _PANEL_TOP + 16, 11, fill=DIM),
        *([] if face.is_parked else legend(_RIGHT, _PANEL_TOP + 16)),
        element("clipPath", clip, id="p"),
    ]
    for track, x in zip(tracks, _COLUMNS, strict=True):
        pieces = [
            Piece(each.text, each.mark, math.ceil(each.at * words_hz / rate) * rate / words_hz)
            for each in _beginning(pieces_of(track.rounds, has_times=True), most_lines * _CELLS)
        ]
        lines = [line for line in wrapped_runs(pieces, _CELLS) if line][:most_lines]
        is_marked = track is tracks[1] and not face.is_parked
        words = [
            _word(reel, run, x, row, is_marked) for row, line in enumerate(lines) for run in line
        ]
        parts.append(element("g", _scrolled(reel, lines, "".join(words)), clip_path="url(#p)"))
    return parts


def _beginning(pieces: Iterable[Piece], most: int) -> Iterator[Piece]:
    """The first pieces that hold ``most`` characters: more than that is not shown."""
    count = 0
    for piece in pieces:
        if count > most:
            return
        count += len(piece.text)
        yield piece


def _word(reel: _Reel, run: Run, x: float, row: int, is_marked: bool) -> str:
    kind = "" if not is_marked else " g" if run.mark == DRAFTED else " o"
    bare = run.text.strip()
    if not bare or not run.cells:
        return ""
    lead = len(run.text) - len(run.text.lstrip())
    blanks = len(run.text) - len(bare)
    cell = _SIZE * CELL_SHARE
    return text(
        bare,
        x + (run.column + lead) * cell,
        _PANEL_TOP + 34 + row * _STEP,
        _SIZE,
        run.cells - blanks,
        class_=f"m{kind} {reel.from_(run.at)}",
    )


def _scrolled(reel: _Reel, lines: Sequence[Sequence[Run]], words: str) -> str:
    """The words of a pane, moving up line by line once the pane is full."""
    stops = [(0.0, "none")]
    for row in range(_ROWS, len(lines)):
        up = f"translateY({number(-(row - _ROWS + 1) * _STEP)}px)"
        stops.append((lines[row][0].at, up))
    if len(stops) == 1 or not words:
        return words
    still = f"translate(0 {number(-(len(lines) - _ROWS) * _STEP)})"
    return element("g", words, class_=f"m {reel.through(stops)}", transform=still)


def _verdict(reel: _Reel, face: CardFace, at: float) -> list[str]:
    """What stands from the moment on at which the first lane is in."""
    name = f"m {reel.from_(at)}"
    colour = GREEN if face.is_good else AMBER
    figure = "–" if face.speedup is None else f"{face.speedup:.2f}"
    parts = [
        text(figure, _RIGHT, 116, 40, text_anchor="end", fill=colour, font_weight="bold"),
        text(shortened(face.speedup_words, 20), _RIGHT, 134, 11, text_anchor="end", fill=DIM),
        sentence(face, 367),
        text(f"{face.equality} · {face.figures}", _LEFT, 383, 11, fill=colour),
    ]
    return [
        element("g", "".join(parts), class_=name),
        *(
            text(shortened(line, 118), _LEFT, y, 10.5, fill=DIM)
            for line, y in zip(face.facts, (397, 411), strict=True)
        ),
    ]

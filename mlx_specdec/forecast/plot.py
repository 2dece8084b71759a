"""A forecast as an SVG: speedup by lookahead for each acceptance, and a pass's cost by tokens.

Legible on a light and on a dark page; every curve carries its own figure, so that nothing hangs
on a colour.
"""

from __future__ import annotations

import textwrap

from ..cards.svg import document, element, number, rectangle, text
from ..figures import pair_names, percent
from ..ledger.what_if import ACCEPTANCES, LOOKAHEADS, heat_map, pass_costs
from .forecast import Forecast
from .words import headline, seconds_text

__all__ = ["forecast_svg"]

WIDTH, HEIGHT = 800, 470
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 430, 110, 400
_BARS_LEFT, _BARS_RIGHT = 600, 780
_SIZE, _SMALL = 14.0, 12.0
_STYLE = (
    ".ink{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#8c959f;stroke-opacity:.35}"
    ".one{stroke:#59636e}.curve{fill:none;stroke:#1a7f37;stroke-width:2}.bar{fill:#1a7f37}"
    ".page{fill:#ffffff}"
    "@media (prefers-color-scheme: dark){.ink{fill:#f0f6fc}.soft{fill:#9198a1}"
    ".one{stroke:#9198a1}.curve{stroke:#3fb950}.bar{fill:#3fb950}.page{fill:#0d1117}}"
)


def forecast_svg(forecast: Forecast) -> str:
    """The file's text."""
    title = headline(forecast)
    parts = [rectangle(0, 0, WIDTH, HEIGHT, class_="page")]
    for number_of, line in enumerate(textwrap.wrap(title, 92)[:3]):
        parts.append(text(line, 20, 28 + 19 * number_of, _SIZE, class_="ink"))
    if forecast.is_drafting and forecast.max_lookahead:
        parts += _curves(forecast)
    parts += _bars(forecast)
    names = pair_names(forecast.pair)
    foot = f"{names} on {forecast.machine}; {forecast.source_words}; {forecast.context} tokens"
    parts.append(text(foot[:108], 20, HEIGHT - 14, _SMALL, class_="soft"))
    return document(WIDTH, HEIGHT, "\n".join(part for part in parts if part), title, _STYLE)


def _curves(forecast: Forecast) -> list[str]:
    cells = heat_map(forecast.model, None, None).cells
    top = max((speed for row in cells for speed in row if speed is not None), default=1.0)
    highest = max(1.5, 0.5 * -(-top // 0.5))
    parts = [text("speedup by lookahead", _LEFT, _TOP - 14, _SMALL, class_="soft")]
    step = 0.5 if highest <= 3 else 1.0
    level = 0.0
    while level <= highest:
        y = _y(level, highest)
        style = "one" if level == 1 else "grid"
        parts.append(element("line", x1=_LEFT, x2=_RIGHT, y1=y, y2=y, class_=style))
        label = f"{level:.1f}x" if level != 1 else "plain"
        parts.append(text(label, _LEFT - 8, y + 4, _SMALL, class_="soft", text_anchor="end"))
        level += step
    for lookahead in LOOKAHEADS:
        x = _x(lookahead)
        parts.append(
            text(str(lookahead), x, _BOTTOM + 18, _SMALL, class_="soft", text_anchor="middle")
        )
    used: list[float] = []
    for acceptance, row in reversed(list(zip(ACCEPTANCES, cells, strict=True))):
        points = [(_x(g), _y(v, highest)) for g, v in zip(LOOKAHEADS, row, strict=True) if v]
        path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        parts.append(element("polyline", points=path, class_="curve"))
        y = max([points[-1][1], *(place + 14 for place in used)])
        used.append(y)
        words = f"{percent(acceptance)} kept"
        parts.append(text(words, points[-1][0] + 8, y + 4, _SMALL, class_="ink"))
    return parts


def _x(lookahead: int) -> float:
    return _LEFT + (_RIGHT - _LEFT) * lookahead / LOOKAHEADS[-1]


def _y(speed: float, highest: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * speed / highest


def _bars(forecast: Forecast) -> list[str]:
    costs = [cost for cost in pass_costs(forecast.model) if cost.seconds is not None]
    longest = max(cost.seconds or 0.0 for cost in costs)
    words = "a pass, by tokens checked"
    parts = [text(words, _BARS_LEFT - 40, _TOP - 14, _SMALL, class_="soft")]
    height = (_BOTTOM - _TOP) / len(LOOKAHEADS)
    for place, cost in enumerate(costs):
        seconds = cost.seconds or 0.0
        y = _TOP + place * height
        length = (_BARS_RIGHT - _BARS_LEFT - 60) * seconds / longest
        parts.append(
            text(str(cost.rows), _BARS_LEFT - 10, y + 16, _SMALL, class_="soft", text_anchor="end")
        )
        parts.append(rectangle(_BARS_LEFT, y + 4, max(length, 1.0), height - 12, class_="bar"))
        parts.append(
            text(seconds_text(seconds), _BARS_LEFT + length + 6, y + 16, _SMALL, class_="ink")
        )
    return parts

"""A benchmark as a picture: speedup by text and arm, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from .plan import PLAIN
from .summary import ArmSummary, WorkloadSummary

__all__ = ["bench_svg"]

_WIDTH, _LEFT, _RIGHT = 800, 190, 90
_BAR, _GAP, _GROUP_GAP, _TOP = 14, 4, 22, 64
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
_OURS, _THEIRS, _INK, _PAPER = "#2f7d5b", "#8a8f98", "#1c1f24", "#fbfbf9"


def bench_svg(summaries: Sequence[WorkloadSummary], title: str, below: str) -> str:
    """Bars of the decode speedup with the range of the repeats; the line at 1 is plain decoding.

    Args:
        title: the pair; ``below`` the machine, the versions and the date.
    """
    groups = [
        (
            s.workload.kind,
            [arm for arm in s.arms if arm.arm != PLAIN and not arm.arm.profile and arm.speedup],
        )
        for s in summaries
    ]
    widest = max((arm.speedup.high for _, arms in groups for arm in arms if arm.speedup), default=1)
    scale = (_WIDTH - _LEFT - _RIGHT) / (max(widest, 1.0) * 1.05)
    body: list[str] = []
    y = _TOP
    for kind, arms in groups:
        body.append(_text(16, y + 11, kind, weight="bold"))
        for arm in arms:
            body += _bar(arm, y, scale)
            y += _BAR + _GAP
        y += _GROUP_GAP
    height = y + 34
    one = _LEFT + scale
    body.append(
        f'<line x1="{one:.1f}" x2="{one:.1f}" y1="{_TOP - 8}" y2="{y - _GROUP_GAP}" '
        f'stroke="{_INK}" stroke-dasharray="2 3"/>'
    )
    body.append(_text(one, _TOP - 14, "plain = 1", anchor="middle"))
    body.append(_text(16, height - 16, below, size=11))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" font-family="{_FONT}" font-size="12">'
        f'<rect width="{_WIDTH}" height="{height}" fill="{_PAPER}"/>'
        + _text(16, 28, title, size=15, weight="bold")
        + "".join(body)
        + "</svg>\n"
    )


def _bar(arm: ArmSummary, y: int, scale: float) -> list[str]:
    speed = arm.speedup
    assert speed is not None
    colour = _THEIRS if arm.arm.baseline else _OURS
    middle = y + _BAR / 2
    low, high = _LEFT + speed.low * scale, _LEFT + speed.high * scale
    return [
        _text(_LEFT - 8, y + 11, arm.arm.name, anchor="end", size=11),
        f'<rect x="{_LEFT}" y="{y}" width="{speed.median * scale:.1f}" height="{_BAR}" '
        f'fill="{colour}"/>',
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}" stroke="{_INK}"/>',
        _text(max(high, _LEFT + speed.median * scale) + 6, y + 11, f"{speed.median:.2f}x", size=11),
    ]


def _text(
    x: float, y: float, words: str, *, size: int = 12, anchor: str = "start", weight: str = "normal"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
        f'font-weight="{weight}" fill="{_INK}">{escape(words)}</text>'
    )

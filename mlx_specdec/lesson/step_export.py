"""One round for slides: as a Markdown table and as an SVG figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from .guess_table import guess_table
from .lesson import Lesson, Phase
from .overlap_picture import overlap_picture, shown_overlap
from .step_page import (
    bonus_part,
    check_headings,
    now_line,
    paragraph,
    replace_heading,
    text_part,
    title_words,
    why_part,
)
from .step_words import odds, story
from .styled_lines import Line, cell_length, line, visible

__all__ = ["round_markdown", "round_svg", "save_round"]

_COLUMNS, _ROWS = 100, 6
_CELL_WIDTH, _LINE_HEIGHT, _MARGIN = 7.8, 18, 16
_COLOURS = {
    "": "#24292f",
    "draft": "#1a7f37",
    "miss": "#24292f",
    "head": "#24292f",
    "dim": "#6e7781",
}
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def round_markdown(lesson: Lesson) -> str:
    """The guesses and the overlap as two tables, and what happened in words."""
    names = lesson.names
    rows = [
        [f"q ({names.draft})", *[odds(guess.draft) for guess in lesson.guesses]],
        [f"p ({names.target})", *[odds(guess.target) for guess in lesson.guesses]],
    ]
    if lesson.compares_words:
        rows.append([f"{names.target}'s own word", *[_cell(g.own) for g in lesson.guesses]])
    else:
        keep = [odds(guess.keep) if guess.keep is not None else "" for guess in lesson.guesses]
        coin = [odds(guess.coin) if guess.coin is not None else "" for guess in lesson.guesses]
        rows += [["keep with", *keep], ["coin", *coin]]
    rows.append(["", *[guess.verdict.value for guess in lesson.guesses]])
    parts = [
        title_words(lesson),
        _table(["", *[_cell(guess.text) for guess in lesson.guesses]], rows),
    ]
    overlap = shown_overlap(lesson, _ROWS)
    if overlap is not None:
        heads = ["", "q", "p", "min(p, q)" if overlap.scale == 1 else "min(P p, q)", "left over"]
        body = [
            [_cell(e.text), odds(e.draft), odds(e.target), odds(e.overlap), odds(e.left_over)]
            for e in overlap.entries
        ]
        sums = ["sum", "", "", odds(overlap.acceptance), odds(overlap.left_over)]
        parts.append(_table(heads, [*body, sums]))
    return "\n\n".join([*parts, story(lesson)]) + "\n"


def _cell(text: str | None) -> str:
    """A word within a table: nothing in it is Markdown."""
    shown = "" if text is None else visible(text)
    return "".join(f"\\{c}" if c in "\\|`*_[]<>#" else c for c in shown)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def round_svg(lesson: Lesson) -> str:
    """The round as a figure: the same lines as on the screen, in the system's monospace."""
    blank = line()
    lines = [*paragraph(title_words(lesson), _COLUMNS), blank]
    lines += [*text_part(lesson, Phase.BONUS, _COLUMNS), blank]
    lines += [*check_headings(lesson, Phase.CHECK, _COLUMNS), blank]
    lines += [*guess_table(lesson, Phase.CHECK, _COLUMNS), blank]
    overlap = shown_overlap(lesson, _ROWS)
    if overlap is not None:
        lines += [*replace_heading(lesson, _COLUMNS), blank]
        lines += [*overlap_picture(lesson, overlap, _COLUMNS), blank]
        lines += [*why_part(lesson, _COLUMNS, _ROWS), blank]
    lines += [*bonus_part(lesson, _COLUMNS), blank, *paragraph(story(lesson), _COLUMNS), blank]
    return _svg([*lines, now_line(lesson, _COLUMNS)])


def _svg(lines: Sequence[Line]) -> str:
    columns = max(sum(cell_length(span.text) for span in each) for each in lines)
    width = round(columns * _CELL_WIDTH + 2 * _MARGIN)
    height = len(lines) * _LINE_HEIGHT + 2 * _MARGIN
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{escape(_FONT)}" font-size="13">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
    ]
    for number, each in enumerate(lines):
        baseline = _MARGIN + number * _LINE_HEIGHT + 13
        place = 0
        for span in each:
            cells = cell_length(span.text)
            if span.text.strip():
                rows.append(_svg_text(span.text, span.style, place, cells, baseline))
            place += cells
    return "\n".join([*rows, "</svg>"]) + "\n"


def _svg_text(text: str, style: str, place: int, cells: int, baseline: int) -> str:
    """A piece at its own place and of its own length, whatever font there is."""
    lead = cells - cell_length(text.lstrip(" "))
    shown = text.strip(" ")
    x = _MARGIN + (place + lead) * _CELL_WIDTH
    length = cell_length(shown) * _CELL_WIDTH
    weight = ' font-weight="bold"' if style in ("head", "miss") else ""
    return (
        f'<text x="{x:.1f}" y="{baseline}" fill="{_COLOURS[style]}"{weight} '
        f'textLength="{length:.1f}" xml:space="preserve">{escape(shown)}</text>'
    )


def save_round(lesson: Lesson, folder: Path) -> tuple[Path, Path]:
    """Write ``round-N.md`` and ``round-N.svg`` (a lesson: ``the-fox``); nothing is overwritten.

    Raises:
        OSError: the folder cannot be written to.
    """
    stem = lesson.title.replace(" ", "-") or f"round-{lesson.index}"
    if lesson.title:
        stem += f"-{'copied' if lesson.is_copied else lesson.rule}"
    number, name = 1, stem
    while any((folder / f"{name}{ending}").exists() for ending in (".md", ".svg")):
        number += 1
        name = f"{stem}-{number}"
    table, figure = folder / f"{name}.md", folder / f"{name}.svg"
    table.write_text(round_markdown(lesson), encoding="utf-8")
    figure.write_text(round_svg(lesson), encoding="utf-8")
    return table, figure

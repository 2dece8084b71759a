"""A lesson's pages: the parts put together, for a pipe, for 80 and for 120 columns."""

from __future__ import annotations

from .drawn_bars import bar
from .guess_table import guess_table
from .lesson import GREEDY, Lesson, Phase
from .overlap_picture import overlap_picture, proof_sums, shown_overlap
from .rule_comparison import RuleRow, compared_rules
from .step_words import (
    bonus_words,
    break_words,
    counted,
    odds,
    replace_words,
    rule_words,
    story,
    why_words,
)
from .styled_lines import Line, Span, cell_length, cut, line, padded, safe_flat, visible, wrapped

__all__ = [
    "bonus_part",
    "heading",
    "now_line",
    "paragraph",
    "replace_heading",
    "rules_table",
    "text_part",
    "title_words",
    "whole_lesson",
    "why_part",
]

NO_DETAIL = (
    "The odds of the other words were not kept, so there is no overlap to draw. "
    "Record with them: mlx-specdec demo --record FILE --detail"
)
_ROWS = 8  # of the overlap in a pipe
_COLUMN = 7  # of the table of rules


def title_words(lesson: Lesson) -> str:
    """Rule, temperature and title, for the line on top."""
    parts = [f"rule: {rule_words(lesson)}", f"temp {lesson.temperature:g}"]
    return " · ".join([*parts, f"lesson: {lesson.title}"] if lesson.title else parts)


def text_part(lesson: Lesson, phase: Phase, width: int, is_covered: bool = False) -> list[Line]:
    """The text with the guesses in it, and below it what became of them: two lines."""
    texts = [guess.text for guess in lesson.guesses]
    whole = safe_flat("".join(texts))
    before = _tail(safe_flat(lesson.before), max(width - max(cell_length(whole), 20) - 5, 8))
    start = f" {before}{_blank_before(whole)}"
    if phase is Phase.GUESS or is_covered:
        room = width - cell_length(start) - 3
        return [line(start, Span(f"[{cut(whole.strip(), room)}]", "dim")), line()]
    kept = safe_flat("".join(texts[: lesson.num_kept]))
    lost = safe_flat("".join(texts[lesson.num_kept :]))
    inside = f"[{cut(kept.strip(), width - cell_length(start) - 4)}]" if kept else ""
    gap = _blank_before(lost) if kept else ""
    room = max(width - cell_length(start + inside + gap) - 1, 8)
    labels = [Span(padded("kept", max(cell_length(inside + gap), 5)), "draft")] if kept else []
    if lost:
        labels.append(Span("✗ thrown away", "miss"))
    return [
        line(start, Span(inside, "draft"), gap, Span(cut(lost.strip(), room), "miss")),
        line(" " * cell_length(start), *labels),
    ]


def _blank_before(text: str) -> str:
    """The blank that a token brings with it; one within a word has none."""
    return " " if text.startswith(" ") else ""


def _tail(text: str, cells: int) -> str:
    """The end of a text in at most ``cells`` cells."""
    if cell_length(text) <= cells:
        return text
    while text and cell_length(text) > cells - 1:
        text = text[1:]
    return "…" + text


def heading(title: str, words: str, width: int, aside: str = "") -> list[Line]:
    """A section's title, what it means, and something at the right end."""
    indent = cell_length(title) + 4
    room = width - indent - 1 - (cell_length(aside) + 2 if aside else 0)
    pieces = wrapped(words, room) or [""]
    end = [Span(f"  {aside}", "dim")] if aside else []
    first = line(" ", Span(title, "head"), "   ", padded(pieces[0], room), *end)
    return [first, *(line(" " * indent, piece) for piece in pieces[1:])]


def paragraph(text: str, width: int, style: str = "") -> list[Line]:
    """A text in lines, one cell from the left."""
    return [line(" ", Span(piece, style)) for piece in wrapped(text, width - 2)]


def check_headings(lesson: Lesson, phase: Phase, width: int) -> list[Line]:
    """The headings of the first two phases: side by side where there is room."""
    count = len(lesson.guesses)
    names = lesson.names
    many = f"{counted(count, 'token')}{', one after another' if count > 1 else ''}"
    words = f"{many.split(',')[0]} copied from the text" if lesson.is_copied else ""
    guess = heading("1 GUESS", words or f"{names.draft} writes {many}", width)
    reads = "it" if count == 1 else "them all"
    check = heading("2 CHECK", f"{names.target} reads {reads} in one pass", width)
    return guess if phase is Phase.GUESS else [*guess, *check]


def replace_heading(lesson: Lesson, width: int) -> list[Line]:
    """The third phase's heading."""
    if lesson.miss is not None:
        return heading("3 REPLACE", replace_words(lesson), width)
    word = visible(lesson.guesses[lesson.focus].text)
    words = f"nothing to replace, all were kept. Nearest to a miss, both laws at “{word}”:"
    return heading("3 REPLACE", words, width)


def bonus_part(lesson: Lesson, width: int, rows: int = 3) -> list[Line]:
    """The fourth phase: the odds after the last guess, or that there was none this time."""
    if lesson.miss is not None:
        return heading("4 BONUS", bonus_words(lesson), width, "not this time")
    lines = heading("4 BONUS", bonus_words(lesson), width)
    if lesson.drawn is None:
        return [*lines, line("   The answer ended before it.")]
    token = lesson.drawn.token
    listed = [entry for entry in lesson.bonus if entry.token == token]
    shown = list(lesson.bonus[:rows])
    if listed and listed[0] not in shown:
        shown[-1:] = listed
    lines += [_odds_row(e.text, e.prob, e.token == token) for e in shown]
    return lines if listed else [*lines, _odds_row(lesson.drawn.text, None, True)]


def _odds_row(text: str, prob: float | None, is_drawn: bool) -> Line:
    drawn = Span("  ← drawn" if is_drawn else "", "draft")
    value = "" if prob is None else f"{bar(prob, 20)} {odds(prob)}"
    return line("   " + padded(visible(text), 12), value, drawn)


def why_part(lesson: Lesson, width: int, rows: int, is_broken: bool = False) -> list[Line]:
    """Why it is exact in this very place, or what breaking it does."""
    overlap = shown_overlap(lesson, rows)
    if overlap is None:
        return paragraph(NO_DETAIL, width)
    if is_broken:
        title = [line(" ", Span("BROKEN ON PURPOSE", "miss"))]
        words = break_words(lesson, overlap)
    else:
        title = [line(" ", Span("WHY IT IS EXACT, in this very place", "head"))]
        words = why_words(lesson, overlap)
    return [*title, *paragraph(words, width), *proof_sums(lesson, overlap, width, is_broken)]


def now_line(lesson: Lesson, width: int, text: str = "") -> Line:
    """The text after the round."""
    kept = "".join(guess.text for guess in lesson.guesses[: lesson.num_kept])
    last = lesson.drawn.text if lesson.drawn is not None else ""
    whole = safe_flat(text or lesson.before + kept + last)
    return line(" ", Span("now", "head"), f"   {_tail(whole, width - 9)}", "▌")


def rules_table(lesson: Lesson, width: int) -> list[Line]:
    """The same guesses under four rules, side by side."""
    title = line(" ", Span("THE SAME GUESSES UNDER FOUR RULES", "head"))
    if lesson.rule == GREEDY:
        words = "At temperature 0 all four rules are this one: is the guess the likeliest word?"
        return [title, *paragraph(words, width)]
    rows = compared_rules(lesson)
    fit = max((width - 45) // _COLUMN, 1)
    heads = [padded(cut(guess.word, _COLUMN - 1), _COLUMN) for guess in lesson.guesses[:fit]]
    shown = len(heads)
    lines = [
        title,
        line(" " * 11, Span("".join(heads), "head"), "kept of these    these coins"),
    ]
    lines += [_rule_line(row, fit, row.rule == lesson.rule) for row in rows]
    if shown < len(lesson.guesses):
        lines.append(line(Span(f" the first {shown} of {len(lesson.guesses)} guesses", "dim")))
    else_words = "One set of guesses is one draw: over all of them block keeps at least as many."
    lines += paragraph(else_words, width, "dim")
    if len(rows) < 4:
        lines += paragraph(f"block and coupled need the other words. {NO_DETAIL}", width)
    return lines


def _rule_line(row: RuleRow, fit: int, is_own: bool) -> Line:
    chances = "".join(padded(odds(chance), _COLUMN) for chance in row.chances[:fit])
    average = f"{'about ' if row.is_about else ''}{row.expected:.2f}"
    coins = "–" if row.with_coins is None else f"{row.with_coins} kept"
    name = Span(padded(row.rule, 10), "draft" if is_own else "")
    this = Span("◂ this" if is_own else "", "dim")
    return line(" ", name, chances, padded(average, 17), padded(coins, 8), this)


def whole_lesson(lesson: Lesson, width: int = 80) -> list[Line]:
    """Every phase in order, as for a pipe."""
    blank = line()
    lines = [line(" ", Span("mlx-specdec explain", "head"))]
    lines += [*paragraph(title_words(lesson), width), blank]
    lines += [*text_part(lesson, Phase.BONUS, width), blank]
    lines += [*check_headings(lesson, Phase.CHECK, width), blank]
    lines += [*guess_table(lesson, Phase.CHECK, width), blank]
    lines += [*replace_heading(lesson, width), blank]
    overlap = shown_overlap(lesson, _ROWS)
    if overlap is not None:
        lines += [*overlap_picture(lesson, overlap, width), blank]
    lines += [*bonus_part(lesson, width), blank]
    lines += [*why_part(lesson, width, _ROWS), blank]
    lines += [*paragraph(story(lesson), width), blank]
    if overlap is not None and lesson.rule != GREEDY:
        lines += [*why_part(lesson, width, _ROWS, is_broken=True), blank]
    lines += [*rules_table(lesson, width), blank]
    return [*lines, now_line(lesson, width)]

"""The overlap of both laws at one place as bars, and the sums that close the proof there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .closing_sums import closing_sums
from .drawn_bars import bar
from .guess_table import WIDE
from .lesson import Lesson
from .overlap import Overlap, OverlapEntry, ProofLine
from .step_words import odds, odds_apart
from .styled_lines import Line, Span, cut, line, padded, told_apart

__all__ = ["overlap_picture", "proof_sums", "shown_overlap"]


_DUST = 5e-4  # what rounds to nothing is not worth a row


class _Column(NamedTuple):
    head: str
    width: int
    value: Callable[[OverlapEntry], Span]


def shown_overlap(lesson: Lesson, rows: int) -> Overlap | None:
    """The overlap at the decisive place in at most ``rows`` rows; the guess and the word that
    was drawn stay."""
    overlap = lesson.overlap
    if overlap is None:
        return None
    keep = {lesson.guesses[lesson.focus].token}
    if lesson.miss is not None and lesson.drawn is not None:
        keep.add(lesson.drawn.token)
    return overlap.without_dust(_DUST, keep).limited(rows, keep)


def overlap_picture(lesson: Lesson, overlap: Overlap, width: int) -> list[Line]:
    """q, p, min(p, q) and what is left over, a row a word; below the overlap its sum, which is
    the acceptance. Own-word rules show both laws, and the one luck where it is known."""
    columns = _columns(lesson, overlap, width)
    label = 14 if width >= WIDE else 9
    lines = [line(" " * (label + 1), *[padded(each.head, each.width) for each in columns])]
    names = told_apart([entry.text for entry in overlap.entries])
    for entry, name in zip(overlap.entries, names, strict=True):
        if entry.token is None and max(entry.target, entry.draft) < _DUST:
            continue
        cells = [Span(" " + padded(cut(name, label - 1), label))]
        for each in columns:
            text, style = each.value(entry)
            cells.append(Span(padded(text, each.width), style))
        lines.append((*cells, _mark(lesson, overlap, entry)))
    if not lesson.compares_words:
        lines.append(_sums(overlap, columns, label))
    return lines


def _columns(lesson: Lesson, overlap: Overlap, width: int) -> list[_Column]:
    is_wide = width >= WIDE
    span, unit = (22, 17) if is_wide else (14, 8)

    def barred(value: float, style: str = "") -> Span:
        return Span(f"{bar(value, unit)} {odds(value)}".strip() if value > _DUST else "–", style)

    q = _Column("q draft", span, lambda entry: barred(entry.draft))
    p = _Column("p target", span, lambda entry: barred(entry.target))
    if lesson.compares_words:
        return [q, p, *_luck(lesson, span)]
    factor = "P p" if overlap.scale < 1 else "p"
    both = _Column(
        f"overlap = min({factor}, q)" if is_wide else f"min({factor}, q)",
        span + 1,
        lambda entry: barred(entry.overlap, "draft"),
    )
    left = _Column("left over", span, lambda entry: barred(entry.left_over, "miss"))
    share = _Column("", 6, lambda entry: Span(_share(overlap, entry)))
    return [q, p, both, left, share]


def _share(overlap: Overlap, entry: OverlapEntry) -> str:
    if overlap.left_over <= 0 or entry.left_over <= 5e-4:
        return ""
    return f"{overlap.share(entry) * 100:3.0f} %"


def _luck(lesson: Lesson, span: int) -> list[_Column]:
    """The race of the coupled rule: luck, and odds x luck of both models."""
    if not lesson.luck:
        return []
    luck = lesson.luck[lesson.focus]

    def of(entry: OverlapEntry) -> float:
        return luck.get(-1 if entry.token is None else entry.token, 0.0)

    return [
        _Column("luck", 6, lambda entry: Span(f"{of(entry):.1f}")),
        _Column("q x luck", 9, lambda entry: Span(f"{entry.draft * of(entry):.2f}")),
        _Column("p x luck", 9, lambda entry: Span(f"{entry.target * of(entry):.2f}")),
    ]


def _mark(lesson: Lesson, overlap: Overlap, entry: OverlapEntry) -> Span:
    guess = lesson.guesses[lesson.focus]
    if lesson.compares_words:
        marks = ["guess"] if entry.token == guess.token else []
        own = lesson.drawn.token if lesson.miss is not None and lesson.drawn else guess.token
        if overlap.entry(own) is entry:
            marks.append(f"{lesson.names.target}'s own")
        return Span(f"← {'both' if len(marks) > 1 else marks[0]}" if marks else "", "draft")
    is_drawn = (
        lesson.miss is not None
        and lesson.drawn is not None
        and overlap.entry(lesson.drawn.token) is entry
    )
    return Span("← drawn" if is_drawn else "", "draft")


def _sums(overlap: Overlap, columns: Sequence[_Column], label: int) -> Line:
    about = "" if overlap.is_exact else "about "
    before = label + 1 + sum(each.width for each in columns[:2])
    kept = f"sum {about}{odds(overlap.acceptance)}"
    if overlap.scale == 1:
        kept += " = acceptance" if columns[2].width > 18 else " kept"
    left = f"sum {about}{odds(overlap.left_over)}"
    return line(" " * before, Span(padded(kept, columns[2].width), "draft"), Span(left, "miss"))


def proof_sums(lesson: Lesson, overlap: Overlap, width: int, is_broken: bool = False) -> list[Line]:
    """kept + miss x share = p, a line a word; broken sums say what they should have been."""
    lines = [
        (each, entry)
        for each, entry in zip(
            closing_sums(lesson, overlap, is_broken), overlap.entries, strict=False
        )
        if max(each.wanted, each.kept) > _DUST
    ]
    names = told_apart([entry.text for _, entry in lines])
    return [
        line(
            "   " + padded(cut(names[place], 9), 10),
            *_left_side(lesson, each, entry, width),
            *_right_side(lesson, overlap, each, place == 0, is_broken),
        )
        for place, (each, entry) in enumerate(lines)
    ]


def _left_side(lesson: Lesson, each: ProofLine, entry: OverlapEntry, width: int) -> list[str]:
    kept_word, other_word = ("agree", "differ") if lesson.compares_words else ("kept", "miss")
    kept = f"{kept_word} {odds(each.kept)}"
    if width >= WIDE and not lesson.compares_words and 0 < each.kept < entry.draft:
        chance = each.kept / entry.draft
        kept = f"{kept_word} {odds(entry.draft)} x {odds(chance)} = {odds(each.kept)}"
    other = f"+ {other_word} {odds(each.miss)} x {_three(each.share)}"
    room = 24 if width >= WIDE else 11
    return [padded(kept, room), padded(other, 20), padded(f"= {odds(each.replaced)}", 8)]


def _right_side(
    lesson: Lesson, overlap: Overlap, each: ProofLine, is_first: bool, is_broken: bool
) -> list[Span]:
    total = f"={odds(each.total):>5}"
    if is_broken and abs(each.total - each.wanted) >= _DUST:
        comes, wanted = odds_apart(each.total, each.wanted)
        if comes != wanted:
            return [Span(f"={comes:>5}  ✗ should be {wanted}", "miss")]
    law = f" {lesson.names.target}'s own odds" if is_first and not is_broken else ""
    if overlap.scale < 1 and not lesson.compares_words:
        law = f"  P p = {odds(overlap.scale)} x {odds(each.wanted / overlap.scale)}"
    return [Span(total, "head"), Span(law)]


def _three(value: float) -> str:
    """A share with three places, as in .833; 0 alone."""
    text = f"{value:.3f}"
    return "0" if value < 5e-4 else text[1:] if text.startswith("0") else text[:4]

"""FlowingText: text that only grows, laid out in lines of fixed cells as it comes.

Lines that are full never change again, whatever comes later and in whatever pieces it comes: two
panes with the same words have them on the same rows. Widths are a terminal's: wide characters
take two cells, and marks that combine stay with what they belong to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mlx_specdec.cards.text_lines import words_of
from mlx_specdec.safe_text import safe_text

from rich.cells import split_graphemes

__all__ = ["FlowingText", "Line", "line_cells"]

Line = list[tuple[str, str]]
"""Pieces of one line: text and its mark."""

_TAB = "    "
_JOINER = "\u200d"


class _Cluster:
    __slots__ = ("cells", "mark", "text")

    def __init__(self, text: str, cells: int, mark: str) -> None:
        self.text, self.cells, self.mark = text, cells, mark


class FlowingText:
    """Lines of at most ``width`` cells, broken at spaces; a word longer than a line is cut.

    Args:
        width: cells, at least 2.
    """

    def __init__(self, width: int) -> None:
        self.width = max(width, 2)
        self._full: list[Line] = []
        self._tail: Line = []  # what came since the last full line, as it came
        self._last: list[Line] = [[]]
        self._before = ""  # the character before what comes next

    def append(self, text: str, mark: str = "") -> None:
        """Add text; control codes become pictures of themselves."""
        if not text:
            return
        drawn = _drawn(text, self._before)
        self._before = text[-1]
        self._tail.append((drawn, mark))
        lines, starts = _laid_out(self._tail, self.width)
        if len(lines) > 1:
            self._full += [_joined(line) for line in lines[:-1]]
            self._tail = _from(self._tail, starts[-1])
            lines = lines[-1:]
        self._last = [_joined(line) for line in lines]

    @property
    def num_lines(self) -> int:
        return len(self._full) + len(self._last)

    def line(self, number: int) -> Line:
        """Line ``number`` from 0; empty past the end."""
        if number < len(self._full):
            return self._full[number]
        number -= len(self._full)
        return self._last[number] if number < len(self._last) else []

    def ending(self, pieces: Iterable[tuple[str, str]]) -> tuple[int, list[Line]]:
        """How it would end with ``pieces`` after it: the first line concerned, and those lines."""
        more = []
        before = self._before
        for text, mark in pieces:
            if text:
                more.append((_drawn(text, before), mark))
                before = text[-1]
        lines, _ = _laid_out([*self._tail, *more], self.width)
        return len(self._full), [_joined(line) for line in lines]


def line_cells(line: Line) -> int:
    """Cells that a line takes."""
    return sum(split_graphemes(text)[1] for text, _ in line)


def _drawn(text: str, before: str) -> str:
    """``text`` as it is drawn: control codes as pictures, and a joiner only between two emoji or
    letters that join: elsewhere nobody agrees on how many cells it leaves."""
    whole = before + text
    kept = [
        char
        for last, char in zip(whole if before else "\n" + whole, text, strict=False)
        if char != _JOINER or (ord(last) >= 0x900 and last != _JOINER)
    ]
    return safe_text("".join(kept)).replace("\t", _TAB)


def _clusters(pieces: Line) -> Iterator[_Cluster]:
    """Characters with what combines with them, across the borders of pieces."""
    text = "".join(piece for piece, _ in pieces)
    marks = [(len(piece), mark) for piece, mark in pieces]
    end, index, place = marks[0][0] if marks else 0, 0, 0
    for row in re.findall(r"[^\n]*\n|[^\n]+", text):
        body = row.removesuffix("\n")
        spans = split_graphemes(body)[0]
        if len(body) < len(row):
            spans = [*spans, (len(body), len(row), 0)]
        for start, stop, cells in spans:
            while place + start >= end and index + 1 < len(marks):
                index += 1
                end += marks[index][0]
            yield _Cluster(row[start:stop], cells, marks[index][1])
        place += len(row)


def _laid_out(pieces: Line, width: int) -> tuple[list[list[_Cluster]], list[int]]:
    """Lines, and for each the character of ``pieces`` that it begins with."""
    lines: list[list[_Cluster]] = [[]]
    starts, used, place = [0], 0, 0
    for word in words_of(_clusters(pieces)):
        length, cells = sum(len(part.text) for part in word), sum(part.cells for part in word)
        if word[0].text == "\n":
            lines.append([])
            starts.append(place + 1)
            used = 0
        elif used + cells <= width:
            lines[-1] += word
            used += cells
        elif word[0].text != " ":  # a space that a new line stands for is not drawn
            if used:
                lines.append([])
                starts.append(place)
                used = 0
            inside = place
            for part in word:
                if used + part.cells > width:
                    lines.append([])
                    starts.append(inside)
                    used = 0
                lines[-1].append(part)
                used += part.cells
                inside += len(part.text)
        place += length
    return lines, starts


def _joined(line: Iterable[_Cluster]) -> Line:
    joined: Line = []
    for cluster in line:
        if joined and joined[-1][1] == cluster.mark:
            joined[-1] = (joined[-1][0] + cluster.text, cluster.mark)
        else:
            joined.append((cluster.text, cluster.mark))
    return joined


def _from(pieces: Line, start: int) -> Line:
    """``pieces`` from character ``start`` on."""
    rest: Line = []
    for text, mark in pieces:
        if start < len(text):
            rest.append((text[start:], mark))
        start = max(start - len(text), 0)
    return rest

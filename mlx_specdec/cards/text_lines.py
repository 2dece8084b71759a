"""Pieces of text laid out in lines of fixed cells, each with its mark, for pictures.

Widths are those of a terminal: wide characters take two cells, combining marks none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ..lesson.styled_lines import cell_length, cut
from ..safe_text import safe_text

__all__ = ["Piece", "Run", "drawable", "shortened", "words_of", "wrapped_runs"]

_TAB = "    "


@dataclass(frozen=True, slots=True)
class Piece:
    """Text with a mark (what it is drawn as) and a time: the second at which it appears."""

    text: str
    mark: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """Text of one mark and time within one line, from ``column`` on, ``cells`` wide."""

    text: str
    mark: str
    at: float
    column: int
    cells: int


class Cluster(Protocol):
    """A character with the marks that combine with it, and the cells that it takes."""

    @property
    def text(self) -> str: ...
    @property
    def cells(self) -> int: ...


C = TypeVar("C", bound=Cluster)


@dataclass(slots=True)
class _Cluster:
    text: str
    cells: int
    mark: str
    at: float


def drawable(text: str) -> str:
    """``text`` without what XML cannot hold; control codes become pictures of themselves."""
    safe = safe_text(text).replace("\t", _TAB)
    return "".join(char if _is_xml(ord(char)) else "�" for char in safe)


def _is_xml(code: int) -> bool:
    if code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF or 0xD800 <= code <= 0xDFFF:
        return False
    return code >= 0x20 or code == 0x0A


def shortened(text: str, cells: int) -> str:
    """One line of at most ``cells`` cells, with ``…`` in the place of what is cut off."""
    return cut(" ".join(drawable(text).split()), cells)


def wrapped_runs(pieces: Iterable[Piece], width: int) -> list[list[Run]]:
    """Lines of at most ``width`` cells, broken at spaces; a longer word is cut.

    Args:
        width: at least 2.
    """
    lines: list[list[_Cluster]] = [[]]
    for word in words_of(_clusters(pieces)):
        if word[0].text == "\n":
            lines.append([])
            continue
        if _cells(lines[-1]) + _cells(word) <= width:
            lines[-1] += word
        elif word[0].text == " ":
            continue  # a space that a new line stands for
        else:
            _break(lines, word, width)
    return [_runs(line) for line in lines]


def _break(lines: list[list[_Cluster]], word: list[_Cluster], width: int) -> None:
    """Begin a new line with ``word``, and further ones as long as it does not fit."""
    if lines[-1] and _cells(word) <= width:
        lines.append([])
    for cluster in word:
        if _cells(lines[-1]) + cluster.cells > width:
            lines.append([])
        lines[-1].append(cluster)


def _cells(clusters: Sequence[_Cluster]) -> int:
    return sum(cluster.cells for cluster in clusters)


def _clusters(pieces: Iterable[Piece]) -> list[_Cluster]:
    """Characters with the marks that combine with them."""
    made: list[_Cluster] = []
    for piece in pieces:
        for char in drawable(piece.text):
            cells = 0 if char == "\n" else cell_length(char)
            if cells == 0 and char != "\n" and made and made[-1].text != "\n":
                made[-1].text += char
            else:
                made.append(_Cluster(char, cells, piece.mark, piece.at))
    return made


def words_of(clusters: Iterable[C]) -> Iterator[list[C]]:
    """Words, spaces, line ends and wide characters, each on its own."""
    word: list[C] = []
    for cluster in clusters:
        if cluster.text in (" ", "\n") or cluster.cells > 1:
            if word:
                yield word
                word = []
            yield [cluster]
        else:
            word.append(cluster)
    if word:
        yield word


def _runs(line: list[_Cluster]) -> list[Run]:
    runs: list[Run] = []
    column = 0
    for cluster in line:
        last = runs[-1] if runs else None
        if last is not None and (last.mark, last.at) == (cluster.mark, cluster.at):
            text, cells = last.text + cluster.text, last.cells + cluster.cells
            runs[-1] = Run(text, last.mark, last.at, last.column, cells)
        else:
            runs.append(Run(cluster.text, cluster.mark, cluster.at, column, cluster.cells))
        column += cluster.cells
    return runs

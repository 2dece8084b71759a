"""MarkdownDocument: Markdown that only grows: what is over is never read or laid out again.

The last block is read anew with each piece, and of a list its last item only; a block of code is
extended without being read at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from tui.chat.code_rows import CodeRows, Look
from tui.chat.markdown_leaves import Leaf, leaves

from textual.content import Content

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["Block", "MarkdownDocument"]

_LISTS = ("bullet_list_open", "ordered_list_open")


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """Without HTML: a tag is text, so that ``List<int>`` stays what it is."""
    from markdown_it import MarkdownIt

    return MarkdownIt("gfm-like", {"html": False})


@dataclass(slots=True)
class Block:
    """A paragraph, an item of a list, a block of code ...

    Args:
        leaves: what it is made of.
        goes_on: it is an item that follows another one of its list.
        number: of an item of a numbered list.
        fence: what ends it, where it is a block of code that has not ended.
    """

    leaves: list[Leaf]
    goes_on: bool = False
    number: int | None = None
    fence: str = ""
    _known: tuple[int, list[Content]] = field(default=(0, []), repr=False)

    @property
    def has_gap(self) -> bool:
        """Whether a blank row stands above it."""
        return not self.goes_on

    @property
    def codes(self) -> list[CodeRows]:
        return [leaf.code for leaf in self.leaves if leaf.code is not None]

    def rows(self, width: int) -> list[Content]:
        """Laid out in ``width`` cells; the same again costs nothing."""
        if self._known[0] != width:
            rows: list[Content] = []
            for leaf in self.leaves:
                if leaf.code is not None and rows:
                    rows.append(Content(""))
                rows += leaf.rows(width)
            self._known = (width, rows)
        return self._known[1]

    def code_row(self, code: CodeRows, width: int) -> int:
        """The row that a block of code in it begins with."""
        place = 0
        for leaf in self.leaves:
            place += leaf.code is not None and place > 0
            if leaf.code is code:
                return place
            place += len(leaf.rows(width))
        return 0

    def forget(self) -> None:
        """Lay it out anew the next time."""
        self._known = (0, [])


class MarkdownDocument:
    """Takes Markdown piece by piece; ``blocks`` is what it says so far."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._tail = ""  # from the beginning of the last block on
        self._look: Look = None

    def append(self, text: str) -> int:
        """More of it; the number of the first block that is another one now."""
        first = max(len(self.blocks) - 1, 0)
        if self._extend_code(text):
            return first
        self._tail += text
        before = self.blocks[-1] if self.blocks else Block([])
        found = list(_read(self._tail, before))
        if found and self.blocks:
            _keep_codes(before, found[0][0])
        self.blocks[first:] = [block for block, _ in found]
        if found:
            last, start = found[-1]
            self._tail = self._tail[start:]
            last.fence = _open_fence(last, self._tail)
        for block, _ in found:
            for code in block.codes:
                code.recolour(self._look)
        for block, _ in found[:-1]:
            self._close(block)
        return first

    def finish(self) -> int:
        """Nothing more comes; the number of the first block that is another one now."""
        if self.blocks:
            self._close(self.blocks[-1])
        return max(len(self.blocks) - 1, 0)

    def recolour(self, look: Look) -> None:
        """Other colours for all code."""
        self._look = look
        for block in self.blocks:
            for code in block.codes:
                code.recolour(look)
                block.forget()

    def _close(self, block: Block) -> None:
        for code in block.codes:
            code.close()
            block.forget()

    def _extend_code(self, text: str) -> bool:
        """Whether it was no more than code in the block of code that stands last."""
        last = self.blocks[-1] if self.blocks else None
        if last is None or not last.fence:
            return False
        start = self._tail.rfind("\n") + 1
        if _has_end(self._tail[start:] + text, last.fence):
            return False
        self._tail += text
        last.codes[0].code = self._tail.partition("\n")[2].rstrip()
        last.forget()
        return True


def _read(text: str, before: Block) -> Iterator[tuple[Block, int]]:
    """Blocks of ``text``, each with the character it begins at.

    ``before`` is what its first block was so far: it knows an item's place in its list.
    """
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    is_first = True
    for group in _groups(_parser().parse(text)):
        if group[0].type not in _LISTS:
            yield Block(leaves(group)), starts[_line(group[0])]
        else:
            number = group[0].attrs.get("start", 1) if group[0].tag == "ol" else None
            number = int(number) if number is not None else None
            goes_on = is_first and before.goes_on
            if is_first and number is not None and before.number is not None:
                number = before.number
            for item in _groups(group[1:-1]):
                yield Block(leaves(item, number), goes_on, number), starts[_line(item[0])]
                goes_on = True
                number = number + 1 if number is not None else None
        is_first = False


def _groups(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """What stands side by side on the outermost level of ``tokens``."""
    depth = begin = 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if not depth:
            yield tokens[begin : index + 1]
            begin = index + 1


def _line(token: Token) -> int:
    return token.map[0] if token.map is not None else 0


def _keep_codes(old: Block, new: Block) -> None:
    """A block of code that has grown is the one it was: it may be selected."""
    pairs = zip(old.codes, [leaf for leaf in new.leaves if leaf.code is not None], strict=False)
    for code, leaf in pairs:
        if leaf.code is not None:
            code.take_over(leaf.code)
            leaf.code = code


def _open_fence(block: Block, text: str) -> str:
    """The fence that ``text`` begins with at the left edge; empty for none, or one that ended."""
    mark = re.match(r"(`{3,}|~{3,})[^\n]*\n", text)
    if mark is None or len(block.leaves) != 1 or not block.codes:
        return ""
    return "" if _has_end(text[mark.end() :], mark[1]) else mark[1]


def _has_end(text: str, fence: str) -> bool:
    end = rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$"
    return re.search(end, text, re.MULTILINE) is not None

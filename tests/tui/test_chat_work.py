"""What a piece of a reply costs: it must not grow with what has been said before it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.tui.chat_fakes import ChatHost, bring, finished, reply_events, say
from tests.tui.test_chat_keys import play
from tui.chat.code_rows import CodeRows
from tui.chat.markdown_document import MarkdownDocument
from tui.chat.markdown_leaves import Leaf
from tui.widgets.rows_view import RowsView

import pytest
import textual.highlight
from textual.content import Content
from textual.pilot import Pilot
from textual.widget import Widget

PARTS = ("A few words of a paragraph.\n\n", "- one\n- two\n\n", "```python\nx = 1\n```\n\n")


class Work:
    """Counts what is laid out and drawn."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        for owner, name in (
            (Leaf, "rows"),
            (RowsView, "_drawn"),
            (Widget, "_get_box_model"),
            (Widget, "render_lines"),
        ):
            self._count(patch, owner, name)

    def _count(self, patch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        counted = getattr(owner, name)

        def count(this: object, *args: object, **more: object) -> object:
            self.counts[name] += 1
            return counted(this, *args, **more)

        patch.setattr(owner, name, count)

    async def of_a_piece(self, pilot: Pilot[None], host: ChatHost) -> Counter[str]:
        """What a few rows more take."""
        self.counts.clear()
        await bring(pilot, host, *reply_events("And then\n\nsome more")[1:])
        return Counter(self.counts)


def test_a_piece_costs_the_same_after_two_thousand_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transcript was laid out anew, block by block, for each piece."""
    work = Work(monkeypatch)
    costs: list[Counter[str]] = []

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("".join(PARTS) * 5))
        costs.append(await work.of_a_piece(pilot, host))
        for _ in range(20):
            await bring(pilot, host, *reply_events("\n\n" + "".join(PARTS) * 10)[1:])
        costs.append(await work.of_a_piece(pilot, host))
        await bring(pilot, host, finished())

    play(steps, size=(120, 36))
    few, many = costs
    assert few["rows"] > 0
    assert few["_drawn"] > 0
    for name in ("rows", "_drawn", "_get_box_model", "render_lines"):
        # Timers of the figures panel draw as well, however long the reply is.
        assert many[name] <= 2 * few[name] + 4, name


def test_a_piece_without_a_new_row_lays_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("One two"))
        work.counts.clear()
        await bring(pilot, host, *reply_events(" three")[1:])
        assert work.counts["_get_box_model"] == 0
        assert work.counts["_drawn"] == 1

    play(steps, size=(120, 36))


def test_a_hidden_view_is_not_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)

    async def steps(host: ChatHost, pilot: Pilot[None]) -> None:
        await say(pilot, host, "hello", *reply_events("One two"))
        await pilot.press("escape", "t")
        await pilot.pause()
        work.counts.clear()
        await bring(pilot, host, *reply_events("\n\n" + "".join(PARTS) * 10)[1:])
        assert work.counts["rows"] == 0

    play(steps, size=(120, 36))


def test_code_is_coloured_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of a thousand lines was coloured anew with each of them."""
    coloured: list[int] = []

    def highlight(code: str, **more: Any) -> Content:
        coloured.append(code.count("\n") + 1)
        return known(code, **more)

    known = textual.highlight.highlight
    monkeypatch.setattr(textual.highlight, "highlight", highlight)
    code = CodeRows("", "python")
    for number in range(100):
        code.code = "\n".join(f"x{i} = {i}" for i in range(number + 1))
        code.rows(80)
    assert len(coloured) <= 101
    assert max(coloured) == 24
    code.close()
    assert max(coloured) == 100


TEXT = (
    "# Title\n\nOne *two* **three** `four` [five](https://x.org) ~~six~~.\n\n- one\n- two\n"
    "  - three\n\n    code\n- four\n\n1. a\n1. b\n\n   c\n1. d\n\n* other\n\n"
    "> quote\n> - in it\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nSetext\n======\n\n~~~text\n```\n~~~\n\n"
    "```py\nx = '''\n\ny'''\n```\n\n---\n\nend\\\nof it"
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("width", [20, 76])
def test_in_pieces_it_is_what_it_is_at_once(size: int, width: int) -> None:
    whole, parts = MarkdownDocument(), MarkdownDocument()
    whole.append(TEXT)
    for start in range(0, len(TEXT), size):
        first = parts.append(TEXT[start : start + size])
        assert len(parts.blocks) - first <= 2 + size // 5
    for document in (whole, parts):
        document.finish()
    rows = [
        [
            (block.goes_on, row.plain, row.spans)
            for block in document.blocks
            for row in block.rows(width)
        ]
        for document in (whole, parts)
    ]
    assert rows[0] == rows[1]
    assert all(row.cell_length <= width for block in whole.blocks for row in block.rows(width))


def test_markdown_as_rows() -> None:
    document = MarkdownDocument()
    document.append(TEXT)
    rows = [row.plain.rstrip() for block in document.blocks for row in block.rows(40)]
    assert rows[:8] == [
        "Title",
        "One two three four five six.",
        "• one",
        "• two",
        "  ▪ three",
        "    code",
        "• four",
        " 1. a",
    ]
    assert " 3. d" in rows
    assert "    c" in rows
    assert "  • in it" in rows
    assert rows[rows.index("a  b") :][:4] == ["a  b", "─  ─", "1  2", "3  4"]
    assert rows[-3:] == ["─" * 40, "end", "of it"]

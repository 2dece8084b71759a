"""ChatMarkdown: text of a model as Markdown: it grows by appending, and shows all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from tui.chat.code_rows import CodeRows, Look
from tui.chat.markdown_document import Block, MarkdownDocument
from tui.widgets.rows_view import RowsView

from textual.geometry import Region

__all__ = ["ChatFence", "ChatMarkdown"]


@dataclass(frozen=True, slots=True)
class ChatFence:
    """A block of code in a reply: a place that can be selected, and copied."""

    view: ChatMarkdown
    rows: CodeRows

    @property
    def code(self) -> str:
        return self.rows.code

    def set_selected(self, is_selected: bool) -> None:
        """Mark its first line."""
        if self.rows.is_selected != is_selected:
            self.rows.is_selected = is_selected
            self.view.draw_code(self.rows)

    @property
    def region(self) -> Region:
        """Where it stands in its view."""
        return self.view.code_region(self.rows)


class ChatMarkdown(RowsView):
    """A reply, to be appended to."""

    DEFAULT_CSS = """
    ChatMarkdown { padding: 0 1 0 3; color: $foreground; }
    ChatMarkdown:dark > .code_inline { background: $warning 10%; color: $text-warning 95%; }
    ChatMarkdown:light > .code_inline { background: $error 5%; color: $text-error 95%; }
    ChatMarkdown:ansi > .code_inline { background: ansi_default; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"code_inline"}
    BLANK_ROWS_BELOW = 1

    def __init__(self, classes: str = "") -> None:
        super().__init__(classes=classes)
        self._document = MarkdownDocument()

    def append(self, text: str) -> None:
        """More of it."""
        if text:
            self._put_from(self._document.append(text))

    def finish(self) -> None:
        """Nothing more comes."""
        self._put_from(self._document.finish())

    def _put_from(self, first: int) -> None:
        self.put(first, self._document.blocks[first:])

    @property
    def fences(self) -> list[ChatFence]:
        """Its blocks of code."""
        return [ChatFence(self, code) for _, block in self._numbered() for code in block.codes]

    def draw_code(self, code: CodeRows) -> None:
        """Draw a block of code as it is now."""
        found = self._find(code)
        if found is not None:
            number, block = found
            block.forget()
            self.put(number, self._document.blocks[number:])

    def code_region(self, code: CodeRows) -> Region:
        """Where a block of code stands."""
        found = self._find(code)
        if found is None:
            return Region()
        number, block = found
        width = self.content_size.width
        row = self.first_row(number) + block.code_row(code, width)
        return Region(0, row, width, len(code.rows(width)))

    def _find(self, code: CodeRows) -> tuple[int, Block] | None:
        for number, block in self._numbered():
            if any(own is code for own in block.codes):
                return number, block
        return None

    def _numbered(self) -> Iterator[tuple[int, Block]]:
        return enumerate(self._document.blocks)

    def notify_style_update(self) -> None:
        look: Look = None
        if self.app.native_ansi_color:
            look = "dark" if self.app.current_theme.dark else "light"
        self._document.recolour(look)
        super().notify_style_update()

    def action_link(self, target: str) -> None:
        """Open a page of the web; a model's text opens nothing else on this machine."""
        if target.startswith(("https://", "http://")):
            self.app.open_url(target)

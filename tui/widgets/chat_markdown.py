"""ChatMarkdown: Textual's Markdown for text of a model: it grows by appending, and shows all of it.

Textual draws the last block anew whenever it grows. For a list that would be all its items, so
here only the last item is; a long block of code is not coloured anew with each line.
"""

from __future__ import annotations

from collections.abc import Iterable

from markdown_it import MarkdownIt
from markdown_it.token import Token
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Label, Markdown, Static
from textual.widgets._markdown import (
    MarkdownBlock,
    MarkdownBulletList,
    MarkdownFence,
    MarkdownOrderedList,
    MarkdownParagraph,
)

__all__ = ["ChatFence", "ChatMarkdown"]

MOST_RECOLOURED_LINES = 150
MOST_BLOCKS = 6
_PART_LINES = 24


def _parser() -> MarkdownIt:
    """Without HTML: a tag is text, so that ``List<int>`` stays what it is."""
    return MarkdownIt("gfm-like", {"html": False})


class FenceHead(Static):
    """``python                         y copy``."""

    def __init__(self, language: str) -> None:
        super().__init__(classes="fence-head", markup=False)
        self._language = language

    def render(self) -> Content:
        words = "y copy"
        blank = max(self.content_size.width - len(self._language) - len(words), 1)
        return Content(f"{self._language}{' ' * blank}{words}")


class ChatFence(MarkdownFence):
    """A block of code below a line with its language and how to copy it.

    It is drawn in parts of some lines each, so that a line more costs no more than its part.
    """

    def compose(self) -> ComposeResult:
        yield FenceHead(_language(self.lexer))
        for part in _parts(self.code):
            yield Label(self._coloured(part), markup=False)

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = False) -> Content:
        """Nothing: Textual would colour all of it, and here each part is coloured by itself."""
        return Content("")

    def notify_style_update(self) -> None:
        self.recolour()
        super().notify_style_update()

    def set_content(self, content: Content) -> None:
        """Nothing: the parts are drawn one by one."""

    async def _update_from_block(self, block: MarkdownBlock) -> None:
        if not isinstance(block, ChatFence):
            await super()._update_from_block(block)
            return
        self._copy_context(block)
        labels, parts = list(self.query_children(Label)), _parts(self.code)
        last = max(len(labels) - 1, 0)
        for label, part in zip(labels[last:], parts[last:], strict=False):
            label.update(self._coloured(part))
        for part in parts[len(labels) :]:
            await self.mount(Label(self._coloured(part), markup=False))

    @property
    def has_parts(self) -> bool:
        """Whether it was coloured in more than one part."""
        return self.code.count("\n") >= _PART_LINES

    def recolour(self) -> None:
        """Once it is whole, as one: a string may span the parts."""
        parts = _parts(self.code)
        if len(parts) * _PART_LINES <= MOST_RECOLOURED_LINES:
            lines = self._coloured(self.code).split("\n", allow_blank=True)
            coloured = [
                Content("\n").join(lines[i : i + _PART_LINES])
                for i in range(0, len(lines), _PART_LINES)
            ]
        else:
            coloured = [self._coloured(part) for part in parts]
        for label, content in zip(self.query_children(Label), coloured, strict=False):
            label.update(content)

    def _coloured(self, code: str) -> Content:
        app = self.app
        return MarkdownFence.highlight(
            code, _language(self.lexer), app.native_ansi_color, app.current_theme.dark
        )


def _parts(code: str) -> list[str]:
    lines = code.split("\n")
    return ["\n".join(lines[i : i + _PART_LINES]) for i in range(0, len(lines), _PART_LINES)]


def _language(info: str) -> str:
    words = info.split()
    return words[0] if words else "text"


class _GrowingBulletList(MarkdownBulletList):
    async def _update_from_block(self, block: MarkdownBlock) -> None:
        if not isinstance(block, _GrowingBulletList):
            await super()._update_from_block(block)
            return
        await _grow(self, block)


class _GrowingOrderedList(MarkdownOrderedList):
    async def _update_from_block(self, block: MarkdownBlock) -> None:
        if not isinstance(block, _GrowingOrderedList):
            await super()._update_from_block(block)
            return
        await _grow(self, block)


async def _grow(shown: MarkdownBlock, grown: MarkdownBlock) -> None:
    """Draw a list's last item anew, and add what came after it: ``grown`` begins with that item."""
    rows = list(shown.query_children(Horizontal))
    await rows[-1].remove()
    await shown.mount_all([item for item in grown.compose() if isinstance(item, Widget)])


class ChatMarkdown(Markdown):
    """A reply, to be appended to."""

    DEFAULT_CSS = """
    ChatMarkdown { padding: 0 1 0 3; margin: 0; }
    ChatMarkdown MarkdownHeader {
        margin: 0 0 1 0; width: 1fr; content-align: left middle; background: transparent;
        color: $foreground; text-style: bold;
    }
    ChatMarkdown MarkdownH1, ChatMarkdown MarkdownH2 { text-style: bold underline; }
    ChatMarkdown MarkdownHorizontalRule { border-bottom: none; height: 1; padding: 0; }
    ChatMarkdown MarkdownBlockQuote { margin: 0 0 1 0; padding: 0 2; border-left: none; }
    ChatMarkdown MarkdownTable { margin: 0 0 1 0; }
    ChatMarkdown ChatFence {
        margin: 0 0 1 0; padding: 0; height: auto; layout: vertical; overflow: hidden hidden;
        background: $boost; color: $foreground;
    }
    ChatMarkdown .fence-head { height: 1; width: 1fr; color: $text-muted; padding: 0 1; }
    ChatMarkdown ChatFence > Label { padding: 0 2; width: 1fr; }
    ChatMarkdown ChatFence.-selected > .fence-head {
        text-style: bold reverse; color: $foreground;
    }
    """
    BLOCKS = {  # noqa: RUF012  Textual declares it without ClassVar
        **Markdown.BLOCKS,
        "fence": ChatFence,
        "code_block": ChatFence,
        "bullet_list_open": _GrowingBulletList,
        "ordered_list_open": _GrowingOrderedList,
    }

    def __init__(self) -> None:
        super().__init__(parser_factory=_parser, open_links=False)

    def _parse_markdown(self, tokens: Iterable[Token]) -> Iterable[MarkdownBlock]:
        """Where a list stands last, the next parse begins with its last item, not its first."""
        tokens = list(tokens)
        top = [token for token in tokens if token.level == 0 and token.map is not None]
        if top and top[-1].type in ("bullet_list_open", "ordered_list_open"):
            items = [t.map for t in tokens if t.type == "list_item_open" and t.level == 1]
            if items[-1] is not None and top[-1].map is not None:
                self._last_parsed_line += items[-1][0] - top[-1].map[0]
        return super()._parse_markdown(tokens)

    @property
    def is_long(self) -> bool:
        """Whether what follows should stand in a part of its own."""
        return len(self.children) >= MOST_BLOCKS

    @property
    def ends_in_paragraph(self) -> bool:
        """Whether a blank line has ended all that stands here."""
        return bool(self.children) and isinstance(self.children[-1], MarkdownParagraph)

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        """Open a page of the web; a model's text opens nothing else on this machine."""
        event.stop()
        if event.href.startswith(("https://", "http://")):
            self.app.open_url(event.href)

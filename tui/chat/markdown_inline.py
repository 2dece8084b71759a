"""Markdown within a line: emphasis, code, links and pictures as styled text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from textual.content import Content, Span
from textual.style import Style

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["inline_content"]

_STYLES = {"em": "italic", "strong": "bold", "s": "strike"}
_CODE = ".code_inline"  # a component class: it looks as the theme says
_BLANKS = re.compile(r"\s+")


def inline_content(inline: Token) -> Content:
    """The text of an ``inline`` token; links carry an action of the widget that draws them."""
    parts: list[str] = []
    spans: list[Span] = []
    opened: list[tuple[str | Style, int]] = []
    length = 0
    for token in inline.children or ():
        kind, text = token.type, ""
        if kind.endswith("_open"):
            opened.append((_style(token), length))
        elif kind.endswith("_close"):
            style, start = opened.pop()
            spans.append(Span(start, length, style))
        elif kind == "image":
            text = f"🖼  ({token.content})" if token.content else "🖼  "
            spans.append(Span(length, length + len(text), _link(token.attrs.get("src", ""))))
        elif kind == "code_inline":
            text = token.content
            spans.append(Span(length, length + len(text), _CODE))
        elif kind == "hardbreak":
            text = "\n"
        else:
            text = " " if kind == "softbreak" else _BLANKS.sub(" ", token.content)
        parts.append(text)
        length += len(text)
    return Content("".join(parts), spans=spans)


def _style(token: Token) -> str | Style:
    name = token.type.removesuffix("_open")
    return _link(token.attrs.get("href", "")) if name == "link" else _STYLES.get(name, "")


def _link(target: object) -> Style:
    return Style.from_meta({"@click": f"link({str(target)!r})"})

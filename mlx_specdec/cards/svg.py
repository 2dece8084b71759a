"""SVG elements as text: escaped, with explicit lengths so that any monospace font fits."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from ..lesson.styled_lines import cell_length
from .text_lines import drawable

__all__ = ["CELL_SHARE", "FONTS", "document", "element", "number", "rectangle", "text"]

FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
CELL_SHARE = 0.6  # of the font size: the advance of most monospace fonts


def number(value: float) -> str:
    """At most two decimals, none that say nothing."""
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def element(name: str, content: str = "", /, **attributes: str | float) -> str:
    """An element; ``content`` is put in as it is, names get ``-`` for ``_``."""
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}="
        + quoteattr(value if isinstance(value, str) else number(value))
        for key, value in attributes.items()
    )
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def rectangle(x: float, y: float, width: float, height: float, **more: str | float) -> str:
    """A rectangle; nothing when it has no width."""
    if width <= 0:
        return ""
    return element("rect", x=x, y=y, width=width, height=height, **more)


def text(
    words: str, x: float, y: float, size: float, cells: int | None = None, /, **more: str | float
) -> str:
    """One line of text, drawn exactly as wide as its cells; nothing when it is empty.

    Args:
        cells: the width in cells; None counts them.
        more: further attributes; ``text_anchor="end"`` makes x the right edge.
    """
    shown = drawable(words).replace("\n", " ")
    count = cell_length(shown) if cells is None else cells
    if not shown.strip() or not count:
        return ""
    place: dict[str, str | float] = {
        "x": x,
        "y": y,
        "font_size": size,
        "textLength": count * size * CELL_SHARE,
        "lengthAdjust": "spacingAndGlyphs",
    }
    return element("text", escape(shown), **(place | more))


def document(
    width: int, height: int, body: str, title: str, style: str = "", fill: str = "#000"
) -> str:
    """The file: a title for screen readers, the style, the body."""
    parts = [element("title", escape(drawable(title)))]
    if style:
        parts.append(f"<style>{style}</style>")
    root: dict[str, str | float] = {
        "xmlns": "http://www.w3.org/2000/svg",
        "width": width,
        "height": height,
        "viewBox": f"0 0 {width} {height}",
        "role": "img",
        "font_family": FONTS,
        "fill": fill,
        "xml:space": "preserve",
    }
    return element("svg", "\n".join(["", *parts, body, ""]), **root) + "\n"

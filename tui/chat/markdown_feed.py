"""MarkdownFeed: what of a growing reply may be drawn already, so that nothing flickers.

The beginning of a line decides what a line is: ``-`` may become a list item, an underline that
turns the paragraph above into a heading, or a rule; a fence is none before its third backtick. A
line is held back until that is decided. What is handed out is only ever appended.
"""

from __future__ import annotations

import re

from mlx_specdec.safe_text import safe_text

__all__ = ["MarkdownFeed"]

# Nothing but marks so far, or a fence whose language is still being spelled.
_UNDECIDED = re.compile(r"[ \t>]*(?:[-=#*_+~`|:.\d)\[\] \t]*|(?:```|~~~)[^\n]*)")
_MOST_HELD = 200
# What Python, but not Markdown, takes for the end of a line would let the two count differently.
_LINE_ENDS = str.maketrans({"\u2028": "\n", "\u2029": "\n"})


class MarkdownFeed:
    """Takes a reply piece by piece; hands it on harmless, each line once its marks are whole."""

    def __init__(self) -> None:
        self._held = ""

    def push(self, text: str) -> str:
        """What may be appended now."""
        self._held += safe_text(text).translate(_LINE_ENDS)
        head, newline, last = self._held.rpartition("\n")
        if last and len(last) <= _MOST_HELD and _UNDECIDED.fullmatch(last):
            self._held = last
            return head + newline
        ready, self._held = self._held, ""
        return ready

    def finish(self) -> str:
        """The rest, once nothing more comes."""
        rest, self._held = self._held, ""
        return rest

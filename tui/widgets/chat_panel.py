"""The chat's figures beside the text, and in one line where there is no room beside it."""

from __future__ import annotations

import textwrap

from tui.chat.words import ChatWords, ReplyWords
from tui.widgets.big_figures import big_rows
from tui.widgets.top_line import fitted

from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

__all__ = ["PANEL_WIDTH", "ChatPanel", "FiguresLine"]

PANEL_WIDTH = 37
_BAR_WIDTH = 30
_TEXT_WIDTH = PANEL_WIDTH - 3


class ChatPanel(Widget):
    """This reply, the context, the memory, this chat."""

    DEFAULT_CSS = f"""
    ChatPanel {{ width: {PANEL_WIDTH}; height: 1fr; padding: 1 1 0 2; }}
    """

    def __init__(self) -> None:
        super().__init__(id="panel")
        self._reply, self._chat = ReplyWords(), ChatWords()
        self._rows = [*self._reply_rows(), *self._chat_rows()]
        self._strips: dict[int, Strip] = {}

    def show(self, reply: ReplyWords, chat: ChatWords) -> None:
        """Draw these figures, and of them the rows that have changed."""
        if (reply, chat) == (self._reply, self._chat):
            return
        self._reply, self._chat = reply, chat
        before, self._rows = self._rows, [*self._reply_rows(), *self._chat_rows()]
        if len(before) != len(self._rows):
            self._strips.clear()
            self.refresh()
            return
        for row, (old, new) in enumerate(zip(before, self._rows, strict=True)):
            if not old.is_same(new):
                self._strips.pop(row, None)
                self.refresh(Region(0, row, _TEXT_WIDTH, 1))

    def render_line(self, y: int) -> Strip:
        """One row, laid out once for as long as it says the same."""
        if self.text_selection is not None or y >= len(self._rows):
            return super().render_line(y)
        if y not in self._strips:
            width, style = self.size.width, self.visual_style
            drawn = Visual.to_strips(self, self._rows[y], width, 1, style)
            self._strips[y] = drawn[0].apply_offsets(0, y)
        return self._strips[y]

    def notify_style_update(self) -> None:
        self._strips.clear()
        super().notify_style_update()

    def render(self) -> Content:
        return Content("\n").join(self._rows)

    def _reply_rows(self) -> list[Content]:
        reply = self._reply
        rate = reply.rate if reply.rate != "-" else ""
        rows = [Content.styled("THIS REPLY", "bold")]
        rows += [Content.styled(row, "$text-accent") for row in big_rows(rate or " ")]
        rows += [
            Content("tokens a second"),
            *_wrapped(reply.gain, "$text-success" if "est." in reply.gain else "dim"),
            Content.styled(fitted(reply.gain_source, _TEXT_WIDTH), "dim"),
        ]
        accepted = reply.accepted
        if reply.positions:
            accepted = f"{accepted:>5}  {reply.positions}"
            accepted += "  of guesses" if len(reply.positions) <= 3 else ""
        for name, value in (
            ("accepted", accepted),
            ("per pass", f"{reply.per_pass:>11}" if reply.per_pass else ""),
            ("lookahead", f"{reply.lookahead:>4}" if reply.lookahead else ""),
            ("first token", reply.first_token),
        ):
            rows.append(Content.assemble((f"{name:<12}", "dim"), value))
        return rows

    def _chat_rows(self) -> list[Content]:
        chat = self._chat
        rows = [Content("")]
        for name, words, share in (
            ("CONTEXT", chat.context, chat.context_share),
            ("MEMORY", chat.memory, chat.memory_share),
        ):
            rows += [Content.assemble((f"{name:<9}", "bold"), words), _bar(share)]
        rows += [Content(""), Content.styled("THIS CHAT", "bold")]
        rows += [Content(words) for words in (chat.replies, chat.waited, chat.saved) if words]
        return [*rows, Content(""), Content.styled("esc t colour tokens   esc l ledger", "dim")]


def _wrapped(text: str, style: str) -> list[Content]:
    """One row at least, three at most."""
    rows = textwrap.wrap(text, _TEXT_WIDTH)[:3] or [""]
    return [Content.styled(row, style) for row in rows]


def _bar(share: float) -> Content:
    filled = min(max(share, 0.0), 1.0) * _BAR_WIDTH
    whole = int(filled)
    half = "╸" if filled - whole >= 0.5 else ""
    style = "$text-warning" if share >= 0.9 else "$text-accent"
    rest = "─" * (_BAR_WIDTH - whole - len(half))
    return Content.assemble(("━" * whole + half, style), (rest, "dim"))


class FiguresLine(Widget):
    """``26.4 tok/s   about 1.7 times plain (est.)   accepted 81 %   2.9 per pass``."""

    DEFAULT_CSS = """
    FiguresLine { height: 1; width: 1fr; padding: 0 1; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__(id="figures")
        self._words = ""

    def show(self, reply: ReplyWords, chat: ChatWords) -> None:
        """Draw these figures."""
        words = _in_a_line(reply, chat)
        if words != self._words:
            self._words = words
            self.refresh()

    def render(self) -> Content:
        return Content(self._words)


def _in_a_line(reply: ReplyWords, chat: ChatWords) -> str:
    gain = reply.gain.replace(" times plain", "x plain") if "est." in reply.gain else ""
    accepted = f"accepted {reply.accepted}" if "%" in reply.accepted else reply.accepted
    per_pass = reply.per_pass.replace("tokens", "per pass")
    parts = [f"{reply.rate} tok/s" if reply.rate else "", gain, accepted, per_pass]
    if not reply.gain:
        parts.append(chat.saved)
    return "   ".join(part for part in parts if part)

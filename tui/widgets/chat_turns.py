"""What was said, one widget a turn: the person's words, the reply, and what the app itself says."""

from __future__ import annotations

from collections.abc import Sequence

from mlx_specdec.chat.record import ChatTurn
from mlx_specdec.conversation import THINK_START, split_thinking
from mlx_specdec.events import Emitted
from mlx_specdec.safe_text import safe_text
from tui.chat.help import kept_note
from tui.chat.markdown_feed import MarkdownFeed
from tui.widgets.chat_markdown import ChatFence, ChatMarkdown
from tui.widgets.chat_text import GrowingText, TokenView

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widget import Widget
from textual.widgets import Static

__all__ = ["AppTurn", "Place", "ReplyTurn", "Turn", "UserTurn"]

Place = Widget | ChatFence
"""What can be selected: a message, a thinking line, a block of code."""


class Turn(Vertical):
    """One turn; ``stops`` are the places in it that can be selected, itself first."""

    DEFAULT_CSS = """
    Turn { height: auto; margin: 0 0 1 0; max-width: 112; }
    Turn > .turn-head { height: 1; }
    Turn .turn-name { width: 1fr; height: 1; padding: 0 1; text-style: bold; }
    Turn.-selected > .turn-head { background: $boost; }
    Turn.-selected .turn-name { color: $text-accent; }
    Turn.-leaving { opacity: 45%; }
    Turn .turn-text { padding: 0 1 0 3; height: auto; width: 1fr; }
    """

    BLANK = True
    virtual_size = Reactive(Size(0, 0), repaint=False)  # Textual would do all of it twice

    is_part = True
    """Whether it belongs to the conversation as the model knows it."""

    @property
    def stops(self) -> list[Place]:
        return [self]

    @property
    def source(self) -> str:
        """Its text as it was said."""
        return ""


class UserTurn(Turn):
    """What the person said, as it was typed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with Horizontal(classes="turn-head"):
            yield Static("you", classes="turn-name", markup=False)
        yield Static(safe_text(self._text), classes="turn-text", markup=False)

    @property
    def source(self) -> str:
        return self._text


class AppTurn(Turn):
    """What the app says in the transcript: help, or that something was done."""

    DEFAULT_CSS = """
    AppTurn .turn-text { color: $text-muted; }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield Static(safe_text(self._text), classes="turn-text", markup=False)

    @property
    def stops(self) -> list[Place]:
        return []

    @property
    def source(self) -> str:
        return self._text


class ThinkingLine(Static):
    """``thought for 4.1 s ▸``: folds and unfolds the thinking."""

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.toggle()

    def toggle(self) -> None:
        """Fold what is unfolded, and the other way round."""
        self._turn.fold(not self._turn.is_folded)

    @property
    def source(self) -> str:
        return self._turn.thinking

    @property
    def _turn(self) -> ReplyTurn:
        return next(widget for widget in self.ancestors if isinstance(widget, ReplyTurn))


class ReplyTurn(Turn):
    """A reply: its thinking folded away, its answer as Markdown or token by token.

    Args:
        name: of who answers.
        shows_tokens: begin with the plain view.
    """

    DEFAULT_CSS = """
    ReplyTurn { margin: 0; }
    ReplyTurn ThinkingLine { width: auto; height: 1; padding: 0 1; color: $text-muted; }
    ReplyTurn ThinkingLine.-selected { text-style: bold reverse; }
    ReplyTurn .thinking { color: $text-muted; text-style: italic; padding: 0 1 1 5; height: auto; }
    ReplyTurn .tokens { padding: 0 1 1 3; }
    ReplyTurn .turn-note { height: auto; padding: 0 1 1 3; color: $text-muted; }
    ReplyTurn .turn-note.-warning { color: $text-warning; }
    """

    def __init__(self, name: str, shows_tokens: bool = False) -> None:
        super().__init__()
        self._speaker = name
        self._shows_tokens = shows_tokens
        self._feed = MarkdownFeed()
        self._source = ""
        self.thinking = ""
        self._shown_thinking = 0
        self.is_folded = True
        self.line = ThinkingLine("", markup=False)
        self._words = ""
        self._thought = GrowingText(classes="thinking")
        self.answer = ChatMarkdown(classes="answer")
        self.tokens = TokenView(classes="tokens")
        self._note = Static("", classes="turn-note", markup=False)
        self._note_words = ""

    def compose(self) -> ComposeResult:
        self.line.display = self._thought.display = self._note.display = False
        self.answer.display, self.tokens.display = not self._shows_tokens, self._shows_tokens
        with Horizontal(classes="turn-head"):
            yield Static(safe_text(self._speaker), classes="turn-name", markup=False)
            yield self.line
        yield self._thought
        yield self.answer
        yield self.tokens
        yield self._note

    @property
    def stops(self) -> list[Place]:
        line = [self.line] if self.line.display else []
        fences = self.answer.fences if self.answer.display else ()
        return [self, *line, *fences]

    @property
    def source(self) -> str:
        return self._source

    def add(self, thinking: str, answer: str, emitted: Sequence[Emitted]) -> None:
        """Append what has come."""
        if thinking:
            self.thinking += thinking
            self._show_thinking()
        self._source += answer
        if emitted:
            self.tokens.add(emitted)
        self.answer.append(self._feed.push(answer))

    def end(self) -> None:
        """Draw what is held back: nothing more comes."""
        self.answer.append(self._feed.finish())
        self.answer.finish()

    def show_kept(self, turn: ChatTurn) -> None:
        """All of a reply that was kept before."""
        opening = THINK_START if turn.begins_thinking else ""
        thought = split_thinking(opening + turn.text)
        self.add(thought.thinking, thought.answer, ())
        self.tokens.append(turn.text)
        self.end()
        if thought.thinking:
            seconds = f" for {turn.thinking_seconds:.1f} s" if turn.thinking_seconds else ""
            self.set_thinking(f"thought{seconds}")
        self.set_note(kept_note(turn.reason))

    def set_thinking(self, words: str) -> None:
        """``thinking`` or ``thought for 4.1 s``; empty while there is none."""
        words = f"{words} {'▸' if self.is_folded else '▾'}" if words else ""
        if words == self._words:
            return
        self._words = words
        self.line.display = bool(words)
        self.line.update(words)

    def fold(self, is_folded: bool) -> None:
        """Hide the thinking, or show it."""
        self.is_folded = is_folded
        self._thought.display = not is_folded
        self._show_thinking()
        self.set_thinking(self._words[:-2])

    def show_tokens(self, shows: bool) -> None:
        """The plain view, token by token, instead of Markdown."""
        self.answer.display, self.tokens.display = not shows, shows
        if shows:
            self.tokens.catch_up()

    def set_note(self, words: str, is_warning: bool = False) -> None:
        """A line below the text, such as ``stopped``; empty for none."""
        if words == self._note_words:
            return
        self._note_words = words
        self._note.display = bool(words)
        self._note.update(safe_text(words))
        self._note.set_class(is_warning, "-warning")

    def _show_thinking(self) -> None:
        """Append to the unfolded thinking; folded, it costs nothing."""
        fresh = self.thinking[self._shown_thinking :]
        if self.is_folded or not fresh:
            return
        self._shown_thinking = len(self.thinking)
        self._thought.append(fresh)

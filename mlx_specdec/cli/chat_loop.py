"""ChatLoop: reads lines, shows replies, obeys the commands that begin with a slash."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from ..chat.commands import COMMANDS, changed_settings, drafting_words, parse_command
from ..chat.file import ChatFile
from ..chat.reply_track import ReplyTrack
from ..chat.settings import kept_settings
from ..errors import SpecdecError, UsageError
from ..figures import acceptance, limit_note, pair_names, rate, seconds, summary
from ..metrics import Metrics, pool
from ..model_spec import PairSpec
from ..settings import Settings
from .answer_view import AnswerView
from .interrupts import Interrupts
from .log import LOGGER, describe
from .remembering import remember_reply
from .terminal import Terminal

if TYPE_CHECKING:
    from ..engine import Engine, Stream

__all__ = ["ChatLoop"]

_COMMANDS = [
    *((f"{c.name} {c.usage}", c.words) for c in COMMANDS.values() if c.name != "/resume"),
    ("/stats", "figures of this chat"),
]
HELP = "\n".join(
    [f"  {usage:<18} {words}" for usage, words in _COMMANDS]
    + ["  A line that ends in \\ goes on in the next one. Ctrl-C stops a reply."]
)
INTERRUPTED = 130


class ChatLoop:
    """One chat with one loaded pair."""

    def __init__(
        self,
        terminal: Terminal,
        engine: Engine,
        pair: PairSpec,
        settings: Settings,
        interrupts: Interrupts,
        kept: ChatFile,
    ) -> None:
        self._terminal = terminal
        self._engine = engine
        self._pair = pair
        self._settings = settings
        self._interrupts = interrupts
        self._kept = kept
        self._replies: list[Metrics] = []
        self._is_problem_told = False
        self._asks = sys.stdin.isatty()
        reconfigure = getattr(sys.stdin, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # a stray byte must not end a chat
        if self._asks and terminal.out_is_terminal:
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401  line editing and history for input()

    def run(self) -> int:
        """Until the person leaves: 0, or 130 after two Ctrl-C."""
        if self._asks:
            self._terminal.note(
                f"{pair_names(self._pair)}{self._mode()}. /help shows the commands."
            )
        self._tell_resumed()
        while True:
            try:
                line = self._read()
                if line is None:
                    return 0
                if line.strip() and not self._take(line):
                    return 0
            except KeyboardInterrupt:
                if self._interrupts.is_second() or not self._asks:
                    self._interrupts.leave()
                    self._terminal.begin("\n")
                    return INTERRUPTED
                self._terminal.begin("\n")
                self._terminal.note("Ctrl-C again to quit.")
            except SpecdecError as error:
                LOGGER.debug("in a chat", exc_info=error)
                self._terminal.warn(describe(error))

    def _tell_resumed(self) -> None:
        chat = self._kept.resumed
        if chat is None:
            return
        self._terminal.note(f"going on with {chat.name}, {len(chat.turns)} messages")
        if chat.unanswered:
            self._terminal.note(f"not answered, so not part of it: {chat.unanswered}")

    def _mode(self) -> str:
        if self._pair.copies:
            return ", copying instead of drafting"
        return "" if self._pair.draft is not None else ", not drafting"

    def _read(self) -> str | None:
        """What the person typed, continued lines joined; None at the end of the input."""
        lines: list[str] = []
        while True:
            line = self._read_line("… " if lines else "› ")
            if line is None:
                return "\n".join(lines) if lines else None
            if not line.endswith("\\"):
                return "\n".join([*lines, line])
            lines.append(line[:-1])

    def _read_line(self, prompt: str) -> str | None:
        if self._asks and self._terminal.out_is_terminal:
            try:
                return input(prompt)
            except EOFError:
                self._terminal.line()
                return None
        if self._asks:
            self._terminal.begin(prompt)
        line = sys.stdin.readline()
        return line.rstrip("\r\n") if line else None

    def _take(self, line: str) -> bool:
        """Obey or answer; False to leave."""
        if line.split()[0] == "/stats":
            self._terminal.warn("\n".join(self._stats()))
            return True
        command = parse_command(line)
        if command is None:
            self._answer(line.strip())
            return True
        if command[0].name == "/quit":
            return False
        self._obey(command[0].name, command[1])
        return True

    def _obey(self, name: str, rest: str) -> None:
        say = self._terminal.warn
        if name == "/help":
            say(HELP)
        elif name == "/clear":
            self._engine.thread.call(self._engine.session.clear)
            self._replies.clear()
            self._kept.clear()
            say("The conversation is forgotten.")
        elif name == "/system":
            self._engine.session.conversation.system = rest
            self._kept.set_system(rest)
            say("Set from the next reply on." if rest else "No system prompt any more.")
        elif name == "/resume":
            raise UsageError("A chat is chosen at the start: mlx-specdec chat --resume NAME.")
        else:
            has_draft = self._pair.drafts
            self._settings, words = changed_settings(name, rest, self._settings, has_draft)
            self._kept.set_settings(kept_settings(self._settings))
            say(words)

    def _answer(self, line: str) -> None:
        self._kept.user(line)
        stream = self._engine.ask(line, self._settings)
        view = self._show(stream)
        if view is None:
            return
        view.end()
        self._tell_problem()
        metrics = stream.metrics
        if metrics.emitted_tokens:
            self._replies.append(metrics)
            remember_reply(self._pair, self._settings, stream.seen)
        note = limit_note(view.reason, self._settings.max_tokens, view.is_thinking)
        if view.reason == "cancelled":
            note = "stopped while thinking" if view.is_thinking else "stopped"
        if note and not self._terminal.quiet:
            self._terminal.warn(f"[{note}]")
        self._terminal.note(summary(metrics))

    def _show(self, stream: Stream) -> AnswerView | None:
        """Write and keep the reply as it comes; None where nothing came.

        Raises:
            SpecdecError: what ended it; what was said until then is kept.
        """
        view: AnswerView | None = None
        track = ReplyTrack()
        try:
            with self._interrupts.stopping(stream.cancel):
                for event in stream.events():
                    if view is None:
                        begins = self._engine.session.begins_thinking
                        view, track = AnswerView(self._terminal, begins), ReplyTrack(begins)
                        self._kept.begin_reply(begins)
                    view.show(event)
                    self._kept.reply_piece(track.add([event]).raw)
        finally:
            if view is None:
                self._kept.begin_reply(False)
            self._kept.end_reply(replace(track.turn, reason=track.reason or "failed"))
        return view

    def _tell_problem(self) -> None:
        if self._kept.problem and not self._is_problem_told:
            self._is_problem_told = True
            self._terminal.warn(self._kept.problem)

    def _stats(self) -> list[str]:
        if not self._replies:
            return ["Nothing was said yet."]
        whole = pool(self._replies)
        count = len(self._replies)
        per_pass = whole.tokens_per_target_pass
        return [
            f"  {count} repl{'y' if count == 1 else 'ies'}, {whole.emitted_tokens} tokens, "
            f"{seconds(whole.end_to_end_seconds)} in all",
            f"  {rate(whole.tokens_per_second)} tokens/s, "
            f"{'-' if per_pass is None else f'{per_pass:.2f}'} per target pass, "
            f"first token {seconds(whole.ttft_seconds)} (median)",
            f"  {acceptance(whole)}; lookahead {self._settings.lookahead}, "
            f"{drafting_words(self._settings, self._pair.drafts)}, "
            f"temperature {self._settings.sampling.temperature:g}",
        ]

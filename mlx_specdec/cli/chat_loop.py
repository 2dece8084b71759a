"""ChatLoop: reads lines, shows replies, obeys the commands that begin with a slash."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from ..errors import SpecdecError
from ..figures import acceptance, limit_note, rate, seconds, summary
from ..metrics import Metrics, pool
from ..model_spec import PairSpec
from ..settings import Settings, settings_from
from .answer_view import AnswerView
from .interrupts import Interrupts
from .log import LOGGER, describe
from .opening import names
from .terminal import Terminal

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["ChatLoop"]

HELP = """\
  /draft on|off    with or without guesses ahead
  /temp N          the temperature from now on
  /system TEXT     what the model is told beforehand; alone, it is taken away
  /stats           figures of this chat
  /clear           forget the conversation
  /quit            leave (Ctrl-D on an empty line, or Ctrl-C twice)
  A line that ends in \\ goes on in the next one. Ctrl-C stops a reply."""
INTERRUPTED = 130
_FOR_THE_MODEL = ("/think", "/no_think")  # words of some models' own


class ChatLoop:
    """One chat with one loaded pair."""

    def __init__(
        self,
        terminal: Terminal,
        engine: Engine,
        pair: PairSpec,
        settings: Settings,
        interrupts: Interrupts,
    ) -> None:
        self._terminal = terminal
        self._engine = engine
        self._pair = pair
        self._settings = settings
        self._interrupts = interrupts
        self._replies: list[Metrics] = []
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
            self._terminal.note(f"{names(self._pair)}{self._mode()}. /help shows the commands.")
        while True:
            try:
                line = self._read()
                if line is None:
                    return 0
                if line.strip() and not self._take(line):
                    return 0
            except KeyboardInterrupt:
                self._terminal.begin("\n")
                if self._interrupts.is_second() or not self._asks:
                    return INTERRUPTED
                self._terminal.note("Ctrl-C again to quit.")
            except SpecdecError as error:
                LOGGER.debug("in a chat", exc_info=error)
                self._terminal.warn(describe(error))

    def _mode(self) -> str:
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
        words = line.split(maxsplit=1)
        if not line.startswith("/") or words[0] in _FOR_THE_MODEL:
            self._answer(line.strip())
            return True
        if words[0] in ("/quit", "/exit", "/q"):
            return False
        self._obey(words[0], words[1].strip() if len(words) > 1 else "")
        return True

    def _obey(self, command: str, rest: str) -> None:
        say = self._terminal.warn
        if command == "/help":
            say(HELP)
        elif command == "/clear":
            self._engine.thread.call(self._engine.session.clear)
            self._replies.clear()
            say("The conversation is forgotten.")
        elif command == "/stats":
            say("\n".join(self._stats()))
        elif command == "/draft":
            say(self._set_draft(rest))
        elif command == "/temp":
            say(self._set_temperature(rest))
        elif command == "/system":
            self._engine.session.conversation.system = rest
            say("Set from the next reply on." if rest else "No system prompt any more.")
        else:
            say(
                f"There is no {command}. /help shows what there is; a space first sends it as text."
            )

    def _set_draft(self, word: str) -> str:
        if word not in ("on", "off"):
            return "Say /draft on or /draft off."
        if self._pair.draft is None:
            return "No draft is loaded: start again with --draft NAME."
        self._settings = self._settings.changed(draft=word == "on")
        return f"Drafting is {word} from the next reply on."

    def _set_temperature(self, word: str) -> str:
        try:
            value = float(word)
        except ValueError:
            return "Say a number, such as /temp 0.7."
        self._settings = settings_from(self._settings, temperature=value)
        return f"The temperature is {value:g} from the next reply on."

    def _answer(self, line: str) -> None:
        stream = self._engine.ask(line, self._settings)
        view: AnswerView | None = None
        with self._interrupts.stopping(stream.cancel):
            for event in stream.events():
                view = view or AnswerView(self._terminal, self._engine.session.begins_thinking)
                view.show(event)
        if view is None:
            return
        view.end()
        metrics = stream.metrics
        if metrics.emitted_tokens:
            self._replies.append(metrics)
        note = limit_note(view.reason, self._settings.max_tokens, view.is_thinking)
        if view.reason == "cancelled":
            note = "stopped while thinking" if view.is_thinking else "stopped"
        if note and not self._terminal.quiet:
            self._terminal.warn(f"[{note}]")
        self._terminal.note(summary(metrics))

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
            f"drafting {'on' if self._settings.draft and self._pair.draft else 'off'}, "
            f"temperature {self._settings.sampling.temperature:g}",
        ]

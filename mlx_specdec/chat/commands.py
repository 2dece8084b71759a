"""What may be typed in a chat besides words for the model: commands and their completion."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import UsageError
from ..request import COPY
from ..settings import Settings, settings_from

__all__ = [
    "COMMANDS",
    "ChatCommand",
    "changed_settings",
    "completions",
    "drafting_words",
    "parse_command",
]

_FOR_THE_MODEL = ("/think", "/no_think")  # words of some models' own


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """``usage`` is what comes after the name; ``words`` one line that says what it does."""

    name: str
    usage: str
    words: str

    @property
    def takes_argument(self) -> bool:
        return bool(self.usage)


_TABLE = (
    ChatCommand("/system", "TEXT", "what the model is told beforehand; alone: nothing"),
    ChatCommand("/clear", "", "forget the conversation"),
    ChatCommand("/draft", "on|off|copy", "guesses ahead, none, or copied from the text"),
    ChatCommand("/temp", "N", "the temperature; 0 is the likeliest word"),
    ChatCommand("/lookahead", "N|auto", "tokens guessed a round, 0 to 16"),
    ChatCommand("/resume", "NAME", "go on with a chat kept before"),
    ChatCommand("/help", "", "the commands and the keys"),
    ChatCommand("/quit", "", "leave"),
)
COMMANDS = {command.name: command for command in _TABLE}
_SYNONYMS = {"/exit": "/quit", "/q": "/quit", "/temperature": "/temp", "/?": "/help"}
_WORDS = {"/draft": ("on", "off", "copy"), "/lookahead": ("auto", "0", "2", "3", "4"), "/temp": ()}


def parse_command(line: str) -> tuple[ChatCommand, str] | None:
    """The command that a line is, and its argument; None for words to the model.

    A blank before the slash sends the line as it is; so do several lines, and a path.

    Raises:
        UsageError: it looks like a command and is none, with the nearest one.
    """
    if not line.startswith("/") or "\n" in line.strip():
        return None
    word, _, rest = line.strip().partition(" ")
    name = word.lower()
    if name in _FOR_THE_MODEL or "/" in name[1:]:
        return None
    command = COMMANDS.get(_SYNONYMS.get(name, name))
    if command is not None:
        return command, rest.strip()
    near = difflib.get_close_matches(name, list(COMMANDS), n=1, cutoff=0.6)
    raise UsageError(
        f"There is no {word}.",
        f"Did you mean {near[0]}? Nothing was sent; a blank first sends it as text."
        if near
        else "/help shows what there is. Nothing was sent; a blank first sends it as text.",
    )


def completions(line: str, chats: Sequence[str] = ()) -> list[tuple[str, str]]:
    """What a line may become, each with a word about it; empty where nothing is to complete.

    Args:
        chats: names for ``/resume``.
    """
    if not line.startswith("/") or "\n" in line:
        return []
    name, blank, begun = line.partition(" ")
    if not blank:
        return [
            (f"{command.name} " if command.takes_argument else command.name, _about(command))
            for command in _TABLE
            if command.name.startswith(name.lower()) and command.name != line
        ]
    choices = chats if name == "/resume" else _WORDS.get(name, ())
    return [
        (f"{name} {choice}", "")
        for choice in choices
        if choice.startswith(begun.lower()) and choice != begun
    ]


def _about(command: ChatCommand) -> str:
    return f"{command.usage:<11} {command.words}"


def changed_settings(
    name: str, argument: str, settings: Settings, has_draft: bool
) -> tuple[Settings, str]:
    """What ``/draft``, ``/temp`` or ``/lookahead`` makes of the settings, and what to say.

    Raises:
        UsageError: an argument that makes no sense, with one that does.
    """
    if name == "/draft":
        return _draft(argument, settings, has_draft)
    if name == "/temp":
        return _temperature(argument, settings)
    return _lookahead(argument, settings)


def _draft(word: str, settings: Settings, has_draft: bool) -> tuple[Settings, str]:
    if word not in ("on", "off", COPY):
        raise UsageError("Say /draft on, /draft off or /draft copy.")
    if word == COPY:
        said = "Guesses are copied from the text from the next reply on."
        return settings.changed(draft=COPY), said
    if not has_draft and settings.draft != COPY:
        raise UsageError("No draft is loaded.", "Start again with --draft NAME, or /draft copy.")
    if not has_draft and word == "on":
        raise UsageError("No draft is loaded.", "Start again with --draft NAME.")
    return settings.changed(draft=word == "on"), f"Drafting is {word} from the next reply on."


def drafting_words(settings: Settings, has_draft: bool) -> str:
    """``drafting on``, ``drafting off`` or ``copying``."""
    if settings.draft == COPY:
        return "copying"
    return f"drafting {'on' if settings.draft and has_draft else 'off'}"


def _temperature(word: str, settings: Settings) -> tuple[Settings, str]:
    try:
        value = float(word.replace(",", "."))
    except ValueError:
        raise UsageError("Say a number, such as /temp 0.7.") from None
    changed = settings_from(settings, temperature=value)
    return changed, f"The temperature is {value:g} from the next reply on."


def _lookahead(word: str, settings: Settings) -> tuple[Settings, str]:
    if word != "auto" and not word.isdecimal():
        raise UsageError("Say a number from 0 to 16, or auto, such as /lookahead 3.")
    value = word if word == "auto" else int(word)
    changed = settings_from(settings, lookahead=value)
    changed.request((0,))  # a wrong value is said now
    said = "Not drafting" if value == 0 else f"The lookahead is {value}"
    return changed, f"{said} from the next reply on."

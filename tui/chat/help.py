"""Words of the chat screen: keys, help, what stands in an empty chat, how a reply ended."""

from __future__ import annotations

from mlx_specdec.chat.commands import COMMANDS
from mlx_specdec.chat.reply_track import ReplyTrack
from mlx_specdec.figures import limit_note, pair_names, short_name
from mlx_specdec.memory import bytes_text
from tui.opening import Opening
from tui.state import AppState

__all__ = [
    "HELP",
    "empty_words",
    "end_note",
    "kept_note",
    "key_words",
    "loading_words",
]

_KEYS = (
    ("enter", "send; ctrl+j, or \\ before enter, begins a new line"),
    ("up", "empty field: edit the last message; else older ones"),
    ("esc", "stop the reply; else to the transcript, and back"),
    ("j k", "there: over messages, thinking and blocks of code"),
    ("y", "there: copy what is selected"),
    ("t", "there: token by token; green is the draft's"),
    ("enter i", "there: unfold the thinking; else write again"),
    ("pgup pgdn end", "scroll; the end follows the reply again"),
    ("ctrl+c", "stop the reply; twice within two seconds quits"),
    ("ctrl+d", "on an empty field: quit"),
)
_SPEECH = {"cancelled": "stopped", "interrupted": "the program ended here", "failed": "failed"}
HELP = "\n".join(
    [f"{c.name + ' ' + c.usage:<19} {c.words}" for c in COMMANDS.values()]
    + [""]
    + [f"{key:<19} {words}" for key, words in _KEYS]
)


def key_words(mode: str, shows_tokens: bool) -> tuple[tuple[str, str], ...]:
    """The last row.

    Args:
        mode: ``write``, ``reply`` (one is under way), ``edit``, ``complete`` (a command) or
            ``read`` (the transcript).
    """
    tokens = ("t", "as Markdown" if shows_tokens else "colour tokens")
    if mode == "read":
        keys = (("j k", "move"), ("y", "copy"), tokens, ("enter", "write"), ("1 3 4", "screens"))
        return (*keys, ("?", "all keys"), ("q", "quit"))
    if mode == "complete":
        return (("↑ ↓", "choose"), ("tab", "take"), ("enter", "take it and go"), ("esc", "close"))
    if mode == "edit":
        return (("enter", "send anew"), ("esc", "leave as it was"), ("ctrl+d", "quit"))
    escape = ("esc", "stop reply") if mode == "reply" else ("esc", "transcript")
    keys = (("enter", "send"), ("ctrl+j", "line"), ("/", "commands"), ("↑", "edit last"), escape)
    return (*keys, ("ctrl+p", "all"), ("ctrl+d", "quit"))


def empty_words(state: AppState, opening: Opening) -> str:
    """What stands in a chat in which nothing was said yet."""
    pair = state.pair
    if not state.is_ready or pair is None:
        return f"{loading_words(state, opening)}\nYou can write meanwhile."
    ahead = "without a draft"
    if pair.draft is not None:
        ahead = f"{short_name(pair.draft)} guesses ahead"
    elif pair.copies:
        ahead = "guesses are copied from the text"
    lines = [f"{short_name(pair.target)} answers, {ahead}."]
    if pair.target.built_in:
        lines.append("It is a toy: ask for the meaning of a word, or let it go on with a text.")
    if opening.note:
        lines.append(opening.note)
    return "\n".join([*lines, "", "Write below. / shows the commands, /help the keys."])


def loading_words(state: AppState, opening: Opening) -> str:
    """What the models are about, as long as they are not there."""
    pair = opening.pair or state.pair
    names = pair_names(pair) if pair is not None else "the models"
    if opening.phase == "failed" and opening.failure is not None:
        return f"{opening.failure.title}: {opening.failure.message} {opening.failure.hint}"
    if opening.phase == "cancelled":
        return "no models are loaded: esc, then m chooses some"
    doing = "downloading" if opening.phase == "downloading" else "loading"
    size = f", {bytes_text(opening.stored_bytes)}" if opening.stored_bytes else ""
    return f"{doing} {names}{size} …"


def end_note(track: ReplyTrack, max_tokens: int | None) -> tuple[str, bool]:
    """How a reply ended, when that needs saying; and whether it is a warning."""
    if track.failure is not None:
        failure = track.failure
        return f"{failure.title}: {failure.message} {failure.hint}".strip(), True
    if track.reason == "cancelled":
        where = " while thinking" if track.is_thinking else ""
        return f"stopped{where}" + ("" if track.text else " before the first word"), False
    note = limit_note(track.reason, max_tokens, track.is_thinking)
    if track.reason == "context":
        note += ". /clear forgets the conversation; /resume brings it back"
    if not note and not track.answer.strip():
        note = "the reply is empty"
    return note, bool(note)


def kept_note(reason: str) -> str:
    """The same of a reply that was kept before."""
    return _SPEECH.get(reason, "")

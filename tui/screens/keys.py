"""KeysScreen: every key, and every word on the screen explained with this race's own numbers."""

from __future__ import annotations

from typing import ClassVar

from mlx_specdec.definitions import DEFINITIONS
from mlx_specdec.metrics import Metrics
from mlx_specdec.safe_text import safe_text
from tui.widgets.key_line import KeyLine

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

__all__ = ["KEYS", "KeysScreen"]

EVERYWHERE = (
    ("1 2 3 4", "race, chat, ledger, proof"),
    ("m", "other models; they load while everything goes on"),
    ("?", "this page"),
    ("ctrl+p", "everything there is to do, to be searched, themes too"),
    ("esc", "one step back"),
    ("ctrl+c", "stop what runs; twice within two seconds: quit"),
    ("q", "quit; the result stays in the terminal"),
)
KEYS: dict[str, tuple[tuple[str, str], ...]] = {
    "race": (
        ("space", "pause the race clock, or let it go on"),
        ("enter", "race again"),
        ("p", "another prompt"),
        ("- +", "guess less or further from the next race on; 0 does not draft"),
        ("a", "let what a pass costs here decide how far"),
        ("t", "temperature of the next race"),
        ("s", "step through the pass on the screen"),
        ("R", "watch it again at true speed"),
        ("← →", "pass by pass"),
        ("↑ ↓", "move the text; end follows it again"),
        ("x", "share: the line, a card, a card that moves"),
        ("w", "time other weight formats where drafting is parked, about 20 s"),
        ("c", "copy instead of drafting where that is parked; c drafts again"),
        ("f", "draft all the same where drafting is parked"),
    ),
    "chat": (
        ("enter", "send"),
        ("ctrl+j", "a new line in the message"),
        ("↑", "edit the last message"),
        ("/", "commands, /help lists them"),
        ("esc", "stop the reply; then to the transcript, where letters are keys"),
        ("i", "back to the message"),
        ("t", "colour the tokens by who wrote them"),
        ("y", "copy a message or a code block"),
        ("ctrl+d", "quit, on an empty line"),
    ),
    "ledger": (
        ("← → ↑ ↓", "move the mark; what stands above follows"),
        ("r", "this reply, or the whole session"),
        ("enter", "take the marked lookahead from now on"),
        ("m", "time the passes again, about 8 s"),
        ("x", "share the race: a line and two cards"),
    ),
    "proof": (
        ("enter", "draw again"),
        ("1 2 3", "break it on purpose"),
    ),
}
WORDS: dict[str, tuple[str, ...]] = {
    "race": (
        "tokens_per_second",
        "speedup",
        "tokens_per_target_pass",
        "target_passes",
        "acceptance_rate",
        "acceptance_by_position",
        "accepted_per_proposed",
        "draft_share",
        "ttft_seconds",
    ),
}
_OTHER_WORDS = ("tokens_per_second", "tokens_per_target_pass", "acceptance_rate", "ttft_seconds")
_COLUMN = 12


class KeysScreen(ModalScreen[None]):
    """A page to read.

    Args:
        name: of the screen below.
        metrics: figures of what is on that screen; None where there are none.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "dismiss(None)", "close", show=False),
    ]

    def __init__(self, name: str, metrics: Metrics | None = None) -> None:
        super().__init__()
        self._below = name
        self._metrics = metrics

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="page"):
            yield Static(self._page(), id="text")
        yield KeyLine([("↑ ↓", "read on"), ("esc", "back")])

    def _page(self) -> Content:
        parts: list[Content] = [Content.styled("KEYS", "bold")]
        parts += [_entry(*row) for row in KEYS.get(self._below, ())]
        parts += [Content(""), Content.styled("EVERYWHERE", "bold")]
        parts += [_entry(*row) for row in EVERYWHERE]
        parts += [Content(""), Content.styled("WORDS", "bold")]
        for name in WORDS.get(self._below, _OTHER_WORDS):
            parts += _explained(name, self._metrics)
        return Content("\n").join(parts)


def _entry(key: str, words: str) -> Content:
    return Content.assemble((f"  {key:<{_COLUMN - 2}}", "bold"), words)


def _explained(name: str, metrics: Metrics | None) -> list[Content]:
    found = DEFINITIONS[name]
    lines = [Content.assemble((f"  {found.label}", "bold"), f"   {safe_text(found.definition)}")]
    source = f" ({found.paper})" if found.paper else ""
    if found.formula:
        lines.append(Content.styled(f"      = {found.formula}{source}", "$foreground-muted"))
    numbers = _numbers(name, metrics) if metrics is not None else ""
    if numbers:
        lines.append(Content.styled(f"      here: {numbers}", "$text-success"))
    return lines


def _numbers(name: str, metrics: Metrics) -> str:
    """The definition with the race's numbers in it."""
    if name == "acceptance_rate" and metrics.acceptance_rate is not None:
        return (
            f"{metrics.acceptance_rate:.0%} = {metrics.accepted} kept of {metrics.tested} checked; "
            f"{metrics.proposed - metrics.tested} guesses after a miss were never checked"
        )
    if name == "accepted_per_proposed" and metrics.accepted_per_proposed is not None:
        share = metrics.accepted_per_proposed
        return f"{share:.0%} = {metrics.accepted} kept of {metrics.proposed} proposed"
    if name == "draft_share" and metrics.draft_share is not None:
        share = metrics.draft_share
        return f"{share:.0%} = {metrics.accepted} of {metrics.emitted_tokens} tokens"
    if name == "tokens_per_second" and metrics.tokens_per_second is not None:
        return (
            f"{metrics.tokens_per_second:.1f} = {metrics.decode_tokens} tokens in "
            f"{metrics.decode_seconds:.2f} s"
        )
    if name == "tokens_per_target_pass" and metrics.tokens_per_target_pass is not None:
        many = metrics.tokens_per_target_pass
        return f"{many:.2f} = {metrics.decode_tokens} tokens in {metrics.target_passes} passes"
    if name == "ttft_seconds" and metrics.ttft_seconds is not None:
        return f"{metrics.ttft_seconds:.2f} s"
    return ""

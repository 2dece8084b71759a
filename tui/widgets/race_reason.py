"""RaceReason: why drafting does not pay here, as a picture, and what one can do about it."""

from __future__ import annotations

from mlx_specdec.costs.machines import DEFAULT_ACCEPTANCE
from mlx_specdec.costs.prices import Prices
from mlx_specdec.figures import percent
from mlx_specdec.race.recording import RecordingHeader
from mlx_specdec.race.words import draft_word, target_word

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

__all__ = ["RaceReason", "reason_rows"]

_WORDS = 70  # cells of an option's words
_BAR = 16  # cells of the dearer of two passes
_DRAFT_SHARE = 0.4  # of a target's pass: from here on the draft itself is the reason
_DEAR_ROW = 1.5  # passes
_TALL_PICTURE = 5  # rows


def reason_rows(
    header: RecordingHeader, prices: Prices | None, weights: tuple[str, str]
) -> list[Content]:
    """The picture and the ways out, a row each, at most 78 cells wide.

    Args:
        weights: what is known of other weight formats, and how long it takes to know more.
    """
    rows: list[Content] = []
    if prices is not None:
        rows += _picture(header, prices)
        if len(rows) < _TALL_PICTURE:  # or the last option would stand below the window
            rows.append(Content(""))
    chip = header.chip.replace("-", " ").title() if header.chip else "this machine"
    rows.append(Content.styled(f"What would pay on {_article(chip)}{chip}:", "bold"))
    force = ""
    if prices is not None:
        lookahead = _usual(prices)
        forced = prices.model.speedup(DEFAULT_ACCEPTANCE, lookahead)
        force = f", about {forced:.1f} times" if forced < 1 else ""
    for key, words in (
        ("w", _with_time(*weights)),
        ("c", "copying instead of guessing, for edits and rewrites: race it"),
        ("m", "a larger target: the dearer its pass, the more a kept guess saves"),
        ("3", "the ledger: the acceptance and the lookahead that it would take"),
        ("f", f"force lookahead 3 and watch it lose{force}"),
    ):
        rows.append(Content.assemble("  ", (key, "bold"), f"   {words}"))
    return rows


def _with_time(words: str, time: str) -> str:
    """Words with a time at the row's right edge."""
    return f"{words:<{_WORDS - cell_len(time)}}{time}"


def _article(chip: str) -> str:
    return "" if chip == "this machine" else "an "


def _usual(prices: Prices) -> int:
    most = prices.model.max_lookahead
    return 3 if most is None else max(1, min(3, most))


def _picture(header: RecordingHeader, prices: Prices) -> list[Content]:
    model = prices.model
    plain, second = model.target_seconds, model.verify_seconds(1)
    draft = model.draft_seconds(1)
    dearest = max(plain, second, draft)
    lines = [("pass over 1 token", plain, ""), ("pass over 2 tokens", second, "")]
    if second < _DEAR_ROW * plain and draft > _DRAFT_SHARE * plain:
        lines.append((f"pass of {draft_word(header)}", draft, ""))
    rows = []
    for name, seconds, _ in lines:
        length = max(1, round(_BAR * seconds / dearest))
        ratio = seconds / plain
        words = f"{ratio:.1f} times" if ratio != 1 else f"one pass of {target_word(header)}"
        rows.append(
            Content.assemble(
                f"  {name:<22}{seconds * 1000:5.0f} ms  ",
                ("▄" * length, "$text-warning" if ratio >= _DEAR_ROW else ""),
                " " * (_BAR - length + 2),
                (words, "$foreground-muted"),
            )
        )
    best = max(range(1, _usual(prices) + 1), key=lambda g: model.speedup(DEFAULT_ACCEPTANCE, g))
    would = model.speedup(DEFAULT_ACCEPTANCE, best)
    assumed = f"lookahead {best}, if {percent(DEFAULT_ACCEPTANCE)} of guesses were kept"
    rows.append(
        Content.assemble(
            f"  {'it would have been':<22}{would:5.2f} x   ", (assumed, "$foreground-muted")
        )
    )
    rows.append(Content.styled(f"  {prices.words}", "$foreground-muted"))
    return rows


class RaceReason(Widget):
    """The reason, in the place of the panes or of the tape."""

    DEFAULT_CSS = """
    RaceReason { width: 1fr; height: auto; padding: 0 1; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._content = Content("")

    def show(
        self, header: RecordingHeader, prices: Prices | None, weights: tuple[str, str]
    ) -> None:
        """Draw the reason for this race; ``weights`` as in ``reason_rows``."""
        self._content = Content("\n").join(reason_rows(header, prices, weights))
        self.refresh(layout=True)

    def render(self) -> Content:
        return self._content

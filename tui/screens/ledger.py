"""LedgerScreen: where the time went, and what another lookahead would make of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from mlx_specdec.figures import percent, times
from mlx_specdec.forecast.prediction import short_score
from mlx_specdec.ledger.words import (
    acceptance_sentence,
    break_even_sentence,
    headline,
    short_acceptance,
    three_rates,
)
from tui.ledger_scopes import Scope, empty_scope, scopes
from tui.messages import StateChanged
from tui.state import AppState
from tui.widgets.key_line import KeyLine
from tui.widgets.ledger_heat import LedgerHeat
from tui.widgets.ledger_tables import LedgerAccount, LedgerFall, LedgerPasses
from tui.widgets.top_line import TopLine

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import Resize, ScreenResume
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

__all__ = ["LedgerScreen"]

WIDE, TALL = 112, 36
_LOOK_SECONDS = 0.25
_GAP = 3
_WIDEST = 132  # columns that the tables spread over
_ALONE = 60  # columns of the waterfall where nothing stands beside it

_EMPTY = (
    "Nothing has run yet, so there are no seconds to account for.",
    "",
    "When something has, this screen shows where its time went, why 2.65 tokens",
    "a pass are not 2.65 times as fast, and which lookahead is the best here.",
    "",
    "  1   race: the same answer without and with drafting, side by side",
    "  2   chat: every reply is accounted for once it is there",
)


class LedgerScreen(Screen[None]):
    """The ledger of the last race, the last reply or the whole chat.

    Args:
        state: what ran and what it costs here; looked at, never written.
        measure: begins a calibration; None while the app offers none.
    """

    DEFAULT_CSS = """
    LedgerScreen #body { padding: 0 1; scrollbar-size-vertical: 1; }
    LedgerScreen .row { height: auto; }
    LedgerScreen .gap { width: 3; }
    LedgerScreen Static.words { height: auto; }
    LedgerScreen.-wide .spaced { margin-top: 1; }
    LedgerScreen.-short #passes { display: none; }
    LedgerScreen.-short #ways { display: none; }
    LedgerScreen.-short #tables { margin-top: 1; }
    LedgerScreen.-short #heat { margin-top: 1; }
    LedgerScreen.-short #words { margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1, 0)", "acceptance", show=False),
        Binding("down", "move(1, 0)", "acceptance", show=False),
        Binding("left", "move(0, -1)", "lookahead", show=False),
        Binding("right", "move(0, 1)", "lookahead", show=False),
        Binding("pageup", "scroll_body(-1)", "up", show=False),
        Binding("pagedown", "scroll_body(1)", "down", show=False),
        Binding("r", "scope", "reply or session", show=False),
        Binding("enter", "use", "use this setting", show=False),
        Binding("x", "share", "share", show=False),
        Binding("m", "measure", "measure again", show=False),
    ]

    @dataclass
    class LookaheadChosen(Message):
        """Use this lookahead from the next race and reply on."""

        lookahead: int

    class ShareAsked(Message):
        """Share the race that the ledger is of."""

    def __init__(self, state: AppState, measure: Callable[[], None] | None = None) -> None:
        super().__init__()
        self._state = state
        self._measure = measure
        self._scopes: tuple[Scope, ...] = ()
        self._whose = ""
        self._mark: tuple[int, int] | None = None
        self._seen: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield TopLine("ledger")
        with VerticalScroll(id="body", can_focus=False):
            yield Static("", id="headline", classes="words spaced", markup=False)
            with Horizontal(id="tables", classes="row spaced"):
                yield LedgerAccount()
                yield Static("", classes="gap")
                yield LedgerFall()
            yield LedgerHeat()
            yield LedgerPasses()
            yield Static("", id="words", classes="words spaced", markup=False)
            yield Static("", id="ways", classes="words spaced", markup=False)
        yield KeyLine([])

    def on_mount(self) -> None:
        self.query_one(LedgerHeat).id = "heat"
        self.query_one(LedgerHeat).add_class("spaced")
        self.query_one(LedgerPasses).id = "passes"
        self.query_one(LedgerPasses).add_class("spaced")
        self._look()
        self.set_interval(_LOOK_SECONDS, self._look)

    def on_screen_resume(self, event: ScreenResume) -> None:
        self._look()

    def on_state_changed(self, message: StateChanged) -> None:
        self._look()

    def on_resize(self, event: Resize) -> None:
        self._draw()

    # ------------------------------------------------------------------ what is shown

    @property
    def scope(self) -> Scope:
        """What the ledger is of."""
        chosen = next((each for each in self._scopes if each.whose == self._whose), None)
        return chosen or (self._scopes[0] if self._scopes else empty_scope(self._state))

    @property
    def mark(self) -> tuple[int, int] | None:
        """Row and column of the marked cell; None without prices."""
        return self._mark

    def offer_measuring(self, measure: Callable[[], None] | None) -> None:
        """Offer to time the passes, or no longer."""
        self._measure = measure
        self._draw()

    def _look(self) -> None:
        """Draw anew when something has run; cheap when nothing has."""
        state = self._state
        recording, replies = state.recording, state.replies
        seen = (
            id(recording),
            len(recording.speculative) if recording else 0,
            len(recording.standard) if recording else 0,
            len(replies),
            len(replies[-1]) if replies else 0,
            id(state.prices),
            id(state.score),
            id(state.pair),
            state.machine,
        )
        if seen == self._seen or not self.is_current:
            return
        self._seen = seen
        before = self.scope.view.heat
        self._scopes = scopes(state)
        heat = self.scope.view.heat
        if self._mark is None or before is None or heat is None or before.run_cell != heat.run_cell:
            self._mark = self.scope.view.first_mark
        self._draw()

    def _draw(self) -> None:
        width, height = self.size
        if not width or not self.is_mounted:
            return
        is_short = width < WIDE or height < TALL
        self.set_class(is_short, "-short")
        self.set_class(not is_short, "-wide")
        scope = self.scope
        self.query_one(TopLine).set_right(scope.right)
        self._draw_tables(scope, min(width, _WIDEST) - 2, is_short)
        self._draw_words(scope, is_short)
        self.query_one(KeyLine).set_keys(self._keys(width))

    def _draw_tables(self, scope: Scope, width: int, is_short: bool) -> None:
        view, is_empty = scope.view, not scope.whose
        half = (width - _GAP) // 2
        left = half if not is_short else max(half, min(45, width - 35))
        account, fall = self.query_one(LedgerAccount), self.query_one(LedgerFall)
        account.display = not is_empty
        fall.display = self._mark is not None
        self.query_one(".gap").display = not is_empty
        account.styles.width = left if fall.display else "1fr"
        if not is_empty:
            account.show(view, scope.whose, left, is_short)
        if self._mark is not None:
            room = min(width, _ALONE) if is_empty else width - left - _GAP
            fall.show(view, view.fall(*self._mark), room, is_short)
        heat = self.query_one(LedgerHeat)
        heat.display = not is_empty or view.heat is not None
        heat.show(view, self._mark, width, is_short)
        self.query_one(LedgerPasses).show(view)

    def _draw_words(self, scope: Scope, is_short: bool) -> None:
        view = scope.view
        if scope.whose:
            first, second = headline(view)
            top = Content.assemble((first, "bold"), "" if is_short or not second else f" {second}")
            words = self._sentences(scope, is_short)
        else:
            is_tight = is_short and view.heat is not None
            top, words = Content("\n".join(_EMPTY[:1] if is_tight else _EMPTY)), []
            if view.heat is not None:
                words = [f"From {view.prices_words}; nothing of it has run here yet."]
        self.query_one("#headline", Static).update(top)
        self.query_one("#words", Static).update(Content("\n".join(words)))
        self.query_one("#ways", Static).update(self._ways(scope))

    def _sentences(self, scope: Scope, is_short: bool) -> list[str]:
        view = scope.view
        if not is_short:
            return [acceptance_sentence(view), three_rates(view)]
        lines = [short_acceptance(view)]
        if view.heat is not None:
            rate = view.metrics.acceptance_rate
            here = "not drafting" if rate is None else percent(rate)
            lines = [f"{break_even_sentence(view)}.   here: {here}", *lines]
            lines.append(f"prices: {view.prices_words}")
        if view.forecast is not None:
            measured = times(view.forecast.measured)
            lines.append(f"{short_score(view.forecast)} before the race, measured {measured}")
        return lines

    def _ways(self, scope: Scope) -> Content:
        parts: list[str] = []
        if self._mark is not None:
            parts.append("↑ ↓ ← → move the mark, the waterfall above follows")
        if len(self._scopes) > 1:
            parts.append(f"this is {scope.words}: r shows {self._next_scope().words}")
        if self._measure is not None:
            parts.append("m measure again")
        return Content("     ".join(parts))

    def _keys(self, width: int) -> list[tuple[str, str]]:
        is_wide = width >= WIDE
        keys = [("1", "race"), ("2", "chat")]
        if self._mark is not None:
            keys.append(("← → ↑ ↓" if is_wide else "arrows", "what if"))
            keys.append(("enter", "use this setting" if is_wide else "use it"))
        if len(self._scopes) > 1:
            keys.append(("r", self._next_scope().words if is_wide else self._next_scope().whose))
        if self._measure is not None:
            keys.append(("m", "measure again" if is_wide else "measure"))
        if self.scope.recording is not None:
            keys.append(("x", "share"))
        return [*keys, ("?", "all keys" if is_wide else "keys"), ("q", "quit")]

    # ------------------------------------------------------------------ keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """``m`` is the app's own key until there is something to measure with."""
        return self._measure is not None if action == "measure" else True

    def action_move(self, rows: int, columns: int) -> None:
        """Move the mark; at an edge it stays."""
        heat = self.scope.view.heat
        if heat is None or self._mark is None:
            return
        row = min(max(self._mark[0] + rows, 0), len(heat.acceptances) - 1)
        column = min(max(self._mark[1] + columns, 0), len(heat.lookaheads) - 1)
        self._mark = (row, column)
        self._draw()

    def action_scroll_body(self, pages: int) -> None:
        """By a page, where the screen is too small."""
        body = self.query_one("#body", VerticalScroll)
        body.scroll_relative(y=pages * max(body.size.height - 2, 1), animate=False)

    def action_scope(self) -> None:
        """The next thing to account for."""
        if len(self._scopes) < 2:
            words = "There is only this to account for." if self._scopes else "Nothing has run yet."
            self.notify(words, markup=False)
            return
        self._whose = self._next_scope().whose
        self._mark = self.scope.view.first_mark
        self._draw()

    def _next_scope(self) -> Scope:
        place = self._scopes.index(self.scope)
        return self._scopes[(place + 1) % len(self._scopes)]

    def action_use(self) -> None:
        """Take the marked lookahead for what comes next."""
        heat = self.scope.view.heat
        if heat is None or self._mark is None:
            self.notify("There is no setting to take yet: race once.", markup=False)
            return
        self.post_message(self.LookaheadChosen(heat.lookaheads[self._mark[1]]))

    def action_share(self) -> None:
        """Share the race; a reply has no plain lane to compare with."""
        if self.scope.recording is None:
            self.notify("A race can be shared: press 1.", markup=False)
            return
        self.post_message(self.ShareAsked())

    def action_measure(self) -> None:
        """Time the passes of this pair again."""
        if self._measure is not None:
            self._measure()

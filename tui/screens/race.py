"""RaceScreen: both lanes side by side on one race clock: what is drawn, and when."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from mlx_specdec.prompts import Prompt
from mlx_specdec.race.moment import RaceMoment
from mlx_specdec.request import COPY
from mlx_specdec.safe_text import safe_text
from tui.bridge import Bridge
from tui.messages import Notice, OpenStep, ShareLine, StateChanged
from tui.opening import AppOpening
from tui.opening_words import opening_words
from tui.race.director import RaceDirector
from tui.state import AppState
from tui.widgets.key_line import KeyLine
from tui.widgets.race_bars import RaceBars
from tui.widgets.race_figures import RaceFigures
from tui.widgets.race_pane import RacePane, guess_pieces, shared_top
from tui.widgets.race_prompt import RacePrompt
from tui.widgets.race_reason import RaceReason
from tui.widgets.race_status import RaceStatus
from tui.widgets.race_tape import RaceTape
from tui.widgets.race_words import author_words, key_words
from tui.widgets.scoreboard import ScoreboardTable
from tui.widgets.top_line import TopLine

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

__all__ = ["RaceScreen"]

TEXT_SECONDS, FIGURE_SECONDS = 0.1, 0.25
NEEDED_COLUMNS, NEEDED_ROWS = 72, 20
TALL_ROWS, WIDE_COLUMNS = 30, 100
_GAP = 3
_SURE_PASSES = 8  # without a guess; a policy may begin with a few plain ones


class RaceScreen(Screen[None]):
    """The race. What is shown, and what a key does to it, is the director's; this draws.

    Args:
        state: shared with the other screens.
        bridge: the way to the engine.
        opening: what the command line asked for.
        clock: seconds, for everything that moves.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pause", "pause or go on", show=False),
        Binding("enter", "again", "race again", show=False),
        Binding("p", "prompt", "choose the prompt", show=False),
        Binding("minus,underscore", "lookahead(-1)", "look less far ahead", show=False),
        Binding("plus,equals_sign", "lookahead(1)", "look further ahead", show=False),
        Binding("a", "lookahead_auto", "lookahead by what pays", show=False),
        Binding("t", "temperature", "temperature", show=False),
        Binding("s", "step", "step mode", show=False),
        Binding("R", "true_speed", "watch again at true speed", show=False),
        Binding("left", "scrub(-1)", "one pass back", show=False),
        Binding("right", "scrub(1)", "one pass on", show=False),
        Binding("x", "share", "share", show=False),
        Binding("c", "copy", "copying instead of drafting", show=False),
        Binding("f", "force", "force drafting", show=False),
        Binding("up", "scroll_text(-1)", "text up", show=False),
        Binding("down", "scroll_text(1)", "text down", show=False),
        Binding("pageup", "scroll_text(-8)", "text up", show=False),
        Binding("pagedown", "scroll_text(8)", "text down", show=False),
        Binding("home", "scroll_text(-100000)", "to the first line", show=False),
        Binding("end", "scroll_text(0)", "follow the text", show=False),
    ]

    COMMANDS_BY_NAME: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("Race again", "enter", "screen.again"),
        ("Race on another prompt", "p", "screen.prompt"),
        ("Watch the race again at true speed", "R", "screen.true_speed"),
        ("Step through the pass on the screen", "s", "screen.step"),
        ("Share the race", "x", "screen.share"),
        ("Change the temperature", "t", "screen.temperature"),
    )

    def __init__(
        self,
        state: AppState,
        bridge: Bridge,
        opening: AppOpening | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._state = state
        self._bridge = bridge
        self._clock = clock
        self.director = RaceDirector(
            state,
            bridge,
            opening or AppOpening(),
            clock,
            tell=self._tell,
            keep_words=self._keep_words,
        )
        self._top: int | None = None  # None follows the text
        self._is_parked = False
        self._drawn: RaceMoment | None = None
        self._figures_drawn: tuple[object, ...] | None = None
        self._heads_drawn: tuple[object, ...] | None = None

    def compose(self) -> ComposeResult:
        yield TopLine("race")
        with Horizontal(id="narrow"):
            yield Static("", id="narrow-words", markup=False)
        yield RacePrompt(id="prompt")
        yield RaceFigures(id="figures")
        yield RaceBars(id="bars")
        yield Static("", id="sentence", markup=False)
        with Horizontal(id="heads"):
            yield Static("", id="head-standard", markup=False)
            yield Static("", id="head-speculative", markup=False)
        with Horizontal(id="panes"):
            yield RacePane(id="standard")
            yield RacePane(id="speculative")
        yield RaceReason(id="reason")
        yield RaceTape(id="tape")
        yield ScoreboardTable(id="scores")
        yield RaceStatus(id="status")
        yield KeyLine(key_words(is_parked=False, is_wide=True))

    def on_mount(self) -> None:
        for pane in self.query(RacePane):
            pane.set_class(self.app.no_color, "-marks-own")
        self._lay_out(self.app.size.width, self.app.size.height)
        self._text_timer = self.set_interval(TEXT_SECONDS, self._draw_text)
        self._figure_timer = self.set_interval(FIGURE_SECONDS, self._draw_figures)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.director.begin()
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        self._lay_out(event.size.width, event.size.height)
        self.call_after_refresh(self._draw)

    def on_screen_resume(self) -> None:
        for timer in (self._text_timer, self._figure_timer):
            timer.resume()

    def on_screen_suspend(self) -> None:
        """A race under way goes on unseen; what moves on the screen stands still."""
        for timer in (self._text_timer, self._figure_timer):
            timer.pause()

    def on_state_changed(self, message: StateChanged) -> None:
        self.director.look_at_opening()
        self._draw_figures()

    # ------------------------------------------------------------------ drawing

    def _lay_out(self, width: int, height: int) -> None:
        is_small = width < NEEDED_COLUMNS or height < NEEDED_ROWS
        self.set_class(is_small, "-small")
        self.set_class(height >= TALL_ROWS, "-tall")
        self.set_class(width < WIDE_COLUMNS, "-mid")
        for name in ("standard", "speculative"):  # equal widths, or equal words would part
            self.query_one(f"#{name}").styles.width = max((width - 2 - _GAP) // 2, 1)
            self.query_one(f"#head-{name}").styles.width = max((width - 2 - _GAP) // 2, 1)
        self._show_keys(width)
        self.query_one("#narrow-words", Static).update(
            f"The race is shown side by side, which takes {NEEDED_COLUMNS} columns and "
            f"{NEEDED_ROWS} rows; this window has {width} and {height}. Make it larger, or its "
            "letters smaller.\n\nThe race goes on meanwhile."
        )

    def _show_keys(self, width: int) -> None:
        self.query_one(KeyLine).set_keys(key_words(self._is_parked, width >= WIDE_COLUMNS))

    def _draw(self) -> None:
        """Draw all of it, whether or not anything has changed."""
        self._drawn = self._figures_drawn = None
        self._draw_text()
        self._draw_figures()

    def _draw_text(self) -> None:
        moment = self.director.tick()
        if moment is None or moment is self._drawn or self.has_class("-small"):
            return
        self._drawn = moment
        self._draw_panes(moment)
        self.query_one(RaceBars).show(moment, self.director.totals)
        self.query_one(RaceTape).show(moment)

    def _draw_panes(self, moment: RaceMoment) -> None:
        found = moment.equality.difference
        panes = (self.query_one("#standard", RacePane), self.query_one("#speculative", RacePane))
        for pane, lane in zip(panes, moment.lanes, strict=True):
            pane.show(
                lane.emitted,
                guess_pieces(lane, self.director.rate),
                is_writing=not lane.is_finished,
                differs_at=found.index if found is not None else None,
                trailing=lane.text[sum(len(token.text) for token in lane.emitted) :],
            )
        lines = [pane.num_lines for pane in panes]
        top = shared_top(lines, panes[0].size.height) if self._top is None else self._top
        for pane in panes:
            pane.scroll_text(top)

    def _draw_figures(self) -> None:
        moment = self.director.moment
        if moment is None:
            return
        director = self.director
        words = opening_words(self._bridge.opening, self._clock() - director.opening_since)
        value = (
            *(moment, director.labels(), director.was, director.wishes.words(), words),
            *(director.rate, director.is_paused, director.is_photo, director.is_over),
        )
        if self._figures_drawn is not None and _same(value, self._figures_drawn):
            return
        self._figures_drawn = value
        self.query_one(TopLine).set_right(director.top_words())
        self.query_one(RacePrompt).show(moment.header, *director.labels())
        self.query_one(RaceFigures).show(moment, director.was, director.wishes.words())
        sentence = Content(safe_text(moment.sentence()))
        self.query_one("#sentence", Static).update(sentence, layout=False)
        self._draw_heads(moment)
        status = self.query_one(RaceStatus)
        status.show(moment, director, words)
        self._park(moment)
        self.set_class(director.shows_scoreboard, "-scores")
        if director.shows_scoreboard:
            kind = self._state.prompt.kind
            self.query_one(ScoreboardTable).show(director.scoreboard, kind)

    def _draw_heads(self, moment: RaceMoment) -> None:
        width = self.query_one("#head-standard").size.width
        value = (width, moment.is_parked, moment.header)
        if value == self._heads_drawn:
            return
        self._heads_drawn = value
        who = author_words(moment, width, self.app.no_color)
        for name, words in (("standard", ""), ("speculative", who)):
            head = name.upper()
            line = "─" * max(width - cell_len(head) - cell_len(words) - (3 if words else 2), 1)
            text = Content.assemble(
                (head, "bold"),
                " ",
                (line, "$foreground-disabled"),
                " " if words else "",
                (words, "$text-success"),
            )
            self.query_one(f"#head-{name}", Static).update(text, layout=False)

    def _park(self, moment: RaceMoment) -> None:
        """Show the reason in the place of the text where drafting does not pay."""
        is_sure = moment.is_finished or moment.speculative.num_passes >= _SURE_PASSES
        is_parked = moment.is_parked and is_sure and moment.header.lookahead != "0"
        is_parked = is_parked and moment.header.draft != COPY  # whose reason is the text
        if is_parked != self._is_parked:
            self._is_parked = is_parked
            self.set_class(is_parked, "-parked")
            self._show_keys(self.app.size.width)
            if is_parked:
                reason = self.query_one(RaceReason)
                reason.show(moment.header, self.director.prices(moment.header))

    # ------------------------------------------------------------------ keys

    def action_pause(self) -> None:
        self.director.toggle_pause()
        self._draw()

    def action_again(self) -> None:
        self._top = None
        self.director.again()
        self._draw()

    def action_stop(self) -> None:
        """Stop a race under way; what it brought stays."""
        self.director.stop()

    def action_prompt(self) -> None:
        from tui.screens.prompts import PromptsScreen

        self.app.push_screen(
            PromptsScreen(self._state.prompt, self.director.is_toy), self._take_prompt
        )

    def _take_prompt(self, prompt: object) -> None:
        if isinstance(prompt, Prompt):  # None: the person went back
            self._top = None
            self.director.take_prompt(prompt)
            self._draw()

    def action_lookahead(self, step: int) -> None:
        self._say(self.director.wishes.change_lookahead(step))

    def action_lookahead_auto(self) -> None:
        self._say(self.director.wishes.set_lookahead("auto"))

    def action_temperature(self) -> None:
        self.director.wishes.change_temperature()
        self._draw_figures()

    def action_true_speed(self) -> None:
        self._top = None
        self._say(self.director.watch_at_true_speed())
        self._draw()

    def action_scrub(self, direction: int) -> None:
        self.director.scrub(direction)
        self._draw()

    def action_copy(self) -> None:
        if self._is_parked or self._state.race_settings.draft == COPY:
            self._say(self.director.race_copying())
            self._draw()

    def action_force(self) -> None:
        self._say(self.director.force_drafting())
        self._draw()

    def action_scroll_text(self, lines: int) -> None:
        """Move both texts; 0 follows what is written again."""
        panes = list(self.query(RacePane))
        height = panes[0].size.height
        most = max(max(pane.num_lines for pane in panes) - height, 0)
        if lines == 0:
            self._top = None
        else:
            now = shared_top([pane.num_lines for pane in panes], height)
            self._top = min(max((now if self._top is None else self._top) + lines, 0), most)
        self._drawn = None
        self._draw_text()

    def on_mouse_scroll_down(self) -> None:
        self.action_scroll_text(2)

    def on_mouse_scroll_up(self) -> None:
        self.action_scroll_text(-2)

    def action_step(self) -> None:
        if self.director.can_step():
            self.director.pause()
            self.post_message(OpenStep(self.director.round_index))
        else:
            self._say("There is no pass to step through yet.")

    def action_share(self) -> None:
        """Save the cards, and show the line."""
        from tui.sharing import shared_notice

        recording = self.director.shown_recording
        if recording is None or not self.director.has_ended:
            self._say("A race can be shared once both lanes are in.")
            return
        header = recording.header
        prices = self.director.prices(header)
        notice, line = shared_notice(recording, self.director.shared_rate, prices)
        if line is not None:
            self.post_message(line)
        self.post_message(notice)

    def _keep_words(self, words: str) -> None:
        self.post_message(ShareLine(words))

    def _tell(self, title: str, text: str, hint: str) -> None:
        self.post_message(Notice(title, text, hint, is_error=True))

    def _say(self, words: str) -> None:
        """What a key changed, at once: beside the figures, or as a note where they say nothing."""
        if words:
            self.app.clear_notifications()
            self.notify(words, timeout=4, markup=False)
        self._draw_figures()


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether nothing is to be drawn: the moment is the same object, the rest is equal."""
    return one[0] is other[0] and one[1:] == other[1:]

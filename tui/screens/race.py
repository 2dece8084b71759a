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
from tui.race.other_weights import OtherWeights
from tui.state import AppState
from tui.widgets.key_line import KeyLine
from tui.widgets.race_bars import RaceBars
from tui.widgets.race_figures import RaceFigures
from tui.widgets.race_heads import RaceHeads
from tui.widgets.race_keys import WIDE_COLUMNS, race_keys
from tui.widgets.race_panes import RacePanes
from tui.widgets.race_prompt import RacePrompt
from tui.widgets.race_status import RaceStatus
from tui.widgets.race_tape import RaceTape
from tui.widgets.scoreboard import ScoreboardTable
from tui.widgets.top_line import TopLine

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
TALL_ROWS = 30
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
        Binding("w", "weights", "other weight formats", show=False),
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
        ("Time other weight formats where drafting is parked", "w", "screen.weights"),
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
        self._is_parked = False
        self._drawn: RaceMoment | None = None
        self._figures_drawn: tuple[object, ...] | None = None
        self.weights = OtherWeights(state, bridge)
        self._why_drawn: tuple[object, ...] | None = None

    def compose(self) -> ComposeResult:
        yield TopLine("race")
        with Horizontal(id="narrow"):
            yield Static("", id="narrow-words", markup=False)
        yield RacePrompt(id="prompt")
        yield RaceFigures(id="figures")
        yield RaceBars(id="bars")
        yield Static("", id="sentence", markup=False)
        yield RaceHeads(id="heads")
        yield RacePanes(id="panes")
        yield RaceTape(id="tape")
        yield ScoreboardTable(id="scores")
        yield RaceStatus(id="status")
        yield KeyLine(race_keys(WIDE_COLUMNS, False))

    def on_mount(self) -> None:
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
        self.weights.stop()
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
        self.query_one(KeyLine).set_keys(race_keys(width, self._is_parked))
        self.query_one("#narrow-words", Static).update(
            f"The race is shown side by side, which takes {NEEDED_COLUMNS} columns and "
            f"{NEEDED_ROWS} rows; this window has {width} and {height}. Make it larger, or its "
            "letters smaller.\n\nThe race goes on meanwhile."
        )

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
        self.query_one(RacePanes).show(moment, self.director.rate)
        self.query_one(RaceBars).show(moment, self.director.totals)
        self.query_one(RaceTape).show(moment)

    def _draw_figures(self) -> None:
        moment = self.director.moment
        if moment is None:
            return
        director = self.director
        words = opening_words(self._bridge.opening, self._clock() - director.opening_since)
        value = (
            *(moment, director.labels(), director.was, director.wishes.words(), words),
            *(director.rate, director.is_paused, director.is_photo, director.is_over),
            self._look_at_weights(moment),
        )
        if self._figures_drawn is not None and _same(value, self._figures_drawn):
            return
        self._figures_drawn = value
        self.query_one(TopLine).set_right(director.top_words())
        self.query_one(RacePrompt).show(moment.header, *director.labels())
        self.query_one(RaceFigures).show(moment, director.was, director.wishes.words())
        sentence = Content(safe_text(moment.sentence()))
        self.query_one("#sentence", Static).update(sentence, layout=False)
        self.query_one(RaceHeads).show(moment)
        status = self.query_one(RaceStatus)
        status.show(moment, director, words)
        self._park(moment)
        self.set_class(director.shows_scoreboard, "-scores")
        if director.shows_scoreboard:
            kind = self._state.prompt.kind
            self.query_one(ScoreboardTable).show(director.scoreboard, kind)

    def _park(self, moment: RaceMoment) -> None:
        """Show the reason in the place of the text where drafting does not pay."""
        is_sure = moment.is_finished or moment.speculative.num_passes >= _SURE_PASSES
        is_parked = moment.is_parked and is_sure and moment.header.lookahead != "0"
        is_parked = is_parked and moment.header.draft != COPY  # whose reason is the text
        if is_parked != self._is_parked:
            self._is_parked, self._why_drawn = is_parked, None
            self.set_class(is_parked, "-parked")
            self.query_one(KeyLine).set_keys(race_keys(self.size.width, is_parked))
        if is_parked:
            self._say_why(moment)

    def _say_why(self, moment: RaceMoment) -> None:
        """Most races pay: the reason why not is made where it is needed, after the first frame."""
        option = self.weights.option(moment)
        if (moment.header, option) == self._why_drawn:
            return
        from tui.widgets.race_reason import RaceReason

        self._why_drawn = (moment.header, option)
        found = self.query(RaceReason)
        reason = found.first() if found else RaceReason(id="reason")
        reason.show(moment.header, self.director.prices(moment.header), option)
        if not found:
            self.mount(reason, after="#panes")

    def _look_at_weights(self, moment: RaceMoment) -> tuple[str, str]:
        """Take in what has been timed of other weight formats, and say what they are worth."""
        self.weights.seen.see(moment)
        is_found = self.weights.tick()
        trouble = self.weights.take_trouble()
        if trouble is not None:
            self._tell(*trouble)
        if is_found:
            self._show_weights()
        return self.weights.option(moment) if moment.is_parked else ("", "")

    # ------------------------------------------------------------------ keys

    def action_pause(self) -> None:
        self.director.toggle_pause()
        self._draw()

    def action_again(self) -> None:
        self.query_one(RacePanes).follow()
        self.director.again()
        self._draw()

    def action_stop(self) -> None:
        """Stop a race under way, or the timing of weights; what a race brought stays."""
        self.weights.stop()
        self.director.stop()

    def action_prompt(self) -> None:
        from tui.screens.prompts import PromptsScreen

        self.app.push_screen(
            PromptsScreen(self._state.prompt, self.director.is_toy), self._take_prompt
        )

    def _take_prompt(self, prompt: object) -> None:
        if isinstance(prompt, Prompt):  # None: the person went back
            self.query_one(RacePanes).follow()
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
        self.query_one(RacePanes).follow()
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

    def on_key(self, event: events.Key) -> None:
        """Any key ends the timing of weights; these two do nothing else then."""
        if self.weights.is_running:
            self.weights.stop()
            self._draw_figures()
            if event.key in ("w", "escape"):
                event.stop()

    def action_weights(self) -> None:
        """What other weight formats cost here: shown where it is known, else timed."""
        if not self._is_parked:
            self._say("w is for a race in which drafting is parked.")
        elif not self._show_weights():
            self._time_weights(True)

    def _time_weights(self, is_wanted: bool | None) -> None:
        if is_wanted and self.director.moment is not None:
            self._say(self.weights.start(self.director.moment.header))

    def _show_weights(self) -> bool:
        """Show what was found of this race's pair; whether anything was."""
        moment = self.director.moment
        view = self.weights.view(moment) if moment is not None else None
        if view is None:
            return False
        from tui.screens.weights import WeightsScreen

        self.app.push_screen(WeightsScreen(view), self._time_weights)
        return True

    def action_scroll_text(self, lines: int) -> None:
        """Move both texts; 0 follows what is written again."""
        panes = self.query_one(RacePanes)
        if lines == 0:
            panes.follow()
        else:
            panes.move(lines)
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

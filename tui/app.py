"""SpecdecApp: the app's shell: screens, the keys they share, opening models, leaving."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

from mlx_specdec.errors import SpecdecError
from mlx_specdec.race.recording import SPECULATIVE
from mlx_specdec.request import COPY
from mlx_specdec.settings import settings_from
from tui.bridge import Bridge
from tui.collector import begin_rounds
from tui.crash import TellingApp
from tui.idle_measuring import IdleMeasuring
from tui.lenient_input import accept_any_bytes
from tui.measuring import Measuring
from tui.messages import Notice, OpenStep, ShareLine, StateChanged
from tui.opening import AppOpening, Opening
from tui.state import TOY_TEMPERATURE, AppState

from textual import events
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

__all__ = ["SpecdecApp", "run_app"]

QUIT_SECONDS = 2.0
WATCH_SECONDS = 0.1
IDLE_LOOK_SECONDS = 1.0
_INPUT = (events.Key, events.Paste, events.MouseDown, events.MouseScrollDown, events.MouseScrollUp)


class SpecdecApp(TellingApp):
    """The whole app.

    Args:
        opening: what the command line asked for.
        bridge: the way to the engine.
        clock: seconds, for everything that moves on the screen.
    """

    TITLE = "mlx-specdec"
    CSS_PATH = "tui.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "show('race')", "race", show=False),
        Binding("2", "show('chat')", "chat", show=False),
        Binding("3", "show('ledger')", "ledger", show=False),
        Binding("4", "show('proof')", "proof", show=False),
        Binding("m", "models", "models", show=False),
        Binding("question_mark", "keys", "all keys", show=False),
        Binding("escape", "back", "back", show=False),
        Binding("q", "quit", "quit", show=False),
        Binding("ctrl+c", "stop_or_quit", "stop", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", "suspend", show=False),
    ]

    def __init__(
        self,
        opening: AppOpening,
        bridge: Bridge | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        vars(self)["DEFAULT_MODE"] = opening.screen  # else an empty screen would be drawn before it
        super().__init__()
        self.opening = opening
        self.bridge = Bridge() if bridge is None else bridge
        self.clock = clock
        self.state = AppState()
        if opening.settings is not None:
            self.state.settings = opening.settings
        if opening.race_settings is not None:
            self.state.race_settings = opening.race_settings
        if opening.prompt is not None:
            self.state.prompt = opening.prompt
        self._measuring = Measuring(
            self.state, self.bridge, self.run_worker, self._say, self._tell_screens
        )
        self._idle = IdleMeasuring(
            self.state,
            self.bridge,
            self._say,
            self._tell_screens,
            clock,
            is_wanted=opening.measures_when_idle,
        )
        self.share_line = ""
        self._seen = Opening()
        self._stopped_at = float("-inf")
        for name in ("race", "chat", "ledger", "proof"):
            self.add_mode(name, self._maker(name))

    # ------------------------------------------------------------------ screens

    def _maker(self, name: str) -> Callable[[], Screen[Any]]:
        return lambda: self._made(name)

    def _made(self, name: str) -> Screen[Any]:
        module = import_module(f"tui.screens.{name}")
        if name == "race":
            screen: Screen[Any] = module.RaceScreen(
                self.state, self.bridge, self.opening, self.clock
            )
        elif name == "chat":
            screen = module.ChatScreen(self.state, self.bridge, self.opening.more.get("chat"))
        elif name == "ledger":
            screen = module.LedgerScreen(self.state, self._measuring.start)
        else:
            screen = module.ProofScreen(self.state, self.bridge)
        return screen

    def on_mount(self) -> None:
        self._watch_opening()
        self.set_interval(WATCH_SECONDS, self._watch_opening)
        self.call_after_refresh(begin_rounds)
        self.set_interval(IDLE_LOOK_SECONDS, self._look_idle)
        if self.opening.request is not None:
            request = self.opening.request
            self.call_after_refresh(lambda: self.bridge.open(request))

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, _INPUT):
            self._idle.come_back()
        await super().on_event(event)

    def _look_idle(self) -> None:
        director = getattr(self.screen, "director", None)
        self._idle.look(director is not None and not (director.is_over or director.is_paused))

    def action_show(self, name: str) -> None:
        """Go to another screen; one that is not there is said so."""
        if self.current_mode == name:
            while len(self.screen_stack) > 1:
                self.pop_screen()
            return
        try:
            self.switch_mode(name)
        except ModuleNotFoundError:
            self.notify(f"There is no {name} screen in this version.", markup=False)

    async def action_back(self) -> None:
        """One step back: from what lies above a screen, then to the race."""
        if len(self.screen_stack) > 1:
            self.pop_screen()
        elif self.current_mode != "race":
            self.action_show("race")

    def action_keys(self) -> None:
        """All keys, and the words on the screen explained."""
        from tui.screens.keys import KeysScreen

        if not isinstance(self.screen, KeysScreen):
            recording = self.state.recording
            metrics = recording.metrics(SPECULATIVE) if recording is not None else None
            self.push_screen(KeysScreen(self.current_mode, metrics))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Everything there is to do, for the palette: screens, models, the screen's keys."""
        for number, name in enumerate(("race", "chat", "ledger", "proof"), start=1):
            yield SystemCommand(
                f"Go to the {name}", f"key {number}", partial(self.action_show, name)
            )
        yield SystemCommand("Load other models", "key m", self.action_models)
        for title, key, action in getattr(screen, "COMMANDS_BY_NAME", ()):
            yield SystemCommand(title, f"key {key}", partial(self.run_action, action, screen))
        yield from super().get_system_commands(screen)

    def action_models(self) -> None:
        """The list of models; another pair is loaded while everything goes on."""
        from tui.screens.models import ModelsScreen

        self.push_screen(ModelsScreen(self.state.pair), self._open_pair)

    def action_stop_or_quit(self) -> None:
        """First stop what runs; a second time within two seconds, leave."""
        from textual.widgets import Input, TextArea

        now = self.clock()
        stop = getattr(self.screen, "action_stop", None)
        if now - self._stopped_at <= QUIT_SECONDS:
            self.exit()
            return
        self._stopped_at = now
        if stop is not None:
            stop()
        is_typing = isinstance(self.focused, Input | TextArea)  # there q is a letter
        words = "Ctrl-C again to quit." if is_typing else "Ctrl-C again to quit, or q."
        self.notify(words, timeout=QUIT_SECONDS, markup=False)

    async def action_quit(self) -> None:
        self.exit()

    # ------------------------------------------------------------------ opening

    def _open_pair(self, request: Any) -> None:
        if request is not None:
            self.state.is_ready = False
            self.bridge.open(request)
            self._watch_opening()

    def _watch_opening(self) -> None:
        opening = self.bridge.opening
        if opening is self._seen:
            return
        before, self._seen = self._seen, opening
        is_new = opening.number != before.number
        if opening.phase == "ready" and (is_new or before.phase != "ready"):
            self._take_over(opening)
        if opening.phase == "asking" and (is_new or before.phase != "asking"):
            self._ask(opening)
        if opening.phase == "failed" and (is_new or before.phase != "failed"):
            failure = opening.failure
            assert failure is not None
            self._show_notice(failure.title, failure.message, failure.hint, is_error=True)
        self._tell_screens()

    def _take_over(self, opening: Opening) -> None:
        state, facts = self.state, opening.facts
        is_other = state.pair is not None and state.pair != opening.pair
        if is_other and state.race_settings.draft == COPY:  # where the last pair was parked
            state.race_settings = state.race_settings.changed(draft=True)
        state.pair, state.is_ready = opening.pair, True
        state.machine, state.power, state.versions = facts.machine, facts.power, facts.versions
        state.context_length = facts.context_length
        state.weight_bytes, state.kv_bytes_per_token = facts.weight_bytes, facts.kv_bytes_per_token
        state.memory_limit_bytes = facts.memory_limit_bytes
        state.prices, state.wants_measuring = facts.prices, facts.wants_measuring
        if not self.opening.is_temperature_set:
            temperature = TOY_TEMPERATURE if state.is_toy else 0.0
            state.race_settings = settings_from(state.race_settings, temperature=temperature)
        with contextlib.suppress(SpecdecError):  # values of the model's makers that we refuse
            state.settings = settings_from(state.settings, **self.bridge.generation_defaults())

    def _ask(self, opening: Opening) -> None:
        from tui.screens.download import DownloadScreen

        if opening.question is not None:
            self.push_screen(
                DownloadScreen(opening.question),
                lambda choice: self.bridge.answer_download(choice or "quit"),
            )

    def _tell_screens(self) -> None:
        for stack in self._screen_stacks.values():
            for screen in stack:
                screen.post_message(StateChanged())

    # ------------------------------------------------------------------ notices

    def _say(self, words: str) -> None:
        self.notify(words, markup=False)

    def on_notice(self, message: Notice) -> None:
        self._show_notice(message.title, message.text, message.hint, message.is_error)

    def on_ledger_screen_lookahead_chosen(self, message: Any) -> None:
        """The ledger's mark becomes the setting of races and replies."""
        changes = {"lookahead": message.lookahead}
        self.state.race_settings = self.state.race_settings.changed(**changes)
        self.state.settings = self.state.settings.changed(**changes)
        self.notify(f"lookahead {message.lookahead} from the next race and reply on", markup=False)

    def on_ledger_screen_share_asked(self) -> None:
        """Share the race that the ledger is of."""
        from tui.sharing import shared_notice

        if self.state.recording is None:
            self.notify("There is no race to share yet.", markup=False)
            return
        notice, line = shared_notice(self.state.recording, 1.0, self.state.prices)
        if line is not None:
            self.share_line = line.line
        self.on_notice(notice)

    def on_open_step(self, message: OpenStep) -> None:
        from tui.screens.step import StepScreen

        self.push_screen(
            StepScreen(
                self.state.recording,
                message.round_index,
                bridge=self.bridge,
                app_state=self.state,
            )
        )

    def on_share_line(self, message: ShareLine) -> None:
        self.share_line = message.line

    def _show_notice(self, title: str, text: str, hint: str, is_error: bool) -> None:
        from tui.screens.notice import NoticeScreen

        self.push_screen(NoticeScreen(title, text, hint, is_error))


def run_app(opening: AppOpening) -> int:
    """Run the app until the person leaves; 0, or 1 after an error that ended it.

    The result line stays in the scrollback. Whoever calls it ends the process at once where the
    engine is still in a pass (see cli.main).
    """
    accept_any_bytes()
    app = SpecdecApp(opening)
    try:
        app.run()
    finally:
        app.bridge.close()
    from tui.remembering import remember_last

    app.tell_crash()
    remember_last(app.state, is_replay=opening.replay is not None)
    if app.share_line:
        sys.stdout.write(f"{app.share_line}\n")
        sys.stdout.flush()
    return app.return_code or 0

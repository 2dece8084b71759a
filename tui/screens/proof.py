"""ProofScreen: the next word drawn thousands of times with drafting; then break it on purpose."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, ClassVar

from mlx_specdec.audit.report import AuditReport
from mlx_specdec.audit.store import last_audit
from mlx_specdec.errors import SpecdecError
from mlx_specdec.events import Round
from mlx_specdec.lesson.guess_table import WIDE
from mlx_specdec.lesson.proof import DRAWS, NextWordLaw, Way, draw_words, fox_law
from mlx_specdec.lesson.step_words import counted
from tui.bridge import Bridge
from tui.lesson.proof_jobs import AuditRun, law_of_pair
from tui.lesson.proof_view import ProofView
from tui.messages import Notice, StateChanged
from tui.state import AppState
from tui.widgets.key_line import KeyLine
from tui.widgets.proof_board import ProofBoard
from tui.widgets.top_line import TopLine

import numpy as np
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

__all__ = ["ProofScreen"]

FRAME_SECONDS = 0.25
_ANSWER_TOKENS = 6  # of the last race, before the word that is drawn
KEYS = (
    ("enter", "draw again"),
    ("1 2 3", "break it"),
    ("f", "the fox or the loaded pair"),
    ("a", "full audit"),
    ("?", "words"),
    ("esc", "back"),
)
SHORT_KEYS = (*KEYS[:2], ("f", "fox or pair"), *KEYS[3:])


class ProofScreen(Screen[None]):
    """The proof at one place.

    Args:
        state: shared with the other screens; None in a bare app.
        bridge: the way to the engine; None shows the built-in example only.
        rng: where chance comes from.
        is_moving: False shows a draw at once.
        law: what to draw from, in place of the built-in example.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "draw('exact')", "draw again", show=False),
        Binding("1", "draw('redraw')", "redraw from the target", show=False),
        Binding("2", "rewind", "rewind one token too few", show=False),
        Binding("3", "draw('unsure')", "skip unsure guesses", show=False),
        Binding("f", "law", "built-in example or loaded pair", show=False),
        Binding("a", "audit", "full audit", show=False),
        Binding("question_mark", "words", "words", show=False),
    ]

    def __init__(
        self,
        state: AppState | None = None,
        bridge: Bridge | None = None,
        *,
        rng: np.random.Generator | None = None,
        is_moving: bool = True,
        law: NextWordLaw | None = None,
    ) -> None:
        super().__init__()
        self._app_state = AppState() if state is None else state
        self._bridge = bridge
        self._rng = np.random.default_rng() if rng is None else rng
        self._is_moving = is_moving
        self._view = ProofView(fox_law() if law is None else law)
        self._run: AuditRun | None = None

    def compose(self) -> ComposeResult:
        yield TopLine("proof")
        yield ProofBoard(id="board")
        yield KeyLine(KEYS)

    def on_mount(self) -> None:
        self.set_interval(FRAME_SECONDS, self._tick)
        self._set(audit=self._audit_words())
        self.action_draw("exact")

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._draw)

    def on_state_changed(self, message: StateChanged) -> None:
        self._set(audit=self._audit_words())

    def on_unmount(self) -> None:
        if self._run is not None:
            self._run.cancel()

    @property
    def view(self) -> ProofView:
        """What is shown."""
        return self._view

    def _set(self, **changes: Any) -> None:
        self._view = replace(self._view, **changes)
        self._draw()

    def _draw(self) -> None:
        law = self._view.law
        self.query_one(KeyLine).set_keys(KEYS if self.size.width >= WIDE else SHORT_KEYS)
        right = f"{law.source} · temp {law.temperature:g} · rule rejection · {DRAWS:,} draws"
        self.query_one(TopLine).set_right(right)
        board = self.query_one(ProofBoard)
        if board.size.height:
            board.set_view(self._view)

    def _tick(self) -> None:
        """The bars fall a step; an audit under way says how far it is."""
        if self._view.draw is not None and not self._view.is_whole:
            self._set(step=self._view.step + 1)
        run = self._run
        if run is not None and run.progress is not None:
            step = run.progress
            left = "" if step.seconds_left is None else f", about {step.seconds_left:.0f} s left"
            words = f"{step.doing}: {step.share:.0%} done{left}."
            self._set(note=words[:1].upper() + words[1:])

    # ------------------------------------------------------------------ drawing

    def action_draw(self, way: Way) -> None:
        """Draw anew, by the rule or with it broken."""
        draw = draw_words(self._view.law, self._rng, way)
        draws = {**self._view.draws, way: draw}
        self._set(draws=draws, way=way, step=0 if self._is_moving else -1)

    def action_law(self) -> None:
        """The built-in example, or the loaded pair at the beginning of the last answer."""
        if self._view.law.source != "built-in example":
            self._take(fox_law())
        elif self._can_ask():
            self._ask_pair()

    def _can_ask(self) -> bool:
        if self._bridge is None or not self._app_state.is_ready:
            self.notify(
                "No pair is loaded yet; esc leads to the race, which loads one.", markup=False
            )
            return False
        if self._run is not None:
            self.notify("An audit is under way; esc stops it.", markup=False)
            return False
        return True

    def _take(self, law: NextWordLaw) -> None:
        self._view = ProofView(law, audit=self._view.audit, rewind=self._view.rewind)
        self.action_draw("exact")

    @work(exclusive=True)
    async def _ask_pair(self) -> None:
        assert self._bridge is not None
        answer, prompt = self._answer_start(), self._app_state.prompt.text
        settings = self._app_state.race_settings
        self._set(note="The loaded pair reads the prompt.")
        try:
            future: Future[NextWordLaw] = self._bridge.conversation_call(
                law_of_pair(prompt, answer, settings)
            )
            law = await asyncio.wrap_future(future)
        except SpecdecError as error:
            self._set(note="")
            self.post_message(Notice(error.title, error.message, error.hint, is_error=True))
            return
        self._take(law)

    def _answer_start(self) -> list[int]:
        recording = self._app_state.recording
        if recording is None or recording.header.prompt != self._app_state.prompt.text:
            return []
        tokens = [
            token.token
            for event in recording.speculative
            if isinstance(event, Round)
            for token in event.emitted
        ]
        return tokens[:_ANSWER_TOKENS]

    # ------------------------------------------------------------------ audit

    def action_audit(self) -> None:
        """The whole audit on the loaded pair."""
        if self._can_ask():
            self._audit(AuditRun())

    def action_rewind(self) -> None:
        """The second break: real rounds of the loaded pair with a faulty rewind."""
        if self._can_ask():
            self._set(rewind="being tried")
            self._audit(AuditRun(fault="rewind"))

    @work(exclusive=True)
    async def _audit(self, run: AuditRun) -> None:
        assert self._bridge is not None
        self._run = run
        try:
            future: Future[AuditReport | None] = self._bridge.conversation_call(run)
            report = await asyncio.wrap_future(future)
        except SpecdecError as error:
            self.post_message(Notice(error.title, error.message, error.hint, is_error=True))
            report = None
        finally:
            self._run = None
        if run.fault:
            self._set(rewind=_rewind_words(report), note="")
        else:
            self._set(audit=self._audit_words(), note=_report_words(report))

    def _audit_words(self) -> str:
        kept = last_audit()
        last = "never run here" if kept is None else kept.words()
        if self._bridge is None or not self._app_state.is_ready:
            return f"whole audit: needs a loaded pair · {last}"
        count = "" if kept is None else f"{len(kept.checks)} checks, about {kept.seconds:.0f} s · "
        return f"whole audit: {count}a runs it · {last}"

    # ------------------------------------------------------------------ the rest

    def action_words(self) -> None:
        from tui.screens.words import WordsScreen

        self.app.push_screen(WordsScreen(None))

    def key_escape(self, event: events.Key) -> None:
        """``esc`` stops an audit; without one it is the app's."""
        if self._run is not None:
            event.stop()
            event.prevent_default()
            self._run.cancel()


def _rewind_words(report: AuditReport | None) -> str:
    """Which check caught the broken rewind."""
    if report is None or (report.is_cancelled and not report.failed):
        return "stopped"
    if report.failed:
        return f"✗ caught: {report.failed[0].title.lower()}"
    return "not seen"


def _report_words(report: AuditReport | None) -> str:
    if report is None:
        return ""
    if report.is_cancelled:
        return f"Stopped after {counted(len(report.checks), 'check')}."
    if report.failed:
        first = report.failed[0]
        return f"✗ {first.title}: {first.figure}, allowed {first.bound}. {first.reason}"
    return f"✓ All {len(report.checks)} checks passed in {report.seconds:.0f} s."

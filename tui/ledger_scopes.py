"""What the ledger can be of: the last race, the last reply, the whole chat; as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlx_specdec.costs.prices import Prices, run_prices
from mlx_specdec.events import Event, Round
from mlx_specdec.ledger.account import ModelNames
from mlx_specdec.ledger.view import LedgerView, ledger_view
from mlx_specdec.race.header import size_word
from mlx_specdec.race.recorded_prices import names_in, recorded_prices
from mlx_specdec.race.recording import Recording, RecordingHeader
from tui.state import AppState, pair_words

__all__ = ["Scope", "empty_scope", "scopes"]


@dataclass(frozen=True, slots=True)
class Scope:
    """One thing to account for: ``whose`` in a word, ``words`` with its article, and its view.

    ``right`` is what the top line says; ``recording`` is given for a race alone.
    """

    whose: str
    words: str
    right: str
    view: LedgerView
    recording: Recording | None = None


def scopes(state: AppState) -> tuple[Scope, ...]:
    """All that has rounds, the race first; empty before anything ran."""
    found = []
    recording = state.recording
    if recording is not None and _has_rounds(recording.speculative):
        found.append(_race(state, recording))
    replies = [events for events in state.replies if _has_rounds(events)]
    if replies:
        found.append(_chat(state, replies[-1:], "reply", "the last reply"))
    if len(replies) > 1:
        found.append(_chat(state, replies, "chat", "the whole chat"))
    return tuple(found)


def empty_scope(state: AppState) -> Scope:
    """Before anything ran: what the prices alone can say."""
    return _chat(state, [], "", "")


def _has_rounds(events: Sequence[Event]) -> bool:
    return any(isinstance(event, Round) for event in events)


def _race(state: AppState, recording: Recording) -> Scope:
    header = recording.header
    prices = state.prices if _is_of_this_machine(state, header) else None
    if prices is None:
        prices = recorded_prices(recording)
    names = names_in(header)
    view = ledger_view([recording.speculative], prices, names, recording.standard)
    return Scope("race", "the last race", _header_words(header), view, recording)


def _is_of_this_machine(state: AppState, header: RecordingHeader) -> bool:
    """Whether the app's prices hold for a race: one replayed or re-timed may be of another."""
    if state.pair is None or header.retimed:
        return False
    return header.target == state.pair.target.alias and header.machine == state.machine


def _header_words(header: RecordingHeader) -> str:
    pair = f"{header.target} + {header.draft}" if header.draft else header.target
    parts = [pair, header.quantization, f"temp {header.temperature:g}", header.machine]
    if header.retimed:
        parts.append(f"re-timed for {header.retimed}")
    return " · ".join(part for part in parts if part)


def _chat(state: AppState, replies: Sequence[Sequence[Event]], whose: str, words: str) -> Scope:
    names = ModelNames()
    if state.pair is not None and not state.is_toy:
        draft = state.pair.draft
        names = ModelNames(
            size_word(state.pair.target) or "target",
            (size_word(draft) if draft is not None else "") or "draft",
        )
    view = ledger_view(replies, state.prices or _prices_of_race(state), names)
    return Scope(whose, words, pair_words(state), view)


def _prices_of_race(state: AppState) -> Prices | None:
    recording = state.recording
    if recording is None or not _is_of_this_machine(state, recording.header):
        return None
    return run_prices(recording.standard, recording.speculative)

"""What the ledger can be of: the last race, the last reply, the whole chat; as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlx_specdec.costs.prices import Prices
from mlx_specdec.events import Event, Round
from mlx_specdec.ledger.account import ModelNames
from mlx_specdec.ledger.view import LedgerView, are_copied, ledger_view
from mlx_specdec.race.header import header_names, size_word
from mlx_specdec.race.recorded_prices import names_in, race_prices, recorded_prices
from mlx_specdec.race.recording import Recording, RecordingHeader
from tui.race.prices import is_of_this_machine
from tui.state import AppState, pair_words

__all__ = ["Scope", "empty_scope", "reply_prices", "scopes"]


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
    prices = state.prices if is_of_this_machine(header, state) else None
    if prices is None:
        prices = recorded_prices(recording)
    names = names_in(header)
    plain = recording.standard
    view = ledger_view([recording.speculative], prices, names, plain, state.score)
    return Scope("race", "the last race", _header_words(header), view, recording)


def _header_words(header: RecordingHeader) -> str:
    parts = [
        header_names(header),
        header.quantization,
        f"temp {header.temperature:g}",
        header.machine,
    ]
    if header.retimed:
        parts.append(f"re-timed for {header.retimed}")
    return " · ".join(part for part in parts if part)


def _chat(state: AppState, replies: Sequence[Sequence[Event]], whose: str, words: str) -> Scope:
    names, prices = ModelNames(), reply_prices(state)
    if state.pair is not None and not state.is_toy:
        draft = state.pair.draft
        names = ModelNames(
            size_word(state.pair.target) or "target",
            (size_word(draft) if draft is not None else "") or "draft",
        )
    rounds = (event for events in replies for event in events if isinstance(event, Round))
    if are_copied(rounds):
        names = replace(names, draft="copying")
        prices = None if prices is None else prices.without_draft()
    view = ledger_view(replies, prices, names)
    return Scope(whose, words, pair_words(state), view)


def reply_prices(state: AppState) -> Prices | None:
    """What is known of this machine, else the totals of the last race that was run here."""
    recording = state.recording
    if state.prices is not None:
        return state.prices
    if recording is None or not is_of_this_machine(recording.header, state):
        return None
    return race_prices(recording)

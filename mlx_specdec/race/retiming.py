"""Retiming: a recorded race on another chip's clock, by its published costs; nothing is measured.

What was guessed, kept and written stays as it was recorded; only the seconds are put in:
a round at lookahead g costs cycle(g) at its context (see ``pair_costs``), a round without guesses
one plain pass, the prompt its tokens in bulk. Where no lookahead pays at the acceptance that was
recorded, the speculative lane is shown parked, at plain times.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..costs.machines import CHIPS, Chip, chip_of
from ..costs.pair_costs import PairCosts, published_costs
from ..errors import InvalidRequestError
from ..events import Event, Failed, Finished, Prefilled, Round, Timings
from ..figures import pair_names
from ..ledger.latency import LatencyModel
from ..metrics import fold
from ..model_spec import PairSpec
from ..registry import Registry
from .header import pair_of
from .recording import Recording, RecordingHeader
from .words import NEVER_DRAFTED

__all__ = ["chip_named", "retimed", "retimed_label"]

TABLE_PAIR = ("qwen3-14b", "qwen3-0.6b")
"""The pair that the published tables were made with; it stands in for one of unknown size."""

_DEAR_ROW = 1.5  # passes: from here on the second row alone is the reason
_DEAR_DRAFT = 0.4  # of a target's pass


def chip_named(name: str) -> Chip:
    """The chip that a person means: ``m3-pro``, ``M3 Pro``.

    Raises:
        InvalidRequestError: no published costs; the hint names the nearest, or all.
    """
    wanted = "-".join(name.lower().replace("_", " ").replace("-", " ").split())
    found = CHIPS.get(wanted) or chip_of(wanted)
    if found is not None:
        return found
    near = difflib.get_close_matches(wanted, list(CHIPS), n=1, cutoff=0.6)
    listed = ", ".join(CHIPS)
    guess = f"Did you mean {near[0]}? " if near else ""
    raise InvalidRequestError(
        f"There are no published costs of a chip called {name!r}.", f"{guess}Known: {listed}."
    )


def retimed_label(header: RecordingHeader) -> str:
    """What must stand beside every figure of a re-timed race; empty for one as it was."""
    if not header.retimed:
        return ""
    return f"re-timed, not measured: published costs of {header.retimed}"


def retimed(recording: Recording, chip: Chip, pair: PairSpec | None = None) -> Recording:
    """The same race at the published costs of ``chip``.

    Args:
        pair: whose sizes are priced; None takes the recorded pair's, and for the built-in toy or
            one of unknown size the pair that the tables were made with.
    """
    costs, priced = _costs(recording.header, chip, pair)
    speculative = recording.speculative
    note = _why_parked(recording, costs)
    if note:
        speculative = tuple(_undrafted(speculative, note))
    words = chip.label + (" (scaled from its generation)" if chip.is_scaled else "")
    header = replace(
        recording.header,
        retimed=f"{words}{priced}",
        chip=chip.name,
        machine=f"{chip.label}, re-timed",
        power="",
    )
    lanes = [tuple(_Lane(costs).events(lane)) for lane in (recording.standard, speculative)]
    return Recording(header, lanes[0], lanes[1])


def _costs(header: RecordingHeader, chip: Chip, pair: PairSpec | None) -> tuple[PairCosts, str]:
    """The prices, and the words that name a stand-in pair."""
    registry = Registry.load()
    recorded = pair if pair is not None or header.is_toy else pair_of(header)
    costs = published_costs(chip, recorded.target, recorded.draft) if recorded else None
    if costs is not None:
        return costs, ""
    stand_in = registry.resolve_pair(*TABLE_PAIR).as_drafted(header.draft)
    costs = published_costs(chip, stand_in.target, stand_in.draft)
    assert costs is not None
    return costs, f" with {pair_names(stand_in, ' and ')}"


def _why_parked(recording: Recording, costs: PairCosts) -> str:
    """Why drafting would not have been done there; empty where some lookahead pays."""
    rounds = [event for event in recording.speculative if isinstance(event, Round)]
    acceptance = fold(rounds).acceptance_rate
    if acceptance is None:  # so nothing is known of what drafting would bring there
        return NEVER_DRAFTED if any(each.note for each in rounds) else ""
    model = costs.at(rounds[-1].position)
    if model.best_lookahead(acceptance, costs.max_lookahead) > 0:
        return ""
    return _reason(model)


def _reason(model: LatencyModel) -> str:
    second_row = model.verify_seconds(1) / model.target_seconds
    if second_row >= _DEAR_ROW:
        return f"a pass over 2 rows costs {second_row:.1f} of one here"
    if model.draft_cost > _DEAR_DRAFT:
        return f"the draft's pass costs {model.draft_cost:.2f} of the target's here"
    return "too few guesses are kept for what checking them costs here"


def _undrafted(events: tuple[Event, ...], note: str) -> Iterator[Event]:
    """The same text, one token a pass, nothing drafted."""
    index = 0
    for event in events:
        if not isinstance(event, Round):
            yield event
            continue
        for place, token in enumerate(event.emitted):
            yield Round(
                index=index,
                position=event.position + place,
                lookahead=0,
                proposed=(),
                checks=(),
                num_accepted=0,
                emitted=(replace(token, kind="sampled"),),
                timings=Timings(),
                at=0.0,
                note=note if index else "",
            )
            index += 1


@dataclass
class _Lane:
    """One lane's seconds, put in event by event."""

    costs: PairCosts
    at: float = 0.0
    prompt_tokens: int = 0
    is_draft_awake: bool = False

    def events(self, recorded: tuple[Event, ...]) -> Iterator[Event]:
        for event in recorded:
            yield self._event(event)

    def _event(self, event: Event) -> Event:
        if isinstance(event, Prefilled):
            self.prompt_tokens = event.prompt_tokens
            fresh = event.prompt_tokens - event.reused_tokens
            seconds = fresh * self.costs.target_prefill_seconds
            self.at += seconds
            return replace(event, seconds=seconds, at=self.at)
        if isinstance(event, Round):
            return self._round(event)
        if isinstance(event, Finished):
            return replace(event, at=self.at, peak_memory_bytes=0)
        assert isinstance(event, Failed)
        return replace(event, at=self.at)

    def _round(self, event: Round) -> Round:
        lookahead, context = len(event.proposed), max(event.position - 1, 0)
        cycle = self._cycle(lookahead, context)
        overhead = self.costs.at(context).overhead_seconds if lookahead else 0.0
        waking = 0.0
        if lookahead and not self.is_draft_awake:
            self.is_draft_awake = True
            waking = context * self.costs.draft_prefill_seconds
        self.at += cycle + waking
        timings = Timings(0.0, cycle - overhead, overhead, waking)
        return replace(event, timings=timings, at=self.at)

    def _cycle(self, lookahead: int, context: int) -> float:
        """Past the last lookahead that is priced, the last step's price holds for each more."""
        most = self.costs.max_lookahead
        if lookahead <= most:
            return self.costs.cycle_seconds(lookahead, context)
        last = self.costs.cycle_seconds(most, context)
        step = last - self.costs.cycle_seconds(most - 1, context)
        return last + (lookahead - most) * step

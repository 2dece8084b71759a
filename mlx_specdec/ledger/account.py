"""Where an answer's seconds went: rows that add up to the lane clock, the remainder included.

The host knows the seconds of a round as building, waiting and after. The device runs the draft
and the target in one go, and may begin while the host still queues work (on a CPU it does), so
how a round divides between draft, verify and host is estimated from a price list, and said to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from ..events import Event, Prefilled, Round, Timings
from .latency import LatencyLedger, LatencyModel

__all__ = ["Account", "ModelNames", "TimeRow", "account", "priced_lookahead"]


@dataclass(frozen=True, slots=True)
class ModelNames:
    """What the two models are called in a sentence: sizes such as ``14B`` and ``0.6B``."""

    target: str = "target"
    draft: str = "draft"


@dataclass(frozen=True, slots=True)
class TimeRow:
    """One line of the account. ``detail`` says of what; ``seconds`` may be negative."""

    name: str
    detail: str
    seconds: float
    is_estimate: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """The rows of one or more answers; their seconds sum to ``lane_seconds``.

    ``round_seconds`` is the mean time of a target's pass, prompt and draft prefill not counted;
    None where there was no pass.
    """

    rows: tuple[TimeRow, ...]
    lane_seconds: float
    num_rounds: int
    round_seconds: float | None

    @property
    def has_estimates(self) -> bool:
        """Whether a row was divided by a price list and not measured."""
        return any(row.is_estimate for row in self.rows)


def priced_lookahead(model: LatencyModel, lookahead: int) -> int:
    """``lookahead``, or the largest one that the model prices."""
    most = model.max_lookahead
    return lookahead if most is None else min(lookahead, most)


def account(
    replies: Sequence[Sequence[Event]], model: LatencyModel | None, names: ModelNames
) -> Account:
    """The account of one answer, or of several added up.

    Round 0, which brings the prefill's own token, is counted with the prefill.

    Args:
        replies: the events of each answer, finished or not.
        model: prices that divide a round's seconds; None leaves them as the host saw them.
    """
    ledgers = [_ledger(events) for events in replies]
    events = list(chain.from_iterable(replies))
    rounds = [each for each in events if isinstance(each, Round)]
    passes = [each for each in rounds if each.index > 0]
    lane = sum(ledger.lane_seconds for ledger in ledgers)
    draft_prefill = sum(ledger.draft_prefill_seconds for ledger in ledgers)
    firsts = [each.timings for each in rounds if each.index == 0]
    prefill = sum(ledger.prefill_seconds for ledger in ledgers) + sum(map(_own_seconds, firsts))
    rows = _pass_rows(passes, model, names)
    if draft_prefill:
        own_name = "" if names.draft == ModelNames().draft else names.draft
        rows.append(TimeRow("draft prefill", own_name, draft_prefill))
    if prefill:
        rows.append(TimeRow("prefill", f"{names.target}, {_prompt(events)}", prefill))
    rest = lane - sum(row.seconds for row in rows)
    rows.append(TimeRow("not accounted for", "", rest))
    in_rounds = lane - prefill - draft_prefill
    return Account(tuple(rows), lane, len(passes), in_rounds / len(passes) if passes else None)


def _ledger(events: Iterable[Event]) -> LatencyLedger:
    ledger = LatencyLedger()
    for event in events:
        ledger.add(event)
    return ledger


def _own_seconds(timings: Timings) -> float:
    return timings.build_seconds + timings.wait_seconds + timings.after_seconds


def _prompt(events: Iterable[Event]) -> str:
    read = [each for each in events if isinstance(each, Prefilled)]
    return f"{sum(each.prompt_tokens - each.reused_tokens for each in read)} tokens"


def _pass_rows(
    passes: Sequence[Round], model: LatencyModel | None, names: ModelNames
) -> list[TimeRow]:
    if not passes:
        return []
    own = sum(_own_seconds(each.timings) for each in passes)
    drafted = [len(each.proposed) for each in passes]
    rows_words = f"{names.target}, {_span([count + 1 for count in drafted], 'row')}"
    if model is None:
        device = sum(each.timings.wait_seconds for each in passes)
        return [TimeRow("passes", rows_words, device), TimeRow("build and host", "", own - device)]
    shares = [_device_seconds(each, model) for each in passes]
    draft, verify = sum(each[0] for each in shares), sum(each[1] for each in shares)
    host = TimeRow("accept and host", "", own - draft - verify, True)
    if not any(drafted):
        return [TimeRow("passes", rows_words, verify, True), host]
    rows = [TimeRow("verify", rows_words, verify, True)]
    if draft:  # copying from the text costs nothing
        rows.append(TimeRow("draft", f"{names.draft}, {_span(drafted, 'time')}", draft, True))
    return [*rows, host]


def _device_seconds(event: Round, model: LatencyModel) -> tuple[float, float]:
    """Seconds of a round that the draft's and the target's passes are estimated to have taken.

    The device worked at least while the host waited, and at most from the first thing queued to
    the answer: within these limits the price list says how long.
    """
    count = len(event.proposed)
    draft = model.draft_seconds(count)
    verify = model.verify_seconds(priced_lookahead(model, count))
    least = event.timings.wait_seconds
    device = min(max(least, draft + verify), least + event.timings.build_seconds)
    return device * draft / (draft + verify), device * verify / (draft + verify)


def _span(values: Sequence[int], unit: str) -> str:
    low, high = min(values), max(values)
    words = f"{low}" if low == high else f"{low} to {high}"
    return f"{words} {unit}{'' if high == 1 else 's'}"

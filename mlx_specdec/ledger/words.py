"""The ledger's sentences: what the figures of a LedgerView say in plain words."""

from __future__ import annotations

from ..figures import percent
from .latency import LatencyModel, expected_accepted
from .view import LedgerView

__all__ = [
    "acceptance_sentence",
    "break_even_sentence",
    "headline",
    "short_acceptance",
    "three_rates",
]

_MAX_LOOKAHEAD = 8
_AGREEMENT = 0.05  # share by which a measured speedup may differ before it is said
_SLOWER = 0.97
_MOSTLY = 0.5
_HARDLY_EVER = 0.9  # an acceptance that no ordinary pair reaches


def headline(view: LedgerView) -> tuple[str, str]:
    """One sentence for the top of the ledger, and a second one for where there is room.

    The second may be empty.
    """
    if view.metrics.acceptance_rate is None:
        return _nothing_drafted(view)
    if view.copied_share is not None:
        return _copied(view, view.copied_share)
    if view.model is None:
        kept = percent(view.metrics.acceptance_rate)
        return (
            f"{kept} of the guesses checked were kept; what a pass costs is not known yet.",
            "A race beside plain decoding shows which lookahead is best.",
        )
    best = view.model.best_lookahead(view.metrics.acceptance_rate, _MAX_LOOKAHEAD)
    return _setting(view, view.model, view.metrics.acceptance_rate, best)


def _copied(view: LedgerView, share: float) -> tuple[str, str]:
    gain, speed = "", view.measured_speedup
    if speed is not None:
        gain = f"That was {speed:.2f} times plain."
    return (
        f"{percent(share)} of the passes copied; "
        f"{percent(view.metrics.acceptance_rate)} of the guesses checked were kept.",
        gain,
    )


def _nothing_drafted(view: LedgerView) -> tuple[str, str]:
    first = f"Nothing was drafted here: {view.note}." if view.note else "Nothing was drafted here."
    priced = [(needed, g) for g, needed in view.break_even if needed is not None]
    if view.model is None:
        return first, ""
    if not priced:
        return first, "No lookahead can pay at these prices, whatever is kept."
    needed, lookahead = min(priced)
    if needed > _HARDLY_EVER:
        return first, f"At these prices no lookahead pays below {percent(needed)} acceptance."
    return first, f"Lookahead {lookahead} pays from {percent(needed)} acceptance on."


def _setting(
    view: LedgerView, model: LatencyModel, acceptance: float, best: int
) -> tuple[str, str]:
    own, best_speed = view.modelled_speedup, model.speedup(acceptance, best)
    measured = view.measured_speedup
    lookahead = view.lookahead
    best_words = f"Lookahead {best} is best: {best_speed:.2f} times."
    if best == 0:
        best_words = "Lookahead 0, plain decoding, is best here."
    if lookahead == 0:
        return _parked(model, acceptance, best, best_speed)
    if measured is not None and measured < _SLOWER:
        return (
            f"Drafting was slower than plain here: {measured:.2f} times with {_lookaheads(view)}.",
            best_words if best != lookahead else f"The prices explain {own or 0:.2f}.",
        )
    if measured is not None and own and abs(measured / own - 1) > _AGREEMENT:
        second = f"The prices explain {own:.2f}"
        if best != lookahead:
            second += f" and put lookahead {best} first ({best_speed:.2f})"
        made = f"{_lookaheads(view).capitalize()} made {measured:.2f} times plain here."
        return made, f"{second}."
    if own is None:
        return best_words, f"Lookahead {lookahead}, which ran, has no price."
    if round(own, 2) < 1:
        return (
            f"Lookahead {lookahead} is slower than plain at these prices: {own:.2f} times.",
            best_words,
        )
    if best != lookahead and round(own, 2) < round(best_speed, 2):
        return (
            f"Lookahead {best} would be better here: {best_speed:.2f} times plain, not "
            f"{own:.2f} as with {lookahead}.",
            "",
        )
    is_widest = model.max_lookahead is not None and model.max_lookahead < _MAX_LOOKAHEAD
    setting = "of those with a price" if is_widest else "setting here"
    return (
        f"Lookahead {lookahead} is the best {setting}: {own:.2f} times plain.",
        _why_no_more(model, acceptance, lookahead),
    )


def _lookaheads(view: LedgerView) -> str:
    """``lookahead 3``, or ``lookahead 2 to 4`` where it followed the text."""
    asked = [event.lookahead for event in view.run_rounds if event.proposed]
    low, high = min(asked), max(asked)
    return f"lookahead {low}" if low == high else f"lookahead {low} to {high}"


def _parked(
    model: LatencyModel, acceptance: float, best: int, best_speed: float
) -> tuple[str, str]:
    kept = f"with {percent(acceptance)} of the guesses kept"
    if best == 0:
        least = model.speedup(acceptance, 1)
        return (
            f"Drafting is parked, rightly: {kept}, lookahead 1 would make {least:.2f} times plain.",
            "",
        )
    return (
        f"Drafting was parked; {kept}, lookahead {best} would make {best_speed:.2f} times plain.",
        "",
    )


def _why_no_more(model: LatencyModel, acceptance: float, lookahead: int) -> str:
    if model.best_lookahead(acceptance, lookahead + 1) > lookahead:
        return ""
    reach = expected_accepted(acceptance, lookahead + 1) - expected_accepted(acceptance, lookahead)
    if reach < _MOSTLY:
        return "Further guesses would mostly be thrown away."
    return "A further guess would cost more than it brings."


def acceptance_sentence(view: LedgerView) -> str:
    """What the acceptance is, in this run's own numbers; a cut guess is named as one."""
    figures = view.metrics
    if not figures.tested:
        return "No guess was checked, so there is no acceptance."
    words = f"acceptance = guesses kept ÷ guesses checked ({figures.accepted} of {figures.tested})."
    unchecked = figures.proposed - figures.tested
    if not unchecked:
        return f"{words} Every guess was checked."
    verb = "was" if unchecked == 1 else "were"
    if figures.rounds_by_kind.get("cut"):
        return f"{words} {unchecked} more {verb} not checked: after a miss, or past the end."
    return f"{words} {unchecked} more {verb} thrown away unchecked, after a miss."


def short_acceptance(view: LedgerView) -> str:
    """The same in at most 78 cells."""
    figures = view.metrics
    if not figures.tested:
        return acceptance_sentence(view)
    words = f"acceptance = kept ÷ checked = {figures.accepted} of {figures.tested}"
    unchecked = figures.proposed - figures.tested
    if not unchecked:
        return f"{words}; every guess was checked"
    if figures.rounds_by_kind.get("cut"):
        return f"{words}; {unchecked} never checked (miss or end)"
    return f"{words}; {unchecked} guesses after a miss never checked"


def three_rates(view: LedgerView) -> str:
    """The two other figures that people call an acceptance rate; empty without a guess."""
    figures = view.metrics
    if not figures.proposed:
        return ""
    writer = "the draft wrote" if view.copied_share is None else "was copied"
    return (
        f"Kept of all {figures.proposed} guesses: {percent(figures.accepted_per_proposed)}.   "
        f"Share of the text that {writer}: {percent(figures.draft_share)}."
    )


def break_even_sentence(view: LedgerView, lookaheads: tuple[int, ...] = (1, 3, 5)) -> str:
    """``break-even acceptance by lookahead: 1 13 %, 3 33 %, 5 54 %``; empty without prices."""
    parts = [
        f"{g} {'never' if needed is None else percent(needed)}"
        for g, needed in view.break_even
        if g in lookaheads
    ]
    return f"break-even acceptance by lookahead: {', '.join(parts)}" if parts else ""

"""SeenAcceptance: how many checked guesses were kept, in the race on the screen or before it."""

from __future__ import annotations

from dataclasses import dataclass

from mlx_specdec.figures import percent
from mlx_specdec.race.moment import RaceMoment

__all__ = ["KeptShare", "SeenAcceptance"]

_ENOUGH = 20  # checked guesses, fewer of which say little


@dataclass(frozen=True, slots=True)
class KeptShare:
    """Accepted / tested.

    Args:
        words: the share, and where it is known from.
        is_assumed: no race has shown it.
    """

    rate: float
    words: str
    is_assumed: bool = False


class SeenAcceptance:
    """What the races on this screen have shown, by pair."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[int, int]] = {}

    def see(self, moment: RaceMoment) -> None:
        """A race goes on; one that has checked enough guesses is remembered."""
        metrics = moment.metrics
        if metrics.tested >= _ENOUGH:
            self._seen[_pair(moment)] = (metrics.accepted, metrics.tested)

    def of(self, moment: RaceMoment) -> KeptShare:
        """Of the race itself, else of an earlier one of its pair, else the usual one."""
        from mlx_specdec.costs.machines import DEFAULT_ACCEPTANCE

        tested = moment.metrics.tested
        known = self._seen.get(_pair(moment))
        if known is None:
            drafted = "drafted nothing" if not tested else f"checked only {tested}"
            words = f"{percent(DEFAULT_ACCEPTANCE)} of checked guesses kept (this race {drafted})"
            return KeptShare(DEFAULT_ACCEPTANCE, words, is_assumed=True)
        accepted, checked = known
        race = "this race" if tested >= _ENOUGH else "an earlier race of this pair"
        words = f"{percent(accepted / checked)} of checked guesses kept"
        return KeptShare(accepted / checked, f"{words}, as in {race} ({accepted} of {checked})")


def _pair(moment: RaceMoment) -> tuple[str, str]:
    return moment.header.target, moment.header.draft

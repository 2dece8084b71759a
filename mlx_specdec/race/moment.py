"""RaceMoment: both lanes at one race second, their comparison, and one plain sentence about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..metrics import Metrics
from .difference import Difference, first_difference, num_equal
from .lane_track import LaneMoment, LaneTrack
from .recording import RecordingHeader
from .words import race_sentence

__all__ = ["MEANINGFUL_TOKENS", "Equality", "RaceMoment", "race_moment"]

MEANINGFUL_TOKENS = 16
"""Below so many tokens in either lane a speedup is noise, and stays blank."""


@dataclass(frozen=True, slots=True)
class Equality:
    """Of the tokens that both lanes have: how many lead equally, and where they part.

    ``num_compared`` is what the shorter lane has; ``difference`` None while all are equal.
    """

    num_equal: int
    num_compared: int
    difference: Difference | None


@dataclass(frozen=True)
class RaceMoment:
    """What a race shows at one second.

    Args:
        header: of the race.
        standard, speculative: the lanes at ``seconds``.
        seconds: race seconds.
    """

    header: RecordingHeader
    standard: LaneMoment
    speculative: LaneMoment
    seconds: float

    @property
    def lanes(self) -> tuple[LaneMoment, LaneMoment]:
        return self.standard, self.speculative

    @property
    def is_finished(self) -> bool:
        return all(lane.is_finished for lane in self.lanes)

    @property
    def is_photo_finish(self) -> bool:
        """One lane is in and the other is not."""
        return self.standard.is_finished != self.speculative.is_finished

    @property
    def is_parked(self) -> bool:
        """The speculative lane has made passes, and guessed in none of them."""
        rounds = self.speculative.rounds
        return len(rounds) > 1 and not any(each.proposed for each in rounds)

    @property
    def speedup(self) -> float | None:
        """Standard seconds per token over speculative; None until both have 16 tokens, unless
        the race is over and was shorter than that: then it stays None too."""
        if min(lane.num_tokens for lane in self.lanes) < MEANINGFUL_TOKENS:
            return None
        plain, fast = (lane.seconds_per_token for lane in self.lanes)
        return plain / fast if plain and fast else None

    @cached_property
    def equality(self) -> Equality:
        """How the two texts compare, as far as both go."""
        one, other = (lane.emitted for lane in self.lanes)
        shared = min(len(one), len(other))
        equal = num_equal(one, other)
        whole = self.is_finished
        if equal < shared or (whole and len(one) != len(other)):
            return Equality(equal, shared, first_difference(one, other))
        return Equality(equal, shared, None)

    @property
    def metrics(self) -> Metrics:
        """The speculative lane's figures so far: acceptance, by position, and the rest."""
        return self.speculative.metrics

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted / tested so far; None when nothing was tested: "not drafting"."""
        return self.metrics.acceptance_rate

    @property
    def acceptance_by_position(self) -> tuple[float | None, ...]:
        """Kept / tested for each place in a proposal, given that it was reached."""
        return self.metrics.acceptance_by_position

    @property
    def seconds_left(self) -> float | None:
        """About how long the lane that is still running will need after the other is in.

        Only where both texts are equal so far, because only then its length is known.
        """
        if not self.is_photo_finish or self.equality.difference is not None:
            return None
        ahead, behind = self.lanes if self.standard.is_finished else self.lanes[::-1]
        left = ahead.num_tokens - behind.num_tokens
        per_token = behind.seconds_per_token
        return None if per_token is None or left <= 0 else left * per_token

    def sentence(self) -> str:
        """What is going on, in one plain sentence made from the figures."""
        return race_sentence(self)


def race_moment(
    header: RecordingHeader, standard: LaneTrack, speculative: LaneTrack, seconds: float
) -> RaceMoment:
    """The race at one second."""
    return RaceMoment(header, standard.at(seconds), speculative.at(seconds), seconds)

"""ReplyLengths: how long a session's replies are, and so where the one under way may end."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from .belief import Numbers

import numpy as np

__all__ = ["ReplyLengths"]

_USUAL_REPLY = 512.0  # tokens, before any reply was seen
_PATIENCE = 0.2  # least weight of the newest reply
_LATEST = 16


def _latest() -> deque[int]:
    return deque(maxlen=_LATEST)


@dataclass(slots=True)
class ReplyLengths:
    """Of replies that ended by themselves.

    Args:
        expected_tokens: of a reply.
        num_replies: seen.
    """

    expected_tokens: float = _USUAL_REPLY
    num_replies: int = 0
    _lengths: deque[int] = field(default_factory=_latest)

    def add(self, num_tokens: int) -> None:
        """A reply ended."""
        self.num_replies += 1
        self._lengths.append(num_tokens)
        weight = max(1 / (self.num_replies + 0.5), _PATIENCE)
        self.expected_tokens += weight * (num_tokens - self.expected_tokens)

    def forget(self) -> None:
        """Other replies may be of other lengths."""
        self.expected_tokens, self.num_replies = _USUAL_REPLY, 0
        self._lengths.clear()

    def remaining_tokens(self, written: int, room: int) -> float:
        """What is expected to follow ``written`` tokens, never beyond ``room``: what the latest
        replies that were longer had left, beside one that goes on for what is usual, and when it
        is past that for half as long again."""
        left = self._left(written)
        rest = max(self.expected_tokens - written, 0.5 * written)
        return min((sum(left) + rest) / (len(left) + 1), room)

    def _left(self, written: int) -> list[int]:
        """What each of the latest replies had left, of those that were longer."""
        return [length - written for length in self._lengths if length > written]

    def goes_on(self, written: int, room: int, most: int) -> Numbers | None:
        """How likely the reply has more than 0, 1, ... ``most`` tokens left: [most + 1].

        Counted among the latest replies that were longer than what is written, beside one that
        goes on; None when none of them ends so soon, and room is left.
        """
        left = np.array(self._left(written))
        if room > most and not (left <= most).any():
            return None
        further = np.arange(most + 1)
        longer = (1 + (left[:, None] > further).sum(axis=0)) / (1 + len(left))
        return np.where(further < room, longer, 0.0)

"""Vein: how likely an answer goes on as the one before it ended, learned from answers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["Vein"]

_TELLING = 12  # tested guesses after which an answer has shown what it is like
_MOST_ANSWERS = 20.0  # that count; older ones fade


@dataclass(slots=True)
class Vein:
    """Answers of the same vein as the one before, against others; each beginning is laid at the
    door of either, as far as its first guesses tell (a mixture's responsibilities).

    Args:
        same, other: answers of both kinds; what they begin with is taken for seen.
    """

    same: float = 1.5
    other: float = 1.0
    _rivals: npt.NDArray[np.float64] | None = field(default=None, init=False, compare=False)
    _num_tested: int = field(default=0, init=False, compare=False)

    @property
    def chance(self) -> float:
        """That the next answer goes on in the same vein."""
        return self.same / (self.same + self.other)

    def begin_answer(
        self, carried: npt.NDArray[np.float64], usual: npt.NDArray[np.float64]
    ) -> None:
        """An answer begins: what is believed if it goes on as before, and if not: [chances]."""
        self._rivals = np.stack([self.chance * carried, (1 - self.chance) * usual])
        self._num_tested = 0

    def forget_answer(self) -> None:
        """The answer under way tells nothing: another conversation began."""
        self._rivals = None

    def observe(self, likelihood: npt.NDArray[np.float64], num_tested: int) -> None:
        """How likely a round's outcome was at each chance: [chances]."""
        if self._rivals is None:
            return
        self._rivals = self._rivals * likelihood
        self._num_tested += num_tested
        if self._num_tested >= _TELLING:
            shares = self._rivals.sum(axis=1) / self._rivals.sum()
            self._rivals = None
            fade = min(1.0, _MOST_ANSWERS / (self.same + self.other + 1))
            self.same = fade * (self.same + float(shares[0]))
            self.other = fade * (self.other + float(shares[1]))

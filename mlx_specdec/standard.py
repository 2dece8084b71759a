"""StandardDecoder: one token per pass, the next pass queued before this token is read.

The reference that speculation must equal, and the baseline that it must beat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .backend import mx, read_floats
from .distributions import History, scaled_scores
from .draws import best_and_gap
from .errors import NotANumberError
from .events import LARGEST_MARGIN, Event, Round, Timings
from .forward import ModelRunner
from .generation import Generation

__all__ = ["StandardDecoder", "checked"]


def checked(value: float, name: str) -> None:
    """Raises NotANumberError when ``value`` is not a number."""
    if value != value:
        raise NotANumberError(
            f"{name} returned no number where a score belongs.",
            "The weights may be damaged: download the model again, or try another quantisation.",
        )


@dataclass(frozen=True)
class _Queued:
    """A pass that was started: its token [1] for the next one, and [token, margin] to read."""

    token: mx.array
    readout: mx.array


class StandardDecoder:
    """Plain decoding with the target alone.

    Args:
        target: the model with its cache.
    """

    def __init__(self, target: ModelRunner) -> None:
        self.target = target

    def generate(self, generation: Generation) -> Iterator[Event]:
        """Prefilled, Round after Round, Finished."""
        try:
            yield from generation.prefill(self.target)
            yield from self.rounds(generation)
        except GeneratorExit:  # the reader walked away; what is queued was never committed
            self.target.rollback()
            raise
        except BaseException:  # a pass broke off: nothing that was read can be trusted
            self.target.drop()
            raise
        yield generation.finished()

    def rounds(
        self,
        generation: Generation,
        limit: int | None = None,
        note: str = "",
        go_on: Callable[[], tuple[int, str] | None] | None = None,
    ) -> Iterator[Round]:
        """Go on from whatever was emitted so far, for at most ``limit`` tokens.

        With a limit nothing is queued past the last one, so that another loop can take over.

        Args:
            note: says in every round why nothing is drafted.
            go_on: asked while the last pass runs, so that the device need not wait for the answer:
                how many rounds more, and their note; None is the end.
        """
        if generation.cancel_if_asked():
            return
        built = generation.clock()
        current = self._queue(generation, None)
        build = generation.clock() - built
        left = limit
        while True:
            left = None if left is None else left - 1
            position = len(generation.tokens)
            has_room, this_note = generation.answer.room > 1, note
            if left == 0 and has_room and go_on is not None and (more := go_on()) is not None:
                left, note = more
            wants_more = has_room and left != 0
            built = generation.clock()
            following = self._queue(generation, current.token) if wants_more else None
            next_build = generation.clock() - built
            waited = generation.clock()
            token, margin = self._read(current.readout)
            got = generation.clock()
            at = generation.at()
            emitted = generation.answer.admit([token], ["sampled"], [margin])
            over = generation.cancel_if_asked() or following is None
            self.target.commit(generation.tokens, self.target.length)
            event = Round(
                index=generation.round_index,
                position=position,
                lookahead=0,
                proposed=(),
                checks=(),
                num_accepted=0,
                emitted=emitted,
                timings=Timings(build, got - waited, generation.clock() - got),
                at=at,
                note=this_note,
            )
            generation.round_index += 1
            yield event
            if over:
                return
            assert following is not None
            current, build = following, next_build

    def _queue(self, generation: Generation, last: mx.array | None) -> _Queued:
        """Build and start the pass that gives the next token; ``last`` [1] is the token before
        it, when it is still on the device."""
        if last is None:
            known = generation.tokens[self.target.length :]
            logits = self.target.extend(known)
            position = len(generation.tokens)
            history = History(generation.tokens)
        else:
            logits = self.target.extend([], last)
            position = len(generation.tokens) + 1
            history = History(generation.tokens, last, first=1)
        params = generation.request.sampling
        scores = scaled_scores(logits[-1:], params, history, generation.width)
        if not params.is_greedy:
            scores = scores + generation.noise.token_rows(position, 1, generation.width)
        token, gap = best_and_gap(scores)
        readout = mx.concatenate([token.astype(mx.float32), gap])
        mx.async_eval(readout)
        return _Queued(token, readout)

    def _read(self, readout: mx.array) -> tuple[int, float]:
        token, margin = read_floats(readout)
        checked(margin, self.target.loaded.name)
        return int(token), min(margin, LARGEST_MARGIN)

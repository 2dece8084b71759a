"""The race: plain and speculative decoding of one prompt in turns, each on a clock of its own.

One device, two lanes, one thread. A lane has the device for a short slice that ends at a round;
then the lane whose own clock is behind goes on. At a switch the device is drained before the
lane's clock stops, so that the pass a pipelined loop has queued is paid by the lane that asked
for it. So a lane's ``at`` is what it would have had alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..backend import release_unused_memory, reset_peak_memory, synchronize
from ..events import Event, Failed, Round
from ..forward import never
from ..memory_room import wired
from ..session import Session
from ..settings import Settings
from .playhead import SLICE_SECONDS
from .recording import LANES, SPECULATIVE, LaneEvent, Recording, RecordingHeader

if TYPE_CHECKING:
    from ..engine import Engine

__all__ = ["LaneClock", "PromptTokens", "Race", "race_job", "race_recording"]

PromptTokens = Sequence[int] | Callable[[], Sequence[int]]
"""Token ids, or what makes them on the engine's thread."""

WARM_UP_TOKENS = 12
_EDGE_ROUNDS = 2
"""Rounds after a switch that were not timed as usual: the first was computed while the device
was drained, and the second could not be queued behind it."""


class LaneClock:
    """Seconds that one lane has had; it stands still while the other lane runs.

    Args:
        clock: seconds of the wall, any origin.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._spent = 0.0
        self._since: float | None = None

    def __call__(self) -> float:
        return self._spent + (0.0 if self._since is None else self._clock() - self._since)

    def start(self) -> None:
        if self._since is None:
            self._since = self._clock()

    def stop(self) -> None:
        self._spent = self()
        self._since = None


class _Lane:
    """One way of decoding with caches and a clock of its own."""

    def __init__(self, name: str, session: Session, settings: Settings, clock: LaneClock) -> None:
        self.name = name
        self.session = session
        self.settings = settings
        self.clock = clock
        self.events: Iterator[Event] = iter(())
        self.is_over = False
        self._begun = 0.0
        self._edges_left = 0

    def begin(self, tokens: Sequence[int], is_cancelled: Callable[[], bool]) -> None:
        self.events = self.session.generate(tokens, self.settings, is_cancelled=is_cancelled)
        self._begun = self.clock()

    def seconds(self) -> float:
        """On the lane's own clock since the race began."""
        return self.clock() - self._begun

    def resume(self) -> None:
        self._edges_left = _EDGE_ROUNDS
        self.clock.start()

    def next(self) -> LaneEvent | None:
        event = next(self.events, None)
        if event is None:
            self.is_over = True
            return None
        is_edge = isinstance(event, Round) and self._edges_left > 0
        if is_edge:
            self._edges_left -= 1
        return LaneEvent(self.name, event, is_edge)

    def close(self) -> None:
        """Take back what is under way and forget what was read."""
        closing = getattr(self.events, "close", None)
        if closing is not None:
            closing()
        self.session.clear()


class Race:
    """Both lanes of one prompt over the models of a session, which itself is left as it is.

    Args:
        session: whose models and kind of cache are used.
        tokens: of the prompt.
        settings: of both lanes; one seed for both, so that rule ``coupled`` makes one text.
        clock: seconds of the wall, any origin.
        drain: waits until the device has nothing left to do.
        slice_seconds: on a lane's own clock, after which the other lane's turn comes.

    Raises:
        InvalidRequestError: a setting outside its range.
    """

    def __init__(
        self,
        session: Session,
        tokens: Sequence[int],
        settings: Settings,
        *,
        clock: Callable[[], float] = time.perf_counter,
        drain: Callable[[], None] = synchronize,
        slice_seconds: float = SLICE_SECONDS,
    ) -> None:
        request = settings.request(tokens)
        seeded = settings.changed(seed=request.seed)
        self.tokens = tuple(tokens)
        self._drain = drain
        self._slice_seconds = slice_seconds
        self._room = session.room
        self._lanes = []
        for name in LANES:
            lane_clock = LaneClock(clock)
            wanted = seeded.changed(draft=settings.draft if name == SPECULATIVE else False)
            beside = session.beside(lane_clock)
            beside.context_length = _half_the_room(session)
            self._lanes.append(_Lane(name, beside, wanted, lane_clock))

    def warm_up(self, is_cancelled: Callable[[], bool] = never) -> None:
        """Let both lanes write a few tokens that nobody sees, so that none meets its first
        kernels in the race; see ``Session.warm_up``."""
        for lane in self._lanes:
            wanted = lane.settings.changed(max_tokens=WARM_UP_TOKENS)
            lane.clock.start()
            lane.session.warm_up(self.tokens, wanted, is_cancelled=is_cancelled)
            lane.clock.stop()

    def events(self, is_cancelled: Callable[[], bool] = never) -> Iterator[LaneEvent]:
        """Both lanes' events as they come; each lane ends with Finished.

        Raises:
            SpecdecError: what went wrong in a lane; the other one is given up with it.
        """
        reset_peak_memory()
        for lane in self._lanes:
            lane.begin(self.tokens, is_cancelled)
        # Lanes enter and leave the same limit of their own in turns: this one outlasts both.
        context = 2 * (len(self.tokens) + (self._lanes[0].settings.max_tokens or 0))
        try:
            with wired(self._room, context):
                yield from self._turns()
        finally:
            for lane in self._lanes:
                lane.close()
            release_unused_memory()

    def _turns(self) -> Iterator[LaneEvent]:
        current: _Lane | None = None
        while running := [lane for lane in self._lanes if not lane.is_over]:
            lane = min(running, key=_Lane.seconds)
            if lane is not current:
                if current is not None:
                    self._drain()
                    current.clock.stop()
                lane.resume()
                current = lane
            yield from self._slice(lane)

    def _slice(self, lane: _Lane) -> Iterator[LaneEvent]:
        until = lane.seconds() + self._slice_seconds
        while (item := lane.next()) is not None:
            yield item
            if lane.seconds() >= until:
                return


def _half_the_room(session: Session) -> int | None:
    """Tokens that one lane may hold: both keep caches at the same time."""
    room, whole = session.room.tokens(), session.context_length
    halves = [limit for limit in (None if room is None else room // 2, whole) if limit is not None]
    return min(halves, default=None)


def race_job(
    session: Session,
    prompt: PromptTokens,
    settings: Settings,
    *,
    warm_up: bool = True,
    clock: Callable[[], float] = time.perf_counter,
) -> Callable[[Callable[[], bool]], Iterator[LaneEvent]]:
    """A race as a job for the engine's thread.

    Args:
        warm_up: False when both lanes have run before.
    """

    def job(is_cancelled: Callable[[], bool]) -> Iterator[LaneEvent]:
        tokens = prompt() if callable(prompt) else prompt
        race = Race(session, tokens, settings, clock=clock)
        if warm_up:
            race.warm_up(is_cancelled)
        yield from race.events(is_cancelled)

    return job


def race_recording(
    engine: Engine,
    prompt: PromptTokens,
    settings: Settings,
    header: RecordingHeader,
    *,
    warm_up: bool = True,
) -> Recording:
    """Run a race to its end, without a screen.

    Raises:
        SpecdecError: what went wrong on the engine's thread.
    """
    handle = engine.thread.submit(race_job(engine.session, prompt, settings, warm_up=warm_up))
    items: list[LaneEvent] = []
    try:
        for item in handle:
            if isinstance(item, LaneEvent):
                items.append(item)
            elif isinstance(item, Failed) and handle.error is not None:
                raise handle.error
    except KeyboardInterrupt:
        handle.cancel()
        raise
    return Recording.of(header, items)

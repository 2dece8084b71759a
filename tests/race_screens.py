"""What tests of the race's screens share: a clock that is moved, an engine that is not there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlx_specdec.events import Event
from mlx_specdec.model_spec import PairSpec
from mlx_specdec.race.recording import LaneEvent, Recording, read_recording_file
from mlx_specdec.registry import Registry
from mlx_specdec.settings import Settings
from tui.app import SpecdecApp
from tui.opening import AppOpening, Facts, Opening, PairRequest
from tui.race.director import RaceDirector
from tui.screens.race import RaceScreen

from textual.pilot import Pilot

GOLDEN = Path(__file__).parent / "golden"
SIZES = ((80, 24), (120, 36))


def golden(name: str) -> Recording:
    """A recording of tests/golden: fable, parked, different or tiny."""
    return read_recording_file(GOLDEN / f"race_{name}.jsonl")


class MovedClock:
    """Seconds that only a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class FakeFeed:
    """A race's events: all at once, or as far as ``arrive`` lets them."""

    def __init__(self, items: Iterable[Any], until: float = float("inf")) -> None:
        self._items = list(items)
        self._until = until
        self.is_cancelled = False

    def arrive(self, until: float) -> None:
        """Let everything before this race second come."""
        self._until = until

    def poll(self) -> list[Any]:
        now = [item for item in self._items if _at(item) <= self._until]
        self._items = self._items[len(now) :]
        return now

    def cancel(self) -> None:
        self.is_cancelled = True

    @property
    def is_done(self) -> bool:
        return not self._items


class FakeTiming:
    """A measurement that brings what a test hands it."""

    def __init__(self) -> None:
        self._items: list[Any] = []
        self.is_cancelled = self.is_done = False

    def bring(self, *items: Any, is_last: bool = False) -> None:
        """Let these arrive."""
        self._items += items
        self.is_done = is_last

    def poll(self) -> list[Any]:
        items, self._items = self._items, []
        return items

    def cancel(self) -> None:
        self.is_cancelled = True


def _at(item: Any) -> float:
    return item.event.at if isinstance(item, LaneEvent) else item.at


def pair_named(target: str, draft: str = "none") -> PairSpec:
    return Registry.load().resolve_pair(target, draft)


class FakeBridge:
    """Stands where the engine would: every race it starts is the recording it was given."""

    def __init__(self, recording: Recording | None = None) -> None:
        self.recording = recording
        self.opening = Opening()
        self.requests: list[PairRequest] = []
        self.races: list[tuple[str, Settings]] = []
        self.feeds: list[FakeFeed] = []
        self.timings: list[FakeTiming] = []
        self.is_busy = False
        self.answers: list[str] = []
        self.arrives_until = float("inf")
        self.is_closed = False

    def open(self, request: PairRequest) -> None:
        self.requests.append(request)
        self.opening = Opening(number=self.opening.number + 1, phase="looking")

    def become(
        self, phase: Any, target: str = "tiny", draft: str = "tiny-draft", **more: Any
    ) -> None:
        """Be as far as ``phase``."""
        number = max(self.opening.number, 1)
        facts = Facts(machine="M3 Pro 36 GB", power="mains", versions={"mlx": "0.32.4"})
        self.opening = replace(
            self.opening,
            number=number,
            phase=phase,
            pair=pair_named(target, draft),
            facts=facts,
            **more,
        )

    @property
    def is_ready(self) -> bool:
        return self.opening.phase == "ready"

    def start_timing(self, pair: PairSpec, seconds: float) -> FakeTiming:
        self.timings.append(FakeTiming())
        return self.timings[-1]

    def start_race(self, prompt: str, settings: Settings, **more: Any) -> FakeFeed:
        assert self.recording is not None
        settings.request((0,))
        self.races.append((prompt, settings))
        self.feeds.append(FakeFeed(self.recording.in_order(), self.arrives_until))
        return self.feeds[-1]

    def answer_download(self, choice: str) -> None:
        self.answers.append(choice)

    def conversation_call(self, function: Callable[[Any], Any]) -> Future[Any]:
        return Future()

    def generation_defaults(self) -> Mapping[str, Any]:
        return {}

    def close(self) -> bool:
        self.is_closed = True
        return True


def race_app(
    replay: str = "",
    bridge: FakeBridge | None = None,
    clock: MovedClock | None = None,
    **opening: Any,
) -> SpecdecApp:
    """The app on a recording of tests/golden, or on a fake bridge."""
    if replay:
        opening["replay"] = GOLDEN / f"race_{replay}.jsonl"
        opening.setdefault("request", None)
    used: Any = bridge if bridge is not None else FakeBridge()
    return SpecdecApp(AppOpening(**opening), bridge=used, clock=clock or MovedClock())


def ready_bridge(name: str, target: str = "tiny", draft: str = "tiny-draft") -> FakeBridge:
    """A fake engine with this pair loaded, whose races are a recording of tests/golden."""
    bridge = FakeBridge(golden(name))
    bridge.become("ready", target, draft)
    return bridge


def parked_bridge() -> FakeBridge:
    """A fake engine on an M2 whose races are the parked one."""
    bridge = ready_bridge("parked", "qwen3-4b", "qwen3-0.6b")
    facts = Facts(machine="M2 16 GB", power="mains", versions={"mlx": "0.32.4"})
    bridge.opening = replace(bridge.opening, facts=facts)
    return bridge


def race_screen(app: SpecdecApp) -> RaceScreen:
    """The race's screen, whatever lies above it."""
    screen = app._screen_stacks["race"][0]
    assert isinstance(screen, RaceScreen)
    return screen


def move(app: SpecdecApp, clock: MovedClock, seconds: float, step: float = 0.1) -> None:
    """Let the wall's seconds pass, drawn ten times a second as in life."""
    for _ in range(round(seconds / step)):
        clock.seconds += step
        race_screen(app).director.tick()
    race_screen(app)._draw()


def shown(app: SpecdecApp) -> str:
    """What stands on the screen, row by row."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)


def slower(recording: Recording, times: float = 2.0) -> Recording:
    """The same race with a speculative lane that takes ``times`` as long."""
    lane: list[Event] = [replace(event, at=event.at * times) for event in recording.speculative]
    return replace(recording, speculative=tuple(lane))


Before = Callable[[Pilot[None]], Any]


def at_second(clock: MovedClock, seconds: float, *keys: str) -> Before:
    """For snap_compare: the race after so many wall seconds, then some keys."""

    async def run(pilot: Pilot[None]) -> None:
        await pilot.pause()
        app = pilot.app
        assert isinstance(app, SpecdecApp)
        move(app, clock, seconds)
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
        await pilot.pause()

    return run


Play = Callable[[SpecdecApp, Pilot[None], MovedClock], Awaitable[None]]


def on_recording(play: Play, name: str = "fable", size: tuple[int, int] = (120, 36)) -> SpecdecApp:
    clock = MovedClock()
    app = race_app(name, clock=clock)
    return _run(app, clock, play, size)


def on_bridge(play: Play, bridge: FakeBridge, **opening: Any) -> SpecdecApp:
    clock = MovedClock()
    if not bridge.is_ready:
        bridge.become("ready")
    opening.setdefault("request", None)
    return _run(race_app(bridge=bridge, clock=clock, **opening), clock, play, (120, 36))


def _run(app: SpecdecApp, clock: MovedClock, play: Play, size: tuple[int, int]) -> SpecdecApp:
    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await play(app, pilot, clock)

    asyncio.run(run())
    return app


def director(app: SpecdecApp) -> RaceDirector:
    return race_screen(app).director

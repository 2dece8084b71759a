"""Prints what the app itself costs: its first frame, its share of a core, its longest block.

    python scripts/measure_app.py [--columns 120] [--rows 36] [--seconds 10]

No model runs: a race and a reply of 2,000 words are fed from made-up events, so that the figures
are the app's alone. It runs in a terminal of its own, which this script reads as a terminal would.

- first frame: processor time from the start of the process until the first frame is drawn, with
  Python's own start and all imports, compiled before as after any installation.
- share: processor time of all threads by the seconds that went by.
- blocked: the longest time between two looks of the loop at what has come in (keys, timers). On a
  machine that is busy with other things, the processor time within says more than the wall time.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import pty
import select
import selectors
import statistics
import struct
import sys
import termios
import threading
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

WORDS = 2000
FAST = 60.0
USUAL = 30.0
STARTS = 7
START_SECONDS = 2.0  # the start is not streaming


def race_items(seconds: float) -> list[Any]:
    """Both lanes of a made-up race: 30 passes a second, 2.5 tokens a drafting pass."""
    from mlx_specdec.events import Emitted, Finished, Prefilled, Proposed, Round, Timings
    from mlx_specdec.race.recording import LaneEvent

    def lane(name: str, step: float, many: tuple[int, ...]) -> Iterator[LaneEvent]:
        yield LaneEvent(name, Prefilled(20, 0, 0.01, 0.01))
        token, at, index = 0, 0.02, 0
        while at < seconds:
            count = many[index % len(many)]
            emitted = tuple(
                Emitted(token + i, f"word{(token + i) % 97} ", "accepted" if i else "sampled", 1.0)
                for i in range(count)
            )
            guesses = tuple(Proposed(1, " guess", 0.5, 0.5) for _ in range(3 * (len(many) > 1)))
            yield LaneEvent(
                name,
                Round(index, 20 + token, 3, guesses, (), count - 1, emitted, Timings(), at),
            )
            token, at, index = token + count, at + step, index + 1
        yield LaneEvent(name, Finished("length", at))

    items = [*lane("standard", 1 / 30, (1,)), *lane("speculative", 1 / 22, (4, 2, 3, 1))]
    return sorted(items, key=lambda item: item.event.at)


def reply_events(tokens_per_second: float) -> list[Any]:
    """A reply of 2,000 words with paragraphs, lists and code, three tokens a pass."""
    from mlx_specdec.events import Emitted, Finished, Prefilled, Round, Timings

    events: list[Any] = [Prefilled(20, 0, 0.01, 0.01)]
    pieces = [_piece(index) for index in range(WORDS)]
    for index, start in enumerate(range(0, WORDS, 3)):
        emitted = tuple(
            Emitted(start + i, text, "accepted" if i else "sampled", 1.0)
            for i, text in enumerate(pieces[start : start + 3])
        )
        at = 0.02 + start / tokens_per_second
        events.append(Round(index, 20 + start, 3, (), (), 2, emitted, Timings(), at))
    events.append(Finished("stop", events[-1].at))
    return events


def _piece(index: int) -> str:
    if index % 120 == 60:
        return "\n\n```python\ndef f(x):\n    return x + 1\n```\n\n"
    if index % 40 == 0:
        return "\n\n"
    return f"- word{index} " if index % 40 == 1 else f"word{index} "


class TimedFeed:
    """Events that come at their own time."""

    def __init__(self, items: list[Any]) -> None:
        self._items, self._began = items, time.monotonic()

    def poll(self) -> list[Any]:
        now, ready = time.monotonic() - self._began, 0
        while ready < len(self._items) and _at(self._items[ready]) <= now:
            ready += 1
        come, self._items = self._items[:ready], self._items[ready:]
        return come

    def cancel(self) -> None:
        self._items = []

    @property
    def is_done(self) -> bool:
        return not self._items


def _at(item: Any) -> float:
    at: float = item.event.at if hasattr(item, "event") else item.at
    return at


class TimedSelector(selectors.DefaultSelector):
    """A selector that knows for how long the loop did not look at it, at most."""

    def __init__(self) -> None:
        super().__init__()
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.blocked, self.worked = 0.0, 0.0
        self._last, self._last_work = time.monotonic(), time.thread_time()

    def select(self, timeout: float | None = None) -> Any:
        """Look; the time since the last look was the loop's own."""
        self.blocked = max(self.blocked, time.monotonic() - self._last)
        self.worked = max(self.worked, time.thread_time() - self._last_work)
        found = super().select(timeout)
        self._last, self._last_work = time.monotonic(), time.thread_time()
        return found


def child(what: str, seconds: float, report: int) -> None:
    """The app in this terminal; writes its figures to the file descriptor ``report``."""
    from tui.collector import hold_all_rounds

    hold_all_rounds()  # as the command line does
    import asyncio

    selector = TimedSelector()
    app = _watched_app(what, seconds, report, selector)
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        runner.run(app.run_async())


def _made_up_bridge(what: str, seconds: float) -> Any:
    """A bridge whose races and replies come at their own time, without an engine."""
    from tui.bridge import Bridge
    from tui.opening import Facts, Opening

    ready = Opening(1, "ready", _pair(), facts=Facts(machine="made up"))

    class MadeUp(Bridge):
        begins_thinking = False

        @property
        def opening(self) -> Opening:
            return ready

        @property
        def is_ready(self) -> bool:
            return True

        def start_race(self, *args: Any, **more: Any) -> Any:
            return TimedFeed(race_items(0.05 if what == "idle" else seconds + 5))

        def start_reply(self, *args: Any, **more: Any) -> Any:
            return TimedFeed(reply_events(FAST if what == "fast reply" else USUAL))

        def conversation_call(self, function: Any) -> Any:
            from concurrent.futures import Future

            return Future()

        def generation_defaults(self) -> dict[str, Any]:
            return {}

    return MadeUp()


def _watched_app(what: str, seconds: float, report: int, selector: TimedSelector) -> Any:
    """The app, which looks at itself for so many seconds and ends."""
    from tui.app import SpecdecApp
    from tui.opening import AppOpening

    figures: dict[str, float] = {}

    class Watched(SpecdecApp):
        CSS_PATH = str(ROOT / "tui" / "tui.tcss")

        def on_ready(self) -> None:
            self.screen.call_after_refresh(self.begin_measuring)

        def begin_measuring(self) -> None:
            figures["first_frame"] = time.process_time()
            self.run_worker(self.measure())

        async def measure(self) -> None:
            import asyncio

            await asyncio.sleep(START_SECONDS)
            if "reply" in what:
                await _send(self)
            selector.reset()
            began, used = time.monotonic(), time.process_time()
            await asyncio.sleep(seconds)
            figures["share"] = (time.process_time() - used) / (time.monotonic() - began)
            figures["blocked"], figures["worked"] = selector.blocked, selector.worked
            os.write(report, json.dumps(figures).encode())
            self.exit()

    screen = "chat" if "reply" in what else "race"
    opening = AppOpening(screen=screen, request=None, speed=1.0)
    return Watched(opening, _made_up_bridge(what, seconds))


def _pair() -> Any:
    """Named models that are never loaded."""
    from mlx_specdec.model_spec import ModelSpec, PairSpec

    return PairSpec(
        ModelSpec(alias="qwen3-14b", repo="mlx-community/Qwen3-14B-4bit", bits=4, group_size=64),
        ModelSpec(alias="qwen3-0.6b", repo="mlx-community/Qwen3-0.6B-4bit", bits=4, group_size=64),
    )


async def _send(app: Any) -> None:
    """Ask, as a person does."""
    import asyncio

    from textual.widgets import TextArea

    app.screen.query_one(TextArea).insert("Tell me everything.")
    await asyncio.sleep(0.2)
    app.simulate_key("enter")
    await asyncio.sleep(0.3)


def measured(what: str, columns: int, rows: int, seconds: float) -> dict[str, float]:
    """Run the app in a terminal of its own, and read what it draws."""
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(COLUMNS=str(columns), LINES=str(rows), TERM="xterm-256color")
        words = [what, str(seconds), str(write_end)]
        os.execv(sys.executable, [sys.executable, __file__, "--child", *words])
    os.close(write_end)
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    reader = threading.Thread(target=_drain, args=(terminal,), daemon=True)
    reader.start()
    data = b""
    while part := os.read(read_end, 4096):
        data += part
    os.waitpid(process, 0)
    if not data:
        raise SystemExit(f"{what}: the app ended without figures.")
    result: dict[str, float] = json.loads(data)
    return result


def _drain(terminal: int) -> None:
    try:
        while select.select([terminal], [], [])[0]:
            if not os.read(terminal, 65536):
                return
    except OSError:
        return


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
        os._exit(0)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=120)
    parser.add_argument("--rows", type=int, default=36)
    parser.add_argument("--seconds", type=float, default=10.0)
    args = parser.parse_args()
    print(f"the app alone, {args.columns} x {args.rows}, load {os.getloadavg()[0]:.1f}")
    for package in ("mlx_specdec", "tui"):  # what an installer does
        compileall.compile_dir(ROOT / package, quiet=1)
    report(args.columns, args.rows, args.seconds)


def report(columns: int, rows: int, seconds: float) -> None:
    """Measure each state of the app, and print a line for each."""
    frames = []
    for what, words, length in (
        ("race", "streaming a race", seconds),
        ("idle", "a finished race", seconds),
        ("reply", f"a reply, {USUAL:.0f} tokens/s", 2 * seconds),
        ("fast reply", f"a reply of {WORDS} words, {FAST:.0f}/s", WORDS / FAST + 2),
    ):
        figures = measured(what, columns, rows, length)
        frames += [figures["first_frame"]] if "reply" not in what else []
        print(
            f"{words:28} {figures['share']:6.1%} of a core   "
            f"blocked at most {figures['blocked'] * 1000:.0f} ms, "
            f"of processor time at most {figures['worked'] * 1000:.0f} ms",
            flush=True,
        )
    starts = [measured("idle", columns, rows, 0.1)["first_frame"] for _ in range(STARTS)]
    frame = statistics.median(frames + starts)
    print(f"{'first frame of a race':28} {frame:5.2f} s of processor time, median of {STARTS + 2}")


if __name__ == "__main__":
    main()

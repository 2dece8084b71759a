"""Prints what the app itself costs: its share of a core while streaming and idle, its slowest step.

    python scripts/measure_app.py [--columns 120] [--rows 36] [--seconds 10]

No model runs: a race and a reply of 2,000 words are fed from made-up events, so that the figures
are the app's alone. It runs in a terminal of its own, which this script reads as a terminal would.
"Blocked" is how late a timer of the app's loop came, at most; on a machine that is busy with other
things the processor time within that wait says more.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import select
import struct
import sys
import termios
import threading
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

WORDS = 2000
TOKENS_PER_SECOND = 60.0
BEAT = 0.01


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


def reply_events() -> list[Any]:
    """A reply of 2,000 words with paragraphs, lists and code, three tokens a pass."""
    from mlx_specdec.events import Emitted, Finished, Prefilled, Round, Timings

    events: list[Any] = [Prefilled(20, 0, 0.01, 0.01)]
    pieces = [_piece(index) for index in range(WORDS)]
    for index, start in enumerate(range(0, WORDS, 3)):
        emitted = tuple(
            Emitted(start + i, text, "accepted" if i else "sampled", 1.0)
            for i, text in enumerate(pieces[start : start + 3])
        )
        at = 0.02 + start / TOKENS_PER_SECOND
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


def child(what: str, seconds: float, report: int) -> None:
    """The app in this terminal; writes its figures to the file descriptor ``report``."""
    from mlx_specdec.registry import Registry
    from tui.app import SpecdecApp
    from tui.bridge import Bridge
    from tui.opening import AppOpening, Facts, Opening

    pair = Registry.load().resolve_pair("qwen3-14b", "qwen3-0.6b")

    class MadeUp(Bridge):
        begins_thinking = False

        @property
        def opening(self) -> Opening:
            return OPENING

        @property
        def is_ready(self) -> bool:
            return True

        def start_race(self, *args: Any, **more: Any) -> Any:
            return TimedFeed(race_items(0.05 if what == "idle" else seconds + 5))

        def start_reply(self, *args: Any, **more: Any) -> Any:
            return TimedFeed(reply_events())

        def conversation_call(self, function: Any) -> Any:
            from concurrent.futures import Future

            return Future()

        def generation_defaults(self) -> dict[str, Any]:
            return {}

    OPENING = Opening(1, "ready", pair, facts=Facts(machine="made up"))
    app = SpecdecApp(
        AppOpening(screen="chat" if what == "reply" else "race", request=None, speed=1.0), MadeUp()
    )
    blocked, worked = [0.0], [0.0]
    figures: dict[str, float] = {}

    async def watch() -> None:
        import asyncio

        await asyncio.sleep(2.0)  # the start is not streaming
        if what == "reply":
            await _send(app)
        began, used = time.monotonic(), time.process_time()
        last, last_work = began, time.thread_time()
        while time.monotonic() - began < seconds:
            await asyncio.sleep(BEAT)
            now = time.monotonic()
            work = time.thread_time()
            blocked[0] = max(blocked[0], now - last - BEAT)
            worked[0] = max(worked[0], work - last_work)
            last, last_work = now, work
        figures["share"] = (time.process_time() - used) / (time.monotonic() - began)
        figures["blocked_ms"] = blocked[0] * 1000
        figures["worked_ms"] = worked[0] * 1000
        os.write(report, json.dumps(figures).encode())
        app.exit()

    app.call_later(lambda: app.run_worker(watch()))
    app.run()


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
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(COLUMNS=str(columns), LINES=str(rows), TERM="xterm-256color")
        os.close(read_end)
        child(what, seconds, write_end)
        os._exit(0)
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=120)
    parser.add_argument("--rows", type=int, default=36)
    parser.add_argument("--seconds", type=float, default=10.0)
    args = parser.parse_args()
    print(f"the app alone, {args.columns} x {args.rows}, load {os.getloadavg()[0]:.1f}")
    for what, words, seconds in (
        ("race", "streaming a race", args.seconds),
        ("idle", "a finished race", args.seconds),
        ("reply", f"a reply of {WORDS} words", WORDS / TOKENS_PER_SECOND + 2),
    ):
        figures = measured(what, args.columns, args.rows, seconds)
        print(
            f"{words:26} {figures['share']:6.1%} of a core   "
            f"blocked at most {figures['blocked_ms']:.0f} ms, "
            f"of it processor time at most {figures['worked_ms']:.0f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""EngineThread: the only owner of MLX. Runs jobs, callables that yield events; can be cancelled.

What a job yields is its own matter: an answer yields Events, a race LaneEvents. A job that is
cancelled before it began ends with Finished, one that raises with Failed.

Lazy arrays and streams belong to the thread that made them, so loading, prefill and decoding all
happen here. The engine never waits for its reader: events queue up.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from .errors import SpecdecError
from .events import Failed, Finished

__all__ = ["EngineThread", "JobHandle", "is_any_running"]

T = TypeVar("T")
Item = TypeVar("Item")
Job = Callable[[Callable[[], bool]], Iterator[Item]]
_END = None


class JobHandle(Generic[Item]):
    """What one job yields, in order, for one reader; a Failed comes last when it raised."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[Item | Finished | Failed | None] = queue.SimpleQueue()
        self._cancelled = threading.Event()
        self._done = threading.Event()
        self.error: BaseException | None = None

    def cancel(self) -> None:
        """Ask the job to end; it looks once a round and between prefill chunks."""
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the job has ended; False when ``timeout`` seconds were not enough."""
        return self._done.wait(timeout)

    def poll(self) -> list[Item | Finished | Failed]:
        """What has arrived, without waiting."""
        events: list[Item | Finished | Failed] = []
        while True:
            try:
                event = self._events.get_nowait()
            except queue.Empty:
                return events
            if event is _END:
                self._events.put(_END)
                return events
            events.append(event)

    def __iter__(self) -> Iterator[Item | Finished | Failed]:
        while (event := self._events.get()) is not _END:
            yield event
        self._events.put(_END)

    def _put(self, event: Item | Finished | Failed) -> None:
        self._events.put(event)

    def _end(self) -> None:
        self._done.set()
        self._events.put(_END)


class _Worker(threading.Thread):
    """The thread below an EngineThread."""


def is_any_running() -> bool:
    """Whether an engine's thread is alive: a process that ends now must use os._exit."""
    return any(isinstance(thread, _Worker) for thread in threading.enumerate())


class EngineThread:
    """A daemon thread with a queue of jobs, one at a time.

    Args:
        at_end: called on the thread as its last act.
    """

    def __init__(
        self, name: str = "mlx-specdec-engine", at_end: Callable[[], None] = lambda: None
    ) -> None:
        self._at_end = at_end
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._current: JobHandle[Any] | None = None
        self._is_closed = False
        self._thread = _Worker(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job[Item]) -> JobHandle[Item]:
        """Run ``job(is_cancelled)`` and hand out what it yields."""
        handle: JobHandle[Item] = JobHandle()
        self._put(lambda: self._run_job(job, handle))
        return handle

    def call(self, function: Callable[[], T]) -> T:
        """Run ``function`` on the engine thread and wait for its result.

        Raises:
            whatever the function raises.
        """
        done = threading.Event()
        box: dict[str, Any] = {}

        def run() -> None:
            try:
                box["value"] = function()
            except BaseException as error:  # noqa: BLE001  it is raised again for the caller
                box["error"] = error
            finally:
                done.set()

        self._put(run)
        done.wait()
        if "error" in box:
            raise box["error"]
        value: T = box["value"]
        return value

    def close(self, timeout: float = 0.3) -> bool:
        """Cancel what runs and end the thread; False when it is still in a pass.

        A process that then ends must not tear MLX down under that pass: leave with os._exit.
        """
        if not self._is_closed:
            self._is_closed = True
            current = self._current
            if current is not None:
                current.cancel()
            self._jobs.put(None)
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _put(self, work: Callable[[], None]) -> None:
        if self._is_closed:
            raise RuntimeError("the engine is closed")
        self._jobs.put(work)

    def _run(self) -> None:
        while (work := self._jobs.get()) is not None:
            work()
        self._at_end()

    def _run_job(self, job: Job[Item], handle: JobHandle[Item]) -> None:
        started = time.perf_counter()
        self._current = handle
        try:
            if handle.is_cancelled or self._is_closed:
                handle._put(Finished("cancelled", 0.0))
                return
            for event in job(lambda: handle.is_cancelled):
                handle._put(event)
        except BaseException as error:  # noqa: BLE001  a job must not end the engine's thread
            handle.error = error
            handle._put(_failed(error, time.perf_counter() - started))
        finally:
            self._current = None
            handle._end()


def _failed(error: BaseException, at: float) -> Failed:
    if isinstance(error, SpecdecError):
        return Failed(type(error).__name__, error.title, error.message, error.hint, at)
    return Failed(
        type(error).__name__,
        "Something unexpected went wrong",
        f"{type(error).__name__}: {error}",
        "Run again with --debug and look at the log.",
        at,
    )

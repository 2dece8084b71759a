"""Bridge: the app's one way to the engine. Nothing here blocks; what arrives is polled.

Importing this module imports neither MLX nor mlx_lm: that happens on the engine's thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mlx_specdec.errors import SpecdecError
from mlx_specdec.events import Event, Failed
from mlx_specdec.service import EngineThread, JobHandle
from mlx_specdec.settings import Settings
from tui.opening import Opening, OpeningJob, PairRequest

if TYPE_CHECKING:
    from mlx_specdec.engine import Engine
    from mlx_specdec.model_spec import PairSpec
    from mlx_specdec.session import Session

__all__ = ["Bridge", "Feed", "Handle"]

T = TypeVar("T")
LEAVING_SECONDS = 0.3


class Handle(Protocol):
    """What a feed needs of a job on the engine's thread."""

    @property
    def is_done(self) -> bool: ...
    def poll(self) -> Sequence[Any]: ...
    def cancel(self) -> None: ...


class Feed:
    """What one race or one reply has brought since it was polled last; see JobHandle."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def poll(self) -> list[Any]:
        """What has arrived, without waiting: LaneEvents of a race, Events of a reply."""
        return list(self._handle.poll())

    def cancel(self) -> None:
        """Ask it to end; it looks once a round and between prefill chunks."""
        self._handle.cancel()

    @property
    def is_done(self) -> bool:
        """Whether the job has ended; what it said last may still wait to be polled."""
        return self._handle.is_done


def _release_thread() -> None:
    backend = sys.modules.get("mlx_specdec.backend")
    if backend is not None:
        backend.release_thread()


def _answering(
    future: Future[T], function: Callable[[Callable[[], bool]], T]
) -> Callable[[Callable[[], bool]], Iterator[Any]]:
    """A job that brings its result to ``future`` and yields nothing."""

    def job(is_cancelled: Callable[[], bool]) -> Iterator[Any]:
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(function(is_cancelled))
            except Exception as error:  # noqa: BLE001  whoever asks for the result gets it
                future.set_exception(error)
        return iter(())

    return job


class Bridge:
    """Opens a pair, starts races and replies, and closes it all without waiting."""

    def __init__(self) -> None:
        self._opener: EngineThread | None = None
        self._engine: Engine | None = None
        self._job: OpeningJob | None = None
        self._opening: JobHandle[Event] | None = None
        self._current: Feed | None = None
        self._calls: list[Future[Any]] = []
        self._idle: tuple[Handle, Future[Any]] | None = None

    # ------------------------------------------------------------------ opening

    def open(self, request: PairRequest) -> None:
        """Load a pair on a thread of its own; ``opening`` tells how far it is.

        A pair that is loaded already is closed once the other one is there.
        """
        self.stop_idle()
        number = 1
        if self._job is not None:
            self._job.cancel()
            number += self._job.state.number
        if self._opener is None:
            self._opener = EngineThread("mlx-specdec-opening", at_end=_release_thread)
        self._job = job = OpeningJob(request, number, before_load=self._close_engine)
        self._opening = self._opener.submit(job.run)

    @property
    def opening(self) -> Opening:
        """How far the pair asked for last is."""
        if self._job is None:
            return Opening()
        for event in self._opening.poll() if self._opening is not None else ():
            if isinstance(event, Failed):
                self._job.fail(event)
        state = self._job.state
        if state.engine is not None:
            self._engine = state.engine
        return state

    def answer_download(self, choice: str) -> None:
        """Answer the question before a download: ``download``, ``better`` or ``quit``."""
        if self._job is not None:
            self._job.answer(choice)

    def cancel_opening(self) -> None:
        """Give the download or the loading up; what has arrived on the disk is kept."""
        if self._job is not None:
            self._job.cancel()

    @property
    def is_ready(self) -> bool:
        return self.opening.phase == "ready"

    # ------------------------------------------------------------------ work

    def start_race(self, prompt: str, settings: Settings, **more: Any) -> Feed:
        """Both lanes on one prompt; the feed brings LaneEvents.

        Raises:
            SpecdecError: no models are loaded, or a setting is outside its range.
        """
        engine = self._ready_engine()
        from tui.race.jobs import live_race

        settings.request((0,))  # a wrong setting is an error here, not on the other thread
        return self._start(engine, live_race(engine, prompt, settings, **more))

    def start_reply(self, text: str | None, settings: Settings) -> Feed:
        """The session's next turn; ``text`` None answers the conversation as it stands.

        Raises:
            SpecdecError: no models are loaded, or a setting is outside its range.
        """
        engine = self._ready_engine()
        settings.request((0,))
        session = engine.session

        def job(is_cancelled: Callable[[], bool]) -> Iterator[Any]:
            if text is None:
                return session.reply(settings, is_cancelled=is_cancelled)
            return session.ask(text, settings, is_cancelled=is_cancelled)

        return self._start(engine, job)

    def start_timing(self, pair: PairSpec, seconds: float) -> Feed:
        """Time the target's shapes in other weight formats until anything else is asked of the
        engine; the feed brings the seconds left after every pass, and TimedFormats last.

        Raises:
            SpecdecError: no models are loaded.
        """
        engine = self._ready_engine()
        from tui.race.jobs import timed_formats

        return self._start(engine, timed_formats(engine, pair, seconds))

    @property
    def begins_thinking(self) -> bool:
        """Whether the reply under way starts inside a thinking block; known once prefilled."""
        engine = self.opening.engine or self._engine
        return engine is not None and engine.session.begins_thinking

    def conversation_call(self, function: Callable[[Session], T]) -> Future[T]:
        """Run ``function(session)`` on the engine's thread after what runs there.

        Await it in a screen with ``asyncio.wrap_future``. It is cancelled where the models are
        closed before it began.

        Raises:
            SpecdecError: no models are loaded.
        """
        engine = self._ready_engine()
        self.stop_idle()
        future: Future[T] = Future()

        engine.thread.submit(_answering(future, lambda is_cancelled: function(engine.session)))
        self._calls = [call for call in (*self._calls, future) if not call.done()]
        return future

    def when_idle(self, function: Callable[[Session, Callable[[], bool]], T]) -> Future[T]:
        """Run ``function(session, is_cancelled)`` on the engine's thread until anything else is
        asked of the engine; the future is cancelled where it had not begun by then.

        Raises:
            SpecdecError: no models are loaded.
        """
        engine = self._ready_engine()
        self.stop_idle()
        future: Future[T] = Future()
        job = _answering(future, lambda is_cancelled: function(engine.session, is_cancelled))
        self._idle = engine.thread.submit(job), future
        return future

    def stop_idle(self) -> None:
        """End what ``when_idle`` began."""
        if self._idle is not None:
            handle, future = self._idle
            self._idle = None
            handle.cancel()
            future.cancel()

    def generation_defaults(self) -> Mapping[str, Any]:
        """What the model's makers recommend for sampling."""
        return self._ready_engine().pair.generation_defaults

    @property
    def is_busy(self) -> bool:
        """Whether a race or a reply is under way."""
        return self._current is not None and not self._current.is_done

    @property
    def is_quiet(self) -> bool:
        """Whether models are loaded and nothing is under way that somebody asked for."""
        return self.is_ready and not self.is_busy and all(call.done() for call in self._calls)

    # ------------------------------------------------------------------ leaving

    def close(self) -> bool:
        """Cancel everything and wait at most 0.3 s; False when a thread is still busy."""
        self.stop_idle()
        if self._current is not None:
            self._current.cancel()
        if self._job is not None:
            self._job.cancel()
        threads = [thread for thread in (self._opener,) if thread is not None]
        engine = self.opening.engine or self._engine
        if engine is not None:
            threads.append(engine.thread)
        share = LEAVING_SECONDS / max(len(threads), 1)
        ended = [thread.close(share) for thread in threads]
        self._cancel_calls()
        return all(ended)

    def _ready_engine(self) -> Engine:
        engine = self.opening.engine or self._engine
        if engine is None:
            raise SpecdecError(
                "No models are loaded yet.", "Wait for them, or choose others with m."
            )
        return engine

    def _start(self, engine: Engine, job: Callable[[Callable[[], bool]], Iterator[Any]]) -> Feed:
        self.stop_idle()
        if self._current is not None:
            self._current.cancel()
        self._current = Feed(engine.thread.submit(job))
        return self._current

    def _close_engine(self) -> None:
        """Free what is loaded: two pairs at once may be more than the memory holds."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.thread.close(timeout=60)
            self._cancel_calls()

    def _cancel_calls(self) -> None:
        """Give up the calls that no engine will begin any more."""
        for call in self._calls:
            call.cancel()

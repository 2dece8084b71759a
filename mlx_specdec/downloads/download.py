"""Fetching what a plan lacks, in a child process that can be killed at any moment.

The child is `download_worker`; this side starts it, follows its lines, and tells its errors.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .. import errors
from ..errors import DownloadError, DownloadStalledError, IncompleteModelError, SpecdecError
from ..locate import Found, locate
from ..model_spec import ModelSpec
from .plan import DownloadPlan, ModelPlan, download_plan
from .rate import remember_download_rate

__all__ = ["DownloadPlan", "ModelPlan", "Progress", "download", "download_plan"]

STALL_SECONDS = 60.0
_POLL_SECONDS = 0.2
WORKER = "mlx_specdec.downloads.worker"


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a download is. Bytes are of all models being fetched, and count what was there.

    ``bytes_per_second`` is the mean since the download began; 0 at first. ``phase`` is
    ``download`` or ``check`` (taking a checksum).
    """

    spec: ModelSpec
    file: str
    bytes_done: int
    bytes_total: int
    bytes_per_second: float
    phase: str = "download"

    @property
    def share(self) -> float:
        """0 to 1."""
        return min(1.0, self.bytes_done / self.bytes_total) if self.bytes_total else 0.0

    @property
    def seconds_left(self) -> float | None:
        if not self.bytes_per_second:
            return None
        return max(0, self.bytes_total - self.bytes_done) / self.bytes_per_second


def download(
    plan: DownloadPlan,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    *,
    stall_seconds: float = STALL_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    cancel: threading.Event | None = None,
    tries: int = 5,
    pause_seconds: float = 1.0,
) -> list[Found]:
    """Fetch what the plan lacks; where each model of it is then, in the plan's order.

    Blocks; ``on_progress`` is called on this thread. However it ends, the child is gone after it
    and what has arrived is kept for the next run.

    Args:
        stall_seconds: without a single new byte, after which we give up.
        cancel: set by another thread to stop.
        tries, pause_seconds: attempts that bring no byte, and the first wait between two.

    Raises:
        DownloadStalledError, DiskFullError, HubUnreachableError, GatedModelError, ...: one line
            each, with what to do.
    """
    plan.check_disk()
    if plan.to_fetch:
        watch = _Watch(plan, on_progress, stall_seconds, clock, cancel or threading.Event())
        began = clock()
        try:
            watch.run(tries, pause_seconds)
        finally:
            remember_download_rate(watch.fetched_bytes, clock() - began)
    results = []
    for model in plan.models:
        found = locate(model.spec)
        if found is None or not found.complete:
            lacks = ", ".join(found.missing) if found else "everything"
            raise IncompleteModelError(
                f"{model.spec.repo} was downloaded but lacks {lacks}.",
                "The repository itself seems incomplete: take another one.",
            )
        results.append(found)
    return results


class _Watch:
    """Runs the child and follows its lines."""

    def __init__(
        self,
        plan: DownloadPlan,
        on_progress: Callable[[Progress], None],
        stall_seconds: float,
        clock: Callable[[], float],
        cancel: threading.Event,
    ) -> None:
        self._models = {model.spec.repo: model for model in plan.to_fetch}
        self._done = {repo: model.on_disk_bytes for repo, model in self._models.items()}
        self._total = {repo: model.total_bytes for repo, model in self._models.items()}
        self._on_progress, self._clock, self._cancel = on_progress, clock, cancel
        self._stall_seconds = stall_seconds
        self._started: tuple[float, int] | None = None
        self._at_first = sum(self._done.values())

    @property
    def fetched_bytes(self) -> int:
        """Bytes that came over the network so far."""
        return sum(self._done.values()) - self._at_first

    def run(self, tries: int, pause_seconds: float) -> None:
        from huggingface_hub import constants

        request = {
            "repos": list(self._models),
            "endpoint": constants.ENDPOINT,
            "cache": constants.HF_HUB_CACHE,
            "tries": tries,
            "pause_seconds": pause_seconds,
        }
        with tempfile.TemporaryFile() as complaints:
            child = _start_worker(request, complaints)
            try:
                self._follow(child)
            finally:
                child.kill()
                child.wait()
                for pipe in (child.stdin, child.stdout):
                    if pipe is not None:
                        pipe.close()
            if child.returncode:
                complaints.seek(0)
                last = complaints.read().decode(errors="replace").strip().splitlines()[-1:]
                raise DownloadError(
                    f"The download ended unexpectedly: {(last or ['no reason given'])[0]}.",
                    "Run the same command again; what was downloaded is kept.",
                )

    def _follow(self, child: subprocess.Popen[bytes]) -> None:
        lines: queue.Queue[bytes | None] = queue.Queue()
        assert child.stdout is not None
        threading.Thread(target=_pump, args=(child.stdout, lines), daemon=True).start()
        grew = self._clock()
        while True:
            if self._cancel.is_set():
                raise DownloadError("The download was stopped.", "The same command goes on here.")
            try:
                line = lines.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                if self._clock() - grew > self._stall_seconds:
                    raise DownloadStalledError(
                        f"No data for {self._stall_seconds:.0f} s.",
                        "Check the network, then run the same command again: it goes on from here.",
                    ) from None
                continue
            if line is None:
                child.wait()
                return
            before = sum(self._done.values())
            message = json.loads(line)
            self._take(message)
            if message["event"] != "progress" or sum(self._done.values()) > before:
                grew = self._clock()

    def _take(self, message: dict[str, Any]) -> None:
        if message["event"] == "error":
            raise _error_of(message)
        repo = message["repo"]
        self._done[repo], self._total[repo] = message["bytes_done"], message["bytes_total"]
        done, now = sum(self._done.values()), self._clock()
        if self._started is None:
            self._started = (now, done)
        since, at_first = self._started
        self._on_progress(
            Progress(
                spec=self._models[repo].spec,
                file=message.get("file", ""),
                bytes_done=done,
                bytes_total=sum(self._total.values()),
                bytes_per_second=max(0.0, (done - at_first) / (now - since))
                if now > since
                else 0.0,
                phase="check" if message["event"] == "checking" else "download",
            )
        )


def _start_worker(request: dict[str, Any], complaints: IO[bytes]) -> subprocess.Popen[bytes]:
    here = str(Path(__file__).resolve().parent.parent.parent)
    paths = [here, os.environ.get("PYTHONPATH", "")]
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-m", WORKER, json.dumps(request)],
        stdin=subprocess.PIPE,  # its end tells the child that we are gone
        stdout=subprocess.PIPE,
        stderr=complaints,
        env=environ,
        start_new_session=True,  # Ctrl-C is for us to handle
    )


def _pump(stream: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    try:
        for line in stream:
            lines.put(line)
    except ValueError:  # closed while we read
        pass
    lines.put(None)


def _error_of(message: dict[str, Any]) -> SpecdecError:
    kind = getattr(errors, message["kind"], DownloadError)
    error = kind(message["message"], message["hint"])
    return error if isinstance(error, SpecdecError) else DownloadError(message["message"])

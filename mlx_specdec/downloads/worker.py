"""The child process that downloads: one JSON request in its argument, JSON lines out.

    python -m mlx_specdec.downloads.worker '{"repos": [...], "endpoint": ..., "cache": ...}'

Lines: ``{"event": "model", "repo", "bytes_done", "bytes_total"}`` first, then ``progress`` with
the same fields and ``file``, ``checking`` while a checksum is taken, ``done`` with ``path``, or
``error`` with ``kind`` (a class of errors.py), ``message`` and ``hint``.

It can be killed at any moment: a file grows as ``<etag>.incomplete`` beside the cache's blobs, is
moved into place when it is whole and its checksum is right, and the branch's ref, by which other
programs find a snapshot, is written last. The next run goes on where this one was.

The files come over plain HTTP, never through hf-xet: the library's own download of a file begins
from nothing after a kill (its temporary file has a new name each time and is thrown away), the
growth of an xet file says little about its progress, and a stalled xet transfer cannot be told
from a slow one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any

from ..errors import DownloadError, HubUnreachableError, SpecdecError
from .hub import HUB_ERRORS, HubFile, Listing, in_our_words, listing

from huggingface_hub import constants, get_session, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    build_hf_headers,
    hf_raise_for_status,
)

__all__ = ["Fetcher", "bytes_in_cache", "main"]

_SHA256 = re.compile(r"[0-9a-f]{64}")
_REPORT_BYTES, _REPORT_SECONDS = 1 << 20, 0.25
_PASSING = (408, 429, 500, 502, 503, 504)

Report = Callable[..., None]


class _Passing(Exception):
    """A fault worth another try; ``reason`` is what to say when tries run out."""

    def __init__(self, reason: SpecdecError) -> None:
        super().__init__(str(reason))
        self.reason = reason


def bytes_in_cache(files: Listing, folder: Path) -> int:
    """Bytes of a listing's files that the repository's cache ``folder`` holds, halves included."""
    blobs = folder / "blobs"
    done = 0
    for file in files.files:
        whole, half = blobs / file.etag, blobs / f"{file.etag}.incomplete"
        linked = folder / "snapshots" / files.commit / file.name
        for path in (whole, linked, half):
            if path.is_file():
                done += min(path.stat().st_size, file.size)
                break
    return done


@dataclass
class Fetcher:
    """Fetches repositories into the cache.

    Args:
        cache: the Hugging Face cache folder.
        report: called with the fields of one line.
        endpoint: the hub's address; None for huggingface_hub's own.
        tries: attempts without a single new byte before giving up.
        pause_seconds: before the second attempt; doubles after each.
        timeout: seconds without data that end an attempt.
    """

    cache: Path
    report: Report
    endpoint: str | None = None
    tries: int = 5
    pause_seconds: float = 1.0
    timeout: float = field(default_factory=lambda: float(constants.HF_HUB_DOWNLOAD_TIMEOUT))
    sleep: Callable[[float], None] = time.sleep
    _done: int = 0
    _total: int = 0

    def fetch(self, repo: str) -> Path:
        """Fetch what is missing of a repository; the path of its snapshot.

        Raises:
            DownloadError, ModelError: as hub.in_our_words says.
        """
        files: Listing = self._patiently(lambda: _ask(repo, self.endpoint, self.timeout))
        folder = self.cache / constants.REPO_ID_SEPARATOR.join(["models", *repo.split("/")])
        snapshot = folder / "snapshots" / files.commit
        self._done, self._total = bytes_in_cache(files, folder), files.total_bytes
        self._say("model", repo)
        try:
            for file in files.files:
                self._one(files, file, folder, snapshot / file.name)
            _write_ref(folder / "refs" / "main", files.commit)
        except HUB_ERRORS as error:
            raise in_our_words(error, repo, self.endpoint) from error
        self._say("done", repo, path=str(snapshot))
        return snapshot

    def _say(self, event: str, repo: str, **more: Any) -> None:
        self.report(event=event, repo=repo, bytes_done=self._done, bytes_total=self._total, **more)

    def _one(self, files: Listing, file: HubFile, folder: Path, pointer: Path) -> None:
        blob = folder / "blobs" / file.etag
        whole = blob if blob.is_file() else pointer
        if whole.is_file() and whole.stat().st_size != file.size:
            self._done -= min(whole.stat().st_size, file.size)
            whole.unlink()
        if not blob.is_file() and not pointer.is_file():
            blob.parent.mkdir(parents=True, exist_ok=True)
            partial = blob.with_name(f"{blob.name}.incomplete")
            with partial.open("ab", buffering=0) as stream:
                _lock(stream, files.repo)
                self._patiently(lambda: self._stream(files, file, stream))
                self._check(files.repo, file, partial)
                os.replace(partial, blob)
        if not pointer.is_file():
            _link(blob, pointer)

    def _patiently(self, attempt: Callable[[], Any]) -> Any:
        """Try again after passing faults, as long as some attempts bring data."""
        left, pause, before = self.tries, self.pause_seconds, self._done
        while True:
            try:
                return attempt()
            except _Passing as fault:
                if self._done > before:
                    left, pause, before = self.tries, self.pause_seconds, self._done
                left -= 1
                if left <= 0:
                    raise fault.reason from fault
                self.sleep(pause)
                pause *= 2

    def _stream(self, files: Listing, file: HubFile, stream: IO[bytes]) -> None:
        have = stream.seek(0, os.SEEK_END)
        if have > file.size:
            self._restart(stream, file)
            have = 0
        if have == file.size:
            return
        headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
        url = hf_hub_url(files.repo, file.name, revision=files.commit, endpoint=self.endpoint)
        try:
            with get_session().stream("GET", url, headers=headers, timeout=self.timeout) as answer:
                if answer.status_code >= HTTPStatus.BAD_REQUEST:
                    answer.read()
                    hf_raise_for_status(answer)
                start = f"bytes {have}-"
                resumes = answer.headers.get("Content-Range", "").startswith(start)
                if have and not (answer.status_code == HTTPStatus.PARTIAL_CONTENT and resumes):
                    self._restart(stream, file)
                self._copy(files.repo, file, answer.iter_bytes(), stream)
        except HUB_ERRORS as error:
            self._passing_or_raise(error, files.repo, file, stream)
        size = stream.seek(0, os.SEEK_END)
        if size != file.size:
            self._done -= max(0, size - file.size)
            raise _Passing(_wrong_size(files.repo, file, size))

    def _copy(self, repo: str, file: HubFile, chunks: Any, stream: IO[bytes]) -> None:
        unsaid, last = 0, time.monotonic()
        for chunk in chunks:
            stream.write(chunk)
            self._done += len(chunk)
            unsaid += len(chunk)
            now = time.monotonic()
            if unsaid >= _REPORT_BYTES or now - last >= _REPORT_SECONDS:
                self._say("progress", repo, file=file.name)
                unsaid, last = 0, now
        self._say("progress", repo, file=file.name)

    def _passing_or_raise(
        self, error: Exception, repo: str, file: HubFile, stream: IO[bytes]
    ) -> None:
        status = error.response.status_code if isinstance(error, HfHubHTTPError) else 0
        if status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            size = stream.seek(0, os.SEEK_END)
            self._restart(stream, file)
            raise _Passing(_wrong_size(repo, file, size)) from error
        if status and status not in _PASSING:
            raise in_our_words(error, repo, self.endpoint) from error
        if isinstance(error, OSError) and not status:
            raise error  # the disk, not the network
        raise _Passing(in_our_words(error, repo, self.endpoint)) from error

    def _restart(self, stream: IO[bytes], file: HubFile) -> None:
        self._done -= min(stream.seek(0, os.SEEK_END), file.size)
        stream.truncate(0)
        stream.seek(0)

    def _check(self, repo: str, file: HubFile, partial: Path) -> None:
        if not _SHA256.fullmatch(file.etag):
            return
        self._say("checking", repo, file=file.name)
        with partial.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if digest != file.etag:
            partial.unlink()
            raise DownloadError(
                f"{repo}/{file.name} arrived damaged: its checksum is wrong.",
                "Run the same command again; that file will be fetched anew.",
            )


def _wrong_size(repo: str, file: HubFile, size: int) -> DownloadError:
    return DownloadError(
        f"The hub sent {size:,} bytes of {repo}/{file.name}, which has {file.size:,}.",
        "Run the same command again; if it stays so, the repository is broken.",
    )


def _ask(repo: str, endpoint: str | None, timeout: float) -> Listing:
    try:
        return listing(repo, endpoint, timeout)
    except HubUnreachableError as error:
        raise _Passing(error) from error


def _lock(stream: IO[bytes], repo: str) -> None:
    """One process a file; the system drops the lock when a process is killed."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise DownloadError(
            f"Another program is downloading {repo} already.", "Wait for it, or stop it."
        ) from error


def _link(blob: Path, pointer: Path) -> None:
    pointer.parent.mkdir(parents=True, exist_ok=True)
    pointer.unlink(missing_ok=True)  # a link to nothing
    try:
        pointer.symlink_to(os.path.relpath(blob, pointer.parent))
    except OSError:  # a file system without links
        os.replace(blob, pointer)


def _write_ref(ref: Path, commit: str) -> None:
    ref.parent.mkdir(parents=True, exist_ok=True)
    draft = ref.with_name(f".{ref.name}.{os.getpid()}")
    draft.write_text(commit, encoding="utf-8")
    os.replace(draft, ref)


def _print_line(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def _leave_with_parent() -> None:
    """End when standard input does: our parent is gone."""
    sys.stdin.buffer.read()
    os._exit(1)


def main(argv: list[str]) -> int:
    """Run one request; 0 when all repositories are complete, 1 after an ``error`` line."""
    request = json.loads(argv[1])
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    fetcher = Fetcher(
        cache=Path(request["cache"]),
        report=_print_line,
        endpoint=request.get("endpoint"),
        tries=request.get("tries", 5),
        pause_seconds=request.get("pause_seconds", 1.0),
    )
    try:
        for repo in request["repos"]:
            fetcher.fetch(repo)
    except SpecdecError as error:
        kind = type(error).__name__
        _print_line(event="error", kind=kind, message=error.message, hint=error.hint)
        return 1
    return 0


if __name__ == "__main__":
    code = main(sys.argv)
    sys.stdout.flush()
    os._exit(code)  # the thread that watches the parent would wait for ever

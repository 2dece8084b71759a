"""A hub on 127.0.0.1: model info, HEAD and GET with ranges, and faults on demand."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Fault:
    """What goes wrong with one path.

    Args:
        status: answer this instead (with ``code`` as the hub's error code).
        drop_after: send so many bytes of the body, then close the connection.
        stall_after: send so many bytes, then nothing until ``release`` is set.
        cut_to: claim and send only so many bytes of the file, as if it were that short.
        redirect: send the client to another host name, as the hub does for large files.
        times: how often; then all is well again.
    """

    status: int = 0
    code: str = ""
    drop_after: int | None = None
    stall_after: int | None = None
    cut_to: int | None = None
    redirect: bool = False
    times: int = 1_000_000


@dataclass
class FakeHub:
    """Repositories by id, each a dict of file names and contents."""

    repos: dict[str, dict[str, bytes]] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    corrupt: set[str] = field(default_factory=set)
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    tokens: list[tuple[str, str]] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)
    stalled: threading.Event = field(default_factory=threading.Event)
    endpoint: str = ""

    def fault_for(self, path: str) -> Fault | None:
        for part, fault in self.faults.items():
            if part in path and fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def gets(self, name: str) -> list[str]:
        """The Range headers (empty: none) of the GETs of a file."""
        return [span for method, path, span in self.requests if method == "GET" and name in path]

    def info(self, repo: str) -> dict[str, object]:
        siblings: list[dict[str, object]] = []
        for name, content in self.repos[repo].items():
            entry: dict[str, object] = {"rfilename": name, "size": len(content)}
            entry["blobId"] = hashlib.sha1(content).hexdigest()
            if name.endswith(".safetensors"):
                digest = hashlib.sha256(content).hexdigest()
                entry["lfs"] = {"sha256": digest, "size": len(content), "pointerSize": 130}
            siblings.append(entry)
        return {"id": repo, "sha": COMMIT, "siblings": siblings}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, with_body: bool) -> None:
        hub = self.server.hub
        path = unquote(urlsplit(self.path).path)
        span = self.headers.get("Range", "")
        hub.requests.append((self.command, path, span))
        host = self.headers.get("Host", "")
        hub.tokens.append((host.partition(":")[0], self.headers.get("Authorization", "")))
        fault = hub.fault_for(path)
        if fault is not None and fault.redirect and "127.0.0.1" in host:
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{host.partition(':')[2]}{self.path}")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif fault is not None and fault.status:
            self._refuse(fault.status, fault.code)
        elif fault is not None and path.startswith("/api/"):
            hub.release.wait(20)
        elif path.startswith("/api/models/"):
            repo = "/".join(path.split("/")[3:5])
            if repo in hub.repos:
                self._send(json.dumps(hub.info(repo)).encode(), "application/json")
            else:
                self._refuse(401, "RepoNotFound")
        elif "/resolve/" in path:
            repo, _, rest = path[1:].partition("/resolve/")
            name = rest.partition("/")[2]
            if name in hub.repos.get(repo, {}):
                self._file(hub.repos[repo][name], span, fault or Fault(), name in hub.corrupt)
            else:
                self._refuse(404, "EntryNotFound")
        else:
            self._refuse(404, "")

    def _refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _file(self, content: bytes, span: str, fault: Fault, corrupt: bool) -> None:
        if fault.cut_to is not None:
            content = content[: fault.cut_to]
        start = int(span.removeprefix("bytes=").rstrip("-")) if span else 0
        if start >= len(content) > 0:
            self._refuse(416, "")
            return
        body = content[start:]
        if corrupt:
            body = bytes(byte ^ 0xFF for byte in body)
        self.send_response(206 if span else 200)
        if span:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        for limit in (fault.drop_after, fault.stall_after):
            if limit is not None:
                self.wfile.write(body[:limit])
                self.wfile.flush()
                self.close_connection = True
                if fault.stall_after is not None:
                    self.server.hub.stalled.set()
                    self.server.hub.release.wait(20)
                return
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    hub: FakeHub

    def handle_error(self, request: object, client_address: object) -> None:
        """A killed client is part of the tests."""


@contextmanager
def running_hub() -> Iterator[FakeHub]:
    """A hub that answers until the block ends."""
    hub = FakeHub()
    server = _Server(("127.0.0.1", 0), _Handler)
    server.hub = hub
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        hub.release.set()
        server.shutdown()
        server.server_close()
        thread.join()


def safetensors(size: int, seed: int = 0) -> bytes:
    """A safetensors file with one tensor of ``size`` bytes."""
    entry = {"w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}
    header = json.dumps(entry).encode()
    body = hashlib.shake_128(str(seed).encode()).digest(size)
    return len(header).to_bytes(8, "little") + header + body


def model_files(size: int = 60_000, shards: int = 2, seed: int = 0) -> dict[str, bytes]:
    """A small model's files: config, tokenizer, shards and their index, and what is not needed."""
    config = {
        "model_type": "qwen3",
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 32,
        "intermediate_size": 128,
        "vocab_size": 256,
        "max_position_embeddings": 512,
        "quantization": {"bits": 4, "group_size": 64},
    }
    files = {
        "config.json": json.dumps(config).encode(),
        "tokenizer.json": json.dumps({"seed": seed}).encode(),
        "tokenizer_config.json": b"{}",
        "README.md": b"not needed",
        "model.gguf": b"not needed either",
    }
    names = [f"model-{i:05}-of-{shards:05}.safetensors" for i in range(1, shards + 1)]
    if shards == 1:
        names = ["model.safetensors"]
    for index, name in enumerate(names):
        files[name] = safetensors(size, seed * 100 + index)
    weight_map = {f"w{index}": name for index, name in enumerate(names)}
    files["model.safetensors.index.json"] = json.dumps({"weight_map": weight_map}).encode()
    return files


@contextmanager
def hub_for(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[FakeHub]:
    """A running hub that this process and its children use, with an empty cache in ``folder``."""
    from huggingface_hub import close_session, constants

    with running_hub() as hub:
        cache = folder / "hub"
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
        monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        monkeypatch.setenv("MLX_SPECDEC_LMSTUDIO_DIR", str(folder / "studio"))
        close_session()
        yield hub
        close_session()


def size_of(path: Path) -> int:
    """Bytes of a file; -1 where the downloading process has renamed it meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return -1

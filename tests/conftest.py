"""What holds for every test: MLX's own BLAS, no network, no traces in the home folder."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

# These must stand before anything imports MLX or huggingface_hub, which read them once.
# MLX's own BLAS gives bitwise equal rows for one token and for many, which the equality
# tests rely on; the fast one does not.
os.environ["MLX_SPECDEC_BLAS"] = "off"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

# Kept before the variables below replace it: what a make step fetched lies here. Worker
# processes inherit the replaced ones, and the kept one beside them.
_cache_base = os.environ.setdefault("MLX_SPECDEC_TESTS_CACHE", os.environ.get("XDG_CACHE_HOME", ""))
REAL_CACHE = (Path(_cache_base) if _cache_base else Path.home() / ".cache") / "mlx-specdec"

_scratch = tempfile.TemporaryDirectory(prefix="mlx-specdec-tests-")
for _name in ("HF_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
    os.environ[_name] = str(Path(_scratch.name) / _name.lower())
# Somebody's own settings would send huggingface_hub elsewhere.
for _name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_TOKEN", "HF_ENDPOINT"):
    os.environ.pop(_name, None)


class NetworkBlockedError(AssertionError):
    """A test tried to reach another machine."""


def _refuse_remote(family: int, address: object) -> None:
    if family not in (socket.AF_INET, socket.AF_INET6):
        return
    host = address[0] if isinstance(address, tuple) else address
    try:
        is_local = ip_address(str(host).split("%")[0]).is_loopback
    except ValueError:
        is_local = host in ("localhost", "")
    if not is_local:
        raise NetworkBlockedError(f"a test tried to reach {host!r}; only loopback is allowed")


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Let sockets and name look-ups reach this machine only."""
    patch = pytest.MonkeyPatch()
    connect, connect_ex, sendto = (
        socket.socket.connect,
        socket.socket.connect_ex,
        socket.socket.sendto,
    )
    getaddrinfo = socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        _refuse_remote(self.family, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        _refuse_remote(self.family, address)
        return connect_ex(self, address)

    def guarded_sendto(self: socket.socket, data: Any, *rest: Any) -> int:
        _refuse_remote(self.family, rest[-1])
        return sendto(self, data, *rest)

    def guarded_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name is not None:
            _refuse_remote(socket.AF_INET, (name,))
        return getaddrinfo(host, *args, **kwargs)

    patch.setattr(socket.socket, "connect", guarded_connect)
    patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    patch.setattr(socket.socket, "sendto", guarded_sendto)
    patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def real_cache() -> Path:
    """Return the folder of this project in the user's own cache, read-only for tests."""
    return REAL_CACHE

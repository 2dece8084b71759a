"""A device whose work takes as long as it is told to, on a clock that only work moves.

Passes queue up behind each other as on a real one; a read waits for what it reads, and only that.
"""

from __future__ import annotations

from typing import Any

from mlx_specdec import speculative, standard
from mlx_specdec.backend import mx, read_floats
from mlx_specdec.loaded import LoadedModel
from tests.toymodels import CountingModel

import pytest


class PretendDevice:
    """Host time ``now`` and the time at which the device will be idle, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self.idle_at = 0.0
        self._done_at: dict[int, float] = {}
        self._kept: list[Any] = []  # or an id could come twice

    def clock(self) -> float:
        return self.now

    def work(self, seconds: float) -> None:
        """Queue a pass."""
        self.idle_at = max(self.now, self.idle_at) + seconds

    def drain(self) -> None:
        """Wait for all that is queued."""
        self.now = max(self.now, self.idle_at)

    def asked_for(self, *arrays: Any) -> None:
        for array in arrays:
            self._kept.append(array)
            self._done_at[id(array)] = self.idle_at

    def read(self, array: mx.array) -> list[float]:
        """Wait for the passes behind one array, and read it."""
        self.now = max(self.now, self._done_at[id(array)])
        return read_floats(array)

    def evaluate(self, *arrays: Any) -> None:
        self.drain()

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(mx, "async_eval", self.asked_for)
        monkeypatch.setattr(mx, "eval", self.evaluate)
        for module in (standard, speculative):
            monkeypatch.setattr(module, "read_floats", self.read)


class SleepingModel(CountingModel):
    """A model whose pass over n rows takes ``seconds`` + (n - 1) * ``more_seconds``, after the
    host took ``host_seconds`` to build it."""

    def __init__(
        self,
        loaded: LoadedModel,
        device: PretendDevice,
        seconds: float,
        more_seconds: float,
        host_seconds: float = 0.0,
    ) -> None:
        super().__init__(loaded)
        self._device = device
        self._seconds = seconds
        self._more_seconds = more_seconds
        self._host_seconds = host_seconds

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        self._device.now += self._host_seconds
        self._device.work(self._seconds + (int(inputs.shape[1]) - 1) * self._more_seconds)
        return super().__call__(inputs, cache)

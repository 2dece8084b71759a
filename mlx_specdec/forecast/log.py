"""The book of forecasts: each is written down before its run and scored after it.

JSONL in the user's state folder (``$XDG_STATE_HOME/mlx-specdec/forecasts.jsonl``). Four kinds
of line: ``prediction``, ``score``, ``run`` (what a run accepted, from which the acceptance of
later runs is forecast) and ``prices`` (of shapes timed before a download). A line that cannot be
read is passed over; a disk that cannot be written costs the history, never the run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ..errors import InvalidRequestError
from ..ledger.latency import LatencyModel
from .prediction import Prediction, Score, predict, score

__all__ = [
    "ForecastLog",
    "KeptPrices",
    "Prediction",
    "RunSeen",
    "Score",
    "predict",
    "score",
    "state_folder",
]

SCHEMA = 1
_MOST_RUNS = 50  # of a pair and rule; older ones no longer count
# At a place that was seldom reached the chance over all places counts as two more guesses.
_BORROWED_GUESSES = 2


def state_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where this program keeps what it has seen: XDG_STATE_HOME, else ~/.local/state."""
    env = os.environ if environ is None else environ
    base = env.get("XDG_STATE_HOME", "")
    usable = base and Path(base).is_absolute()
    return (Path(base) if usable else Path.home() / ".local" / "state") / "mlx-specdec"


@dataclass(frozen=True, slots=True)
class RunSeen:
    """What a run kept of its guesses.

    Args:
        pair: ``target+draft``.
        rule: the acceptance rule, or ``greedy`` at temperature 0, where all are the same.
        temperature: of the target's law.
        prompt: its id, or a hash of a person's own words; forecasts of it look at others only.
        by_position: (kept, tested), first place first.
        at: seconds since the epoch.
    """

    pair: str
    rule: str
    temperature: float
    prompt: str
    by_position: tuple[tuple[int, int], ...]
    at: float


@dataclass(frozen=True, slots=True)
class KeptPrices:
    """Prices of a pair's shapes, timed before its download; see ``prediction.Priced``."""

    pair: str
    machine: str
    model: LatencyModel
    words: str
    at: float
    source: str = "shapes"


class ForecastLog:
    """Reads and appends the book; ``path`` None takes the user's own."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = state_folder() / "forecasts.jsonl" if path is None else path

    def write(self, prediction: Prediction) -> None:
        """Write a forecast down; before its run, or it is none."""
        self._append("prediction", asdict(prediction))

    def write_score(self, item: Score) -> None:
        """Write down how a forecast turned out."""
        self._append("score", asdict(item))

    def add_run(self, run: RunSeen) -> None:
        """Keep what a run accepted."""
        self._append("run", asdict(run))

    def write_prices(self, prices: KeptPrices) -> None:
        """Keep what a forecast of shapes found, so that the pair's first run can score it."""
        self._append("prices", asdict(prices))

    def prices(self, pair: str, machine: str) -> KeptPrices | None:
        """The newest prices of a pair's shapes on this machine; None when it was never asked."""
        found = [kept for data in self._lines("prices") if (kept := _prices(data))]
        alike = [kept for kept in found if (kept.pair, kept.machine) == (pair, machine)]
        return alike[-1] if alike else None

    def predictions(self) -> list[Prediction]:
        """Every forecast, oldest first."""
        return [found for data in self._lines("prediction") if (found := _prediction(data))]

    def scores(self) -> list[Score]:
        """Every scored forecast, oldest first."""
        return [found for data in self._lines("score") if (found := _score(data))]

    def runs(self) -> list[RunSeen]:
        """What was accepted, oldest run first."""
        return [found for data in self._lines("run") if (found := _run(data))]

    def acceptance(
        self, pair: str, rule: str, temperature: float, besides: str = ""
    ) -> tuple[tuple[float, ...], int] | None:
        """Chance by position from runs on other prompts, and how many runs; None before any.

        Args:
            besides: the prompt to come, whose own runs do not count.
        """
        alike = [
            run
            for run in self.runs()
            if (run.pair, run.rule, run.temperature) == (pair, rule, temperature)
            and run.prompt != besides
            and any(tested for _, tested in run.by_position)
        ][-_MOST_RUNS:]
        if not alike:
            return None
        return pooled_chances([run.by_position for run in alike]), len(alike)

    def _lines(self, kind: str) -> Iterator[dict[str, Any]]:
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        for line in text.splitlines():
            try:
                data = json.loads(line)
            except ValueError:  # cut short by a full disk, or another program's
                continue
            if isinstance(data, dict) and data.get("kind") == kind:
                yield data

    def _append(self, kind: str, data: dict[str, Any]) -> None:
        line = json.dumps({"schema": SCHEMA, "kind": kind, **data}, ensure_ascii=False)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError:
            return


def pooled_chances(counts: Sequence[Sequence[tuple[int, int]]]) -> tuple[float, ...]:
    """Chance by position from (kept, tested) of several runs, at least one guess among them."""
    depth = max(len(run) for run in counts)
    kept = [sum(run[i][0] for run in counts if i < len(run)) for i in range(depth)]
    tested = [sum(run[i][1] for run in counts if i < len(run)) for i in range(depth)]
    overall = sum(kept) / sum(tested)
    lent = _BORROWED_GUESSES
    return tuple((k + lent * overall) / (t + lent) for k, t in zip(kept, tested, strict=True))


def _known(kind: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a class; what a later version added is passed over."""
    return {item.name: data[item.name] for item in fields(kind) if item.name in data}


def _prediction(data: Mapping[str, Any]) -> Prediction | None:
    try:
        found = Prediction(**_known(Prediction, data))
        return found if found.speedup > 0 else None
    except TypeError:
        return None


def _prices(data: Mapping[str, Any]) -> KeptPrices | None:
    try:
        parts = dict(data["model"])
        table = tuple((int(rows), float(each)) for rows, each in parts["seconds_by_rows"])
        model = LatencyModel(**{**_known(LatencyModel, parts), "seconds_by_rows": table})
        return KeptPrices(**{**_known(KeptPrices, data), "model": model})
    except (TypeError, KeyError, ValueError, InvalidRequestError):
        return None


def _score(data: Mapping[str, Any]) -> Score | None:
    try:
        said = _prediction(data["prediction"])
        if said is None or not data["measured"] > 0:
            return None
        return Score(**{**_known(Score, data), "prediction": said})
    except (TypeError, KeyError):
        return None


def _run(data: Mapping[str, Any]) -> RunSeen | None:
    try:
        counts = tuple((int(kept), int(tested)) for kept, tested in data["by_position"])
        return RunSeen(**{**_known(RunSeen, data), "by_position": counts})
    except (TypeError, KeyError, ValueError):
        return None

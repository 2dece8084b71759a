"""Rounds and races for tests of what is shown of them: the drawing's scenario and made-up ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from zlib import crc32

from mlx_specdec.costs.prices import Prices
from mlx_specdec.events import Check, Emitted, Event, Finished, Prefilled, Proposed, Round, Timings
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.race.recording import Recording, RecordingHeader, read_recording_file

GOLDEN = Path(__file__).parent / "golden"
PASSES = (0.065, 0.068, 0.0735, 0.0824, 0.096, 0.118, 0.133, 0.150, 0.176)
DRAWN_MODEL = LatencyModel.measured(tuple(enumerate(PASSES, start=1)), 0.0039, 0.00155)
DRAWN_PRICES = Prices(DRAWN_MODEL, "measured", "passes measured on this machine 4 min ago")
HEADER = RecordingHeader(
    target="qwen3-14b",
    draft="qwen3-0.6b",
    target_size="14B",
    draft_size="0.6B",
    quantization="4-bit",
    machine="M3 Pro 36 GB",
    power="mains",
    versions={"mlx": "0.32.4"},
    prompt_id="explain-2",
    prompt="Why is the sky blue?",
    rule="coupled",
    date="2026-10-01T12:00:00",
)


def golden(name: str) -> Recording:
    """One of the recordings in tests/golden, such as ``fable``."""
    return read_recording_file(GOLDEN / f"race_{name}.jsonl")


def made_round(
    index: int,
    at: float,
    kept: int = 0,
    proposed: int = 0,
    timings: Timings | None = None,
    texts: Sequence[str] = (),
    note: str = "",
) -> Round:
    """A round that keeps ``kept`` of ``proposed`` guesses and adds a token of the target."""
    words = list(texts) or [f" w{index}.{place}" for place in range(kept + 1)]
    kinds = ["accepted"] * kept + ["bonus" if kept == proposed else "recovered"]
    checked = min(kept + 1, proposed)
    return Round(
        index=index,
        position=10 + index,
        lookahead=proposed,
        proposed=tuple(Proposed(100 + i, "g", 0.5, 0.5) for i in range(proposed)),
        checks=tuple(Check(0.5, 0.1, i < kept) for i in range(checked)),
        num_accepted=kept,
        emitted=tuple(
            Emitted(200 + index, word, kind, 1.0) for word, kind in zip(words, kinds, strict=False)
        ),
        timings=timings or Timings(0.001, 0.05, 0.001),
        at=at,
        note=note,
    )


def made_lane(
    kept: Sequence[int], proposed: int, seconds: float = 0.06, note: str = ""
) -> tuple[Event, ...]:
    """A whole answer: a prompt, Round 0, a round per entry of ``kept``, an end."""
    events: list[Event] = [Prefilled(10, 0, 0.1, 0.1), made_round(0, 0.15)]
    at = 0.15
    for index, count in enumerate(kept, start=1):
        at += seconds
        events.append(made_round(index, at, count, proposed, note=note))
    return (*events, Finished("length", at + 0.001))


def texts_race(plain: str, fast: str, header: RecordingHeader = HEADER) -> Recording:
    """A race whose lanes write two texts, one token per word, of equal speed."""
    lanes: list[tuple[Event, ...]] = []
    for text in (plain, fast):
        words = [f" {word}" for word in text.split(" ")]
        rounds = [
            made_round(index, 0.1 + index * 0.05, texts=[word]) for index, word in enumerate(words)
        ]
        rounds = [
            replace(
                each,
                emitted=(
                    replace(each.emitted[0], token=crc32(word.encode("utf-8", "surrogatepass"))),
                ),
            )
            for each, word in zip(rounds, words, strict=True)
        ]
        end = rounds[-1].at + 0.001
        lanes.append((Prefilled(10, 0, 0.1, 0.1), *rounds, Finished("stop", end)))
    return Recording(header, lanes[0], lanes[1])

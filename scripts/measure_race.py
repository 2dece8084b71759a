"""Prints what racing costs each lane: its speed in a race against its speed alone.

    python scripts/measure_race.py [--runs 7] [--target tiny] [--prompt prose-1] [--clock cpu]

Two lanes share one device in short slices, and each lane's clock counts only its own work. If that
is right, a lane is as fast in a race as alone: race / alone is near 1. Runs alternate, so that a
machine that warms up or is busy for a while meets both; a ratio is of medians. On a machine that
others use the wall clock says little: ``--clock cpu`` counts this process's own processor time
instead (for MLX on a CPU; a GPU's time is not in it).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from statistics import median

from mlx_specdec.cli.options import lookahead_value
from mlx_specdec.engine import load
from mlx_specdec.metrics import Metrics, fold
from mlx_specdec.prompts import prompt_named
from mlx_specdec.race.race import Race
from mlx_specdec.race.recording import LANES, SPECULATIVE, Recording, RecordingHeader
from mlx_specdec.session import Session
from mlx_specdec.settings import Settings, settings_from

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
HEADER = RecordingHeader("", "")


class Measurement:
    """Both lanes in races and alone, on one clock; everything happens on the engine's thread."""

    def __init__(
        self, session: Session, tokens: Sequence[int], settings: Settings, clock: str
    ) -> None:
        self.session = session
        self.tokens = tokens
        self.settings = settings
        self.clock: Callable[[], float] = CLOCKS[clock]
        self.raced: dict[str, list[Metrics]] = {lane: [] for lane in LANES}
        self.alone: dict[str, list[Metrics]] = {lane: [] for lane in LANES}

    def warm_up(self) -> None:
        Race(self.session, self.tokens, self.settings).warm_up()

    def run(self) -> None:
        """One race, and each lane once alone."""
        race = Race(self.session, self.tokens, self.settings, clock=self.clock)
        recording = Recording.of(HEADER, race.events())
        for lane in LANES:
            self.raced[lane].append(recording.metrics(lane))
            wanted = self.settings.changed(draft=lane == SPECULATIVE)
            session = self.session.beside(self.clock)
            self.alone[lane].append(fold(session.generate(self.tokens, wanted)))


def _line(name: str, raced: list[float], alone: list[float]) -> str:
    pairs = [one / other for one, other in zip(raced, alone, strict=True)]
    ratio = median(raced) / median(alone)
    return (
        f"  {name:<26}{median(raced):>10.2f}{median(alone):>10.2f}{ratio:>14.3f}"
        f"   {min(pairs):.2f} to {max(pairs):.2f}"
    )


def _milliseconds(figures: Metrics) -> float:
    return 1000 * (figures.seconds_per_token or 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="tiny")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=120)
    parser.add_argument("--lookahead", type=lookahead_value, default=3, help="auto or 1 to 16")
    parser.add_argument("--prompt", default="prose-1", help="the id of a built-in prompt")
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    args = parser.parse_args()
    prompt = prompt_named(args.prompt)
    if prompt is None:
        parser.error(f"there is no prompt {args.prompt}")
    base = Settings(
        max_tokens=args.tokens,
        lookahead=args.lookahead,
        rule="coupled",
        seed=11,
        ignore_eos=True,
        think=False,
    )
    settings = settings_from(base, temperature=0.7)
    with load(args.target) as engine:
        session = engine.session
        tokens = engine.thread.call(lambda: session.chat_tokens(prompt.text, think=False))
        measured = Measurement(session, tokens, settings, args.clock)
        engine.thread.call(measured.warm_up)
        for _ in range(args.runs):
            engine.thread.call(measured.run)
    raced, alone = measured.raced, measured.alone
    print(
        f"{args.target}, {prompt.id}, {args.tokens} tokens, {args.runs} runs of each, "
        f"{args.clock} clock"
    )
    print(f"  {'':<26}{'race':>10}{'alone':>10}{'race / alone':>14}   spread of the pairs")
    for lane in LANES:
        rates = [[_milliseconds(each) for each in kind[lane]] for kind in (raced, alone)]
        print(_line(f"{lane}, ms per token", *rates))
        whole = [[each.end_to_end_seconds for each in kind[lane]] for kind in (raced, alone)]
        print(_line(f"{lane}, s in all", *whole))


if __name__ == "__main__":
    main()

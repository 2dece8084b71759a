"""What the benchmark says beforehand, on made-up machines whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlx_specdec.bench.plan import Arm, BenchPlan, arms_named
from mlx_specdec.bench.runner import BenchResult, run_bench
from mlx_specdec.bench.summary import summarise
from mlx_specdec.bench.workloads import Workload
from mlx_specdec.costs.prices import Prices
from mlx_specdec.events import Emitted, Event, Finished, Prefilled, Proposed, Round, Timings
from mlx_specdec.forecast.reply import drafting_seconds
from mlx_specdec.ledger.latency import LatencyModel, expected_tokens
from mlx_specdec.settings import Settings

import numpy as np
import pytest

MODEL = LatencyModel.measured([(m, 1 + 0.1 * (m - 1)) for m in range(1, 10)], 0.1, 0.05)
KINDS = {"code": 0.85, "prose": 0.5}
TEXTS = tuple(
    Workload(kind, "", tuple(f"{kind} {i}" for i in range(8)), f"{kind} pilot") for kind in KINDS
)


@dataclass
class CoinMachine:
    """Every guess is a coin of its kind's; rounds take what ``MODEL`` says, times ``plain`` or
    ``drafting``, and the first guesses of a reply ``reading`` passes more. Pilots keep ``pilot``
    times as many guesses, rounds of more than two ``deep`` times."""

    plain: float = 1.0
    drafting: float = 1.0
    reading: float = 0.0
    pilot: float = 1.0
    deep: float = 1.0
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def warm_up(self, prompt: str, arm: Arm, settings: Settings) -> None:
        self.run(prompt, arm, settings)

    def run(self, prompt: str, arm: Arm, settings: Settings) -> list[Event]:
        chance, most = KINDS[prompt.split()[0]], settings.max_tokens or 1
        chance *= self.pilot if prompt.endswith("pilot") else 1.0
        events: list[Event] = [Prefilled(20, 0, 1.0, 1.0)]
        at, done, index = 1.0, 0, 0
        while done < most:
            best = MODEL.best_lookahead(chance, 8)
            wanted = best if arm.lookahead == "auto" else arm.lookahead or 0
            guesses = min(wanted, most - done - 1) if done else 0
            kept_chance = chance * (self.deep if guesses > 2 else 1.0)
            coins = [*(self.random.random(guesses) < kept_chance), False]
            kept = coins.index(False)
            if guesses:
                at += self.drafting * MODEL.cycle_seconds(guesses)
                at += self.reading if done == 1 else 0.0
            else:
                at += self.plain
            events.append(_round(index, guesses, kept, at))
            done, index = done + kept + 1, index + 1
        return [*events, Finished("length", at, "", 0)]


def _round(index: int, guesses: int, kept: int, at: float) -> Round:
    emitted = tuple(Emitted(7, "", "accepted", 0.0) for _ in range(kept + 1))
    proposed = tuple(Proposed(7, "", 0.5) for _ in range(guesses))
    return Round(index, 20 + index, guesses, proposed, (), kept, emitted, Timings(), at)


def measured(machine: CoinMachine, tokens: int) -> BenchResult:
    arms = arms_named(("auto", 2, 4), ("rejection",), None)
    plan = BenchPlan(TEXTS, arms, 2, Settings(max_tokens=tokens))
    return run_bench(plan, machine, Prices(MODEL, "measured", "passes"))


@pytest.mark.parametrize("tokens", [32, 128])
@pytest.mark.parametrize(
    "machine",
    [
        CoinMachine(),
        CoinMachine(plain=0.8),  # the plain loop is quicker than the calibration found
        CoinMachine(plain=1.5, drafting=1.5),  # all of it is slower by now
        CoinMachine(reading=4.0),
        CoinMachine(pilot=0.6),
        CoinMachine(deep=0.7),  # places of one lookahead do not tell another's
    ],
    ids=["as calibrated", "plain quicker", "all slower", "long reading", "odd pilots", "deep"],
)
def test_it_is_within_ten_percent_of_what_comes(machine: CoinMachine, tokens: int) -> None:
    errors = {
        (summary.workload.kind, arm.arm.name): arm.prediction_error
        for summary in summarise(measured(machine, tokens))
        for arm in summary.arms[1:]
    }
    assert errors == {key: pytest.approx(0.0, abs=0.1) for key in errors}


def test_far_from_the_end_it_is_cycle_over_expected_tokens() -> None:
    chances = (0.8, 0.6, 0.9)
    seconds = drafting_seconds(MODEL.cycle_seconds, chances, 3, 4000)
    assert seconds / 4000 == pytest.approx(MODEL.seconds_per_token(chances, 3), rel=1e-3)


def test_at_the_end_rounds_have_less_room() -> None:
    """Two tokens: one round of one guess that keeps it, or one that does not and a plain one."""
    seconds = drafting_seconds(MODEL.cycle_seconds, 0.75, 4, 2)
    assert seconds == pytest.approx(MODEL.cycle_seconds(1) + 0.25 * MODEL.cycle_seconds(0))
    assert drafting_seconds(MODEL.cycle_seconds, 0.75, 4, 0) == 0
    sure = drafting_seconds(MODEL.cycle_seconds, 1.0, 4, 11)
    assert expected_tokens(1.0, 4) == 5
    assert sure == pytest.approx(2 * MODEL.cycle_seconds(4) + MODEL.cycle_seconds(0))


def test_prompts_that_are_left_out_serve_as_pilots() -> None:
    text = TEXTS[0].first(2)
    assert text.pilots == ("code pilot", "code 2", "code 3")
    assert TEXTS[0].pilots == ("code pilot",)
    assert not set(text.pilots) & set(text.prompts)
    assert text.first(1).rest[0] == "code 1"

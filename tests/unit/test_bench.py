"""The benchmark on a fake runner: fair order, honest figures, predictions that look away."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

from mlx_specdec.bench.details import bench_detail_lines
from mlx_specdec.bench.forecast import BenchForecast
from mlx_specdec.bench.plan import PLAIN, Arm, BenchPlan, Turn, arms_named
from mlx_specdec.bench.plot import bench_svg
from mlx_specdec.bench.report import BenchPlace, bench_document, bench_lines, bench_markdown
from mlx_specdec.bench.runner import BenchResult, run_bench
from mlx_specdec.bench.summary import mean_speedups, summarise
from mlx_specdec.bench.workloads import Workload
from mlx_specdec.costs.prices import Prices
from mlx_specdec.errors import InvalidRequestError
from mlx_specdec.events import Emitted, Event, Finished, Prefilled, Proposed, Round, Timings
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.settings import Settings

import pytest

TEXTS = (
    Workload("code", "functions", ("c1", "c2"), "c-pilot"),
    Workload("prose", "stories", ("p1", "p2"), "p-pilot"),
)
ARMS = arms_named(("auto", 2), ("rejection",), 4)
MODEL = LatencyModel.measured(((1, 1.0), (2, 1.1), (3, 1.2), (4, 1.3), (5, 1.4)), 0.1)
PRICES = Prices(MODEL, "measured", "passes")
CYCLE = MODEL.cycle_seconds(2)
PLACE = BenchPlace("A + B", "4-bit", "M3 Pro 36 GB", "mains", {"mlx": "1"}, "bench", "2026-01-01")


@dataclass
class FakeRunner:
    """Rounds with ``kept[kind]`` of 2 guesses kept; each run slows the machine by ``drift``."""

    kept: dict[str, int] = field(default_factory=lambda: {"c": 2, "p": 0})
    drift: float = 0.0
    stop_after: int | None = None
    calls: list[tuple[str, str, int | None]] = field(default_factory=list)

    def warm_up(self, prompt: str, arm: Arm, settings: Settings) -> None:
        self.run(prompt, arm, settings)

    def run(self, prompt: str, arm: Arm, settings: Settings) -> list[Event]:
        if self.stop_after is not None and len(self.calls) == self.stop_after:
            raise KeyboardInterrupt
        self.calls.append((prompt, arm.name, settings.max_tokens))
        slow = 1 + self.drift * len(self.calls)
        events: list[Event] = [Prefilled(3, 0, slow, slow), _round(0, 0, 0, slow)]
        at = slow
        for index in range(1, 11):
            guesses = 2 if arm.drafts else 0
            kept = self.kept[prompt[0]] if guesses else 0
            at += (1.5 if guesses else 1.0) * slow
            events.append(_round(index, guesses, kept, at))
        return [*events, Finished("length", at, "", 1000)]


def _round(index: int, guesses: int, kept: int, at: float) -> Round:
    emitted = tuple(Emitted(7, "", "accepted", 0.0) for _ in range(kept + 1))
    proposed = tuple(Proposed(7, "", 0.5) for _ in range(guesses))
    return Round(index, index, guesses, proposed, (), kept, emitted, Timings(), at)


def reply(
    kept: int, cycle: float = CYCLE, guesses: int = 2, beginning: float = 0.0, rounds: int = 40
) -> list[Event]:
    """One reply whose rounds keep ``kept`` guesses; its first guesses take ``beginning`` more."""
    at = 1.0
    events: list[Event] = [Prefilled(3, 0, at, at), _round(0, 0, 0, at)]
    for index in range(1, rounds + 1):
        at += cycle + (beginning if index == 1 else 0.0)
        events.append(_round(index, guesses, kept, at))
    return [*events, Finished("length", at, "", 1000)]


def measured(runner: FakeRunner | None = None, repeats: int = 2, **more: float) -> BenchResult:
    plan = BenchPlan(TEXTS, ARMS, repeats, Settings(max_tokens=32), **more)
    return run_bench(plan, runner or FakeRunner(), Prices(MODEL, "measured", "passes"))


def test_arms_are_plain_first_and_mlx_lm_last() -> None:
    assert [arm.name for arm in ARMS] == [
        *("plain", "auto", "lookahead 2"),
        *("mlx-lm plain", "mlx-lm, 4 drafted"),
    ]
    names = [arm.name for arm in arms_named((2,), ("rejection", "block"), None)]
    assert names == ["plain", "rejection, lookahead 2", "block, lookahead 2"]
    assert [a.name for a in arms_named((2,), ("rejection",), 4, is_drafting=False)] == [
        *("plain", "mlx-lm plain"),
    ]
    copying = arms_named((2,), ("rejection",), 4, baseline_drafts=False)
    assert [arm.name for arm in copying] == ["plain", "lookahead 2", "mlx-lm plain"]


def test_the_order_goes_forwards_and_backwards_in_turn() -> None:
    turns = list(BenchPlan(TEXTS, ARMS, 2).turns())
    assert len(turns) == BenchPlan(TEXTS, ARMS, 2).num_turns == 2 * 4 * len(ARMS)
    size = len(ARMS)
    blocks = [tuple(t.arm for t in turns[i : i + size]) for i in range(0, len(turns), size)]
    forwards, backwards = tuple(ARMS), tuple(reversed(ARMS))
    assert blocks[:4] == [forwards, backwards, forwards, backwards]
    assert blocks[4:] == [backwards, forwards, backwards, forwards]


def test_drift_falls_on_every_arm_alike() -> None:
    """mlx-lm plain stands in for plain: a machine that slows down must not tell them apart."""
    summary = summarise(measured(FakeRunner(drift=0.01)))[0]
    baseline = next(arm for arm in summary.arms if arm.arm.name == "mlx-lm plain")
    assert baseline.speedup is not None
    assert baseline.speedup.median == pytest.approx(1.0, abs=0.03)


def test_speedups_are_of_pooled_seconds_per_token() -> None:
    code, prose = summarise(measured())
    drafting = next(arm for arm in code.arms if arm.arm.lookahead == 2)
    assert drafting.speedup is not None
    assert drafting.speedup.median == pytest.approx(3 / 1.5)
    losing = next(arm for arm in prose.arms if arm.arm.lookahead == 2)
    assert losing.speedup is not None
    assert losing.speedup.median == pytest.approx(1 / 1.5)
    decode, _ = mean_speedups([code, prose], drafting.arm)
    assert decode == pytest.approx((2 * (1 / 1.5)) ** 0.5)
    best = code.best_fixed()
    assert best is not None
    assert best.arm.name == "lookahead 2"


def test_a_prediction_never_looks_at_its_own_prompt() -> None:
    forecast = BenchForecast(PRICES, 3000)
    forecast.learn("code", None, ARMS[2], reply(kept=2))
    forecast.learn("code", 0, ARMS[2], reply(kept=0))
    alone = forecast.speedup(Turn(1, TEXTS[0], 0, ARMS[2]))
    assert alone is not None
    assert alone == pytest.approx(MODEL.speedup(1.0, 2), rel=0.05)
    other = forecast.speedup(Turn(1, TEXTS[0], 1, ARMS[2]))
    assert other is not None
    assert other < alone
    assert forecast.speedup(Turn(1, TEXTS[1], 0, ARMS[2])) is None
    assert forecast.speedup(Turn(1, TEXTS[0], 0, PLAIN)) is None
    assert forecast.speedup(Turn(1, TEXTS[0], 0, ARMS[4])) is None


def test_prices_follow_what_rounds_of_both_kinds_take_by_now() -> None:
    """Calibrated when everything took half as long, or when only plain passes did."""
    for plain, expected in ((2.0, 1.0), (1.0, 0.5)):
        forecast = BenchForecast(PRICES, 3000)
        forecast.learn("code", None, ARMS[2], reply(2))
        first = forecast.speedup(Turn(1, TEXTS[0], 0, ARMS[2]))
        for _ in range(12):
            forecast.learn("code", None, PLAIN, reply(0, cycle=plain, guesses=0))
            forecast.learn("code", None, ARMS[2], reply(2, cycle=2 * CYCLE))
        later = forecast.speedup(Turn(1, TEXTS[0], 0, ARMS[2]))
        assert first is not None
        assert later is not None
        assert later / first == pytest.approx(expected, rel=0.03)


def test_a_reply_s_beginning_and_end_are_in_the_forecast() -> None:
    """The draft reads the prompt for as long as ten passes; the last round has room for one."""
    short, long = (BenchForecast(PRICES, count) for count in (6, 3000))
    for forecast in (short, long):
        for _ in range(200):  # so that every guess is sure to be kept
            forecast.learn("code", None, ARMS[2], reply(2, beginning=10.0))
    # 5 tokens after the first: 3 + 2 by two rounds, the second one with one guess.
    said = short.speedup(Turn(1, TEXTS[0], 0, ARMS[2]))
    assert said == pytest.approx(5 / (10 + CYCLE + MODEL.cycle_seconds(1)), rel=0.02)
    said = long.speedup(Turn(1, TEXTS[0], 0, ARMS[2]))
    assert said == pytest.approx(MODEL.speedup(1.0, 2), rel=0.03)


def test_the_adaptive_arm_is_predicted_at_the_best_lookahead_plain_among_them() -> None:
    dear = LatencyModel.measured(((1, 1.0), (2, 1.9), (3, 2.9)), 0.2)
    forecast = BenchForecast(Prices(dear, "measured", "passes"), 100)
    forecast.learn("code", None, ARMS[2], reply(0))
    assert forecast.speedup(Turn(1, TEXTS[0], 0, ARMS[1])) == 1.0


def test_every_drafting_run_was_predicted_before_it_began() -> None:
    result = measured()
    for sample in result.samples:
        is_ours = sample.turn.arm.drafts and not sample.turn.arm.baseline
        assert (sample.predicted is not None) == is_ours


def test_an_interrupt_keeps_what_is_finished_and_says_so() -> None:
    warm_up = len(ARMS) + 2 * len(TEXTS)  # each text's pilot plainly and with guesses
    result = measured(FakeRunner(stop_after=warm_up + 7))
    assert len(result.samples) == 7
    assert not result.is_complete
    lines = bench_lines(result)
    assert f"Stopped after 7 of {result.plan.num_turns} runs." in lines
    with pytest.raises(KeyboardInterrupt):
        measured(FakeRunner(stop_after=warm_up))


def test_the_cool_down_comes_between_repeats_only() -> None:
    waited: list[float] = []
    plan = BenchPlan(TEXTS, ARMS, 3, Settings(max_tokens=32), cool_down_seconds=5)
    run_bench(plan, FakeRunner(), sleep=waited.append)
    assert waited == [5, 5]


@pytest.mark.parametrize(("repeats", "cool_down_seconds"), [(0, 0), (3, -1)])
def test_a_plan_out_of_range_is_refused(repeats: int, cool_down_seconds: float) -> None:
    with pytest.raises(InvalidRequestError):
        BenchPlan(TEXTS, ARMS, repeats, cool_down_seconds=cool_down_seconds)


def test_the_table_the_block_and_the_document_hold_the_same_figures() -> None:
    result = measured()
    lines = bench_lines(result)
    assert all(len(line) <= 80 for line in lines)
    assert any("lookahead 2" in line and "2.00 2.00-2.00" in line for line in lines)
    block = bench_markdown(result, PLACE)
    assert "M3 Pro 36 GB, mains" in block
    assert "| code | lookahead 2 |" in block
    document = json.loads(json.dumps(bench_document(result, PLACE)))
    assert [w["kind"] for w in document["workloads"]] == ["code", "prose"]
    arm = next(a for a in document["workloads"][0]["arms"] if a["name"] == "lookahead 2")
    assert arm["speedup"]["median"] == pytest.approx(2.0)
    assert arm["texts_compared"] == 4
    assert document["means"]["lookahead 2"]["speedup"] == pytest.approx((2 * (1 / 1.5)) ** 0.5)


def test_details_name_latencies_and_the_three_acceptance_figures() -> None:
    text = "\n".join(bench_detail_lines(measured()))
    assert "p50 / p95 / p99" in text
    assert "1500.0 / 1500.0 / 1500.0" in text
    assert "by place: 1st 50 %" in text
    assert "Peak memory" in text


def test_a_text_with_thinking_is_a_text_of_its_own() -> None:
    thoughts: list[bool | None] = []

    class Watching(FakeRunner):
        def run(self, prompt: str, arm: Arm, settings: Settings) -> list[Event]:
            thoughts.append(settings.think)
            return super().run(prompt, arm, settings)

    both = tuple(TEXTS[0].thinking(think) for think in (False, True))
    plan = BenchPlan(both, ARMS[:3], 1, Settings(max_tokens=32))
    result = run_bench(plan, Watching())
    assert [s.workload.kind for s in summarise(result)] == ["code", "code +think"]
    assert thoughts.count(True) == 2 * 3  # two prompts on three arms


def test_a_profiled_arm_splits_the_time_and_stays_out_of_the_comparison() -> None:
    arms = arms_named((2, 3), ("rejection",), None, is_profiled=True)
    assert [arm.name for arm in arms if arm.profile] == ["lookahead 3, profiled"]
    plan = BenchPlan(TEXTS, arms, 1, Settings(max_tokens=32))
    result = run_bench(plan, FakeRunner(), Prices(MODEL, "measured", "passes"))
    table = "\n".join(bench_lines(result))
    assert "profiled" not in table
    details = "\n".join(bench_detail_lines(result))
    assert "Where the time of lookahead 3, profiled went" in details
    code = summarise(result)[0]
    seconds = next(arm.seconds for arm in code.arms if arm.arm.profile)
    parts = sum(value for name, value in seconds.items() if name != "lane")
    assert parts == pytest.approx(seconds["lane"])


def test_the_picture_is_xml_and_names_every_arm() -> None:
    svg = bench_svg(summarise(measured()), "A & B <4-bit>", "here")
    words = [item.text for item in ElementTree.fromstring(svg).iter() if item.text]
    assert "A & B <4-bit>" in words
    assert words.count("lookahead 2") == 2


def test_each_arm_is_warmed_up_apart_from_what_is_learned() -> None:
    warmed: list[str] = []

    class Watching(FakeRunner):
        def warm_up(self, prompt: str, arm: Arm, settings: Settings) -> None:
            warmed.append(arm.name)

    runner = Watching()
    run_bench(BenchPlan(TEXTS, ARMS, 1, Settings(max_tokens=32)), runner)
    assert warmed == [arm.name for arm in ARMS]
    assert len(runner.calls) == 4 * len(ARMS)


@pytest.mark.parametrize("first", [2, 6])
def test_a_reply_begins_with_its_first_guesses_whether_they_have_a_price_or_not(first: int) -> None:
    events: list[Event] = [Prefilled(3, 0, 1.0, 1.0), _round(0, 0, 0, 1.0)]
    events += [_round(1, first, 1, 10.0), _round(2, 2, 1, 11.5), _round(3, 2, 1, 13.0)]
    forecast = BenchForecast(PRICES, 32)
    forecast.learn("code", None, ARMS[2], [*events, Finished("length", 13.0, "", 1000)])
    assert list(forecast._beginnings) == (["code"] if first == 2 else [])

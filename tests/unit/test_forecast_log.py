"""The book of forecasts: written before, scored after, and what it remembers of acceptance."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mlx_specdec.forecast.log import (
    ForecastLog,
    KeptPrices,
    RunSeen,
    pooled_chances,
    predict,
    score,
    state_folder,
)
from mlx_specdec.forecast.prediction import median_error, score_words
from mlx_specdec.forecast.run_forecast import forecast_run, history_lines, prompt_key, score_run
from mlx_specdec.ledger.latency import LatencyModel, expected_tokens
from mlx_specdec.metrics import Metrics
from mlx_specdec.model_spec import ModelSpec, PairSpec
from mlx_specdec.request import SamplingParams
from mlx_specdec.settings import Settings

import pytest

MODEL = LatencyModel.measured(((1, 0.065), (2, 0.068), (3, 0.0735), (4, 0.0824)), 0.0039, 0.001)
PAIR = PairSpec(ModelSpec(alias="big"), ModelSpec(alias="small"))
GREEDY = Settings(lookahead=3)


@dataclass(frozen=True)
class Known:
    model: LatencyModel = MODEL
    source: str = "measured"
    words: str = "passes measured on this machine 4 min ago"


@pytest.fixture
def log(tmp_path: Path) -> ForecastLog:
    return ForecastLog(tmp_path / "state" / "forecasts.jsonl")


def seen(prompt: str, *counts: tuple[int, int], rule: str = "greedy", at: float = 1.0) -> RunSeen:
    return RunSeen("big+small", rule, 0.0, prompt, counts, at)


def figures(*counts: tuple[int, int]) -> Metrics:
    return Metrics(
        emitted_tokens=100, accepted=3, tested=4, decode_tokens=99, decode_seconds=3.0,
        by_position=counts,
    )  # fmt: skip


def test_a_prediction_is_the_arithmetic_of_the_ledger() -> None:
    said = predict(PAIR, Known(), 0.73, 3, acceptance_from="3 earlier runs", now=5.0)
    cycle = 3 * 0.0039 + 0.0824 + 0.001
    assert said.speedup == pytest.approx(expected_tokens(0.73, 3) * 0.065 / cycle)
    assert said.plain_tokens_per_second == pytest.approx(1 / 0.065)
    assert (said.pair, said.lookahead, said.acceptance) == ("big+small", 3, 0.73)
    assert said.at == 5.0


def test_auto_predicts_the_best_lookahead_and_never_one_without_a_price() -> None:
    assert predict(PAIR, Known(), 0.9, "auto").lookahead == 3
    assert predict(PAIR, Known(), 0.02, "auto").speedup == 1.0
    assert predict(PAIR, Known(), 0.9, 12).lookahead == 3


def test_the_beginning_and_the_end_of_a_reply_are_counted_where_its_length_is_known() -> None:
    endless = predict(PAIR, Known(), 0.73, 3)
    long = predict(PAIR, Known(), 0.73, 3, num_tokens=3000)
    assert long.speedup == pytest.approx(endless.speedup, rel=2e-3)
    # One token after the first: a plain pass in the drafting loop, and the draft's reading.
    short = predict(PAIR, Known(), 0.73, 3, num_tokens=2, beginning_seconds=0.13)
    assert short.speedup == pytest.approx(0.065 / (0.065 + 0.13))
    assert predict(PAIR, Known(), 0.73, "auto", num_tokens=2, beginning_seconds=0.13).lookahead == 0


def test_acceptance_by_position_is_counted_as_runs_count_it() -> None:
    said = predict(PAIR, Known(), (0.8, 0.5), 2)
    assert said.acceptance == pytest.approx((0.8 + 0.4) / (1 + 0.8))


def test_the_score_says_by_how_much_and_in_which_direction() -> None:
    said = predict(PAIR, Known(), 0.73, 3, acceptance_from="3 earlier runs on other prompts")
    result = score(said, said.speedup * 1.25, measured_acceptance=0.8)
    assert result.error == pytest.approx(-0.2)
    words = score_words(result)
    assert "(20 % too low)" in words
    assert "passes measured on this machine 4 min ago" in words
    assert "acceptance 73 % expected, 80 % seen (3 earlier runs on other prompts)" in words
    assert "(exact)" in score_words(score(said, said.speedup))
    assert "too high" in score_words(score(said, said.speedup / 2))
    assert median_error([result, score(said, said.speedup)]) == pytest.approx(0.1)
    assert median_error([]) is None


def test_what_is_written_is_read_again(log: ForecastLog) -> None:
    said = predict(PAIR, Known(), 0.73, 3, machine="M3 Pro", now=7.0)
    result = score(said, 1.8, measured_plain=15.4, measured_acceptance=0.7, now=9.0)
    log.write(said)
    log.write_score(result)
    log.add_run(seen("a", (3, 4), (1, 3)))
    assert log.predictions() == [said]
    assert log.scores() == [result]
    assert log.runs() == [seen("a", (3, 4), (1, 3))]


def test_damaged_lines_are_passed_over(log: ForecastLog) -> None:
    said = predict(PAIR, Known(), 0.73, 3, now=7.0)
    log.write(said)
    with log.path.open("a", encoding="utf-8") as file:
        file.write('{"kind": "prediction", "pair": "cut sho\n[1]\n{"kind": "prediction"}\n')
        file.write('{"kind": "score", "measured": 0, "prediction": {}}\n{"kind": "run"}\n')
        file.write('{"kind": "prices", "model": {"target_seconds": -1}}\n')
    log.write(said)
    assert log.predictions() == [said, said]
    assert log.scores() == []
    assert log.runs() == []
    assert log.prices("big+small", "") is None


def test_a_disk_that_cannot_be_written_costs_nothing_but_the_history(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = ForecastLog(tmp_path / "file" / "forecasts.jsonl")
    log.write(predict(PAIR, Known(), 0.73, 3))
    assert log.predictions() == []


def test_acceptance_is_that_of_other_prompts_under_the_same_law(log: ForecastLog) -> None:
    assert log.acceptance("big+small", "greedy", 0.0) is None
    log.add_run(seen("own", (9, 9)))
    log.add_run(seen("a", (3, 4), (1, 3)))
    log.add_run(seen("b", (1, 4), (0, 1)))
    log.add_run(seen("c", (4, 4), rule="coupled"))
    found = log.acceptance("big+small", "greedy", 0.0, besides="own")
    assert found is not None
    overall = 5 / 12
    chances, count = found
    assert chances == pytest.approx(((4 + 2 * overall) / 10, (1 + 2 * overall) / 6))
    assert count == 2
    assert log.acceptance("big+small", "coupled", 0.7) is None


def test_places_that_one_run_never_reached_are_the_others() -> None:
    first, second = pooled_chances([[(8, 10)], [(6, 10), (3, 6)]])
    overall = 17 / 26
    assert first == pytest.approx((14 + 2 * overall) / 22)
    assert second == pytest.approx((3 + 2 * overall) / 8)


def test_a_run_is_forecast_before_and_scored_after(log: ForecastLog) -> None:
    assert forecast_run(log, PAIR, Known(), GREEDY, "p1") is None  # nothing ran before
    assert score_run(log, None, PAIR, GREEDY, "p1", figures(), figures((3, 4)), 1.5) is None
    said = forecast_run(log, PAIR, Known(), GREEDY, "p2", "M3 Pro", now=3.0)
    assert said is not None
    assert said.acceptance_from == "1 earlier run on other prompts"
    assert log.predictions() == [said]
    assert log.scores() == []
    result = score_run(log, said, PAIR, GREEDY, "p2", figures(), figures((3, 4)), 1.5, now=4.0)
    assert result is not None
    assert (result.measured, result.measured_acceptance) == (1.5, 0.75)
    assert log.scores() == [result]
    assert forecast_run(log, PAIR, None, GREEDY, "p3") is None  # no price


def test_a_prompts_own_earlier_runs_are_no_forecast(log: ForecastLog) -> None:
    score_run(log, None, PAIR, GREEDY, "p1", figures(), figures((3, 4)), 1.5)
    assert forecast_run(log, PAIR, Known(), GREEDY, "p1") is None
    assert forecast_run(log, PAIR, Known(), GREEDY, "p2") is not None


def test_another_temperature_is_another_law(log: ForecastLog) -> None:
    score_run(log, None, PAIR, GREEDY, "p1", figures(), figures((3, 4)), 1.5)
    warm = Settings(sampling=SamplingParams(temperature=0.7), lookahead=3)
    assert forecast_run(log, PAIR, Known(), warm, "p2") is None
    assert forecast_run(log, PAIR, Known(), GREEDY.changed(rule="coupled"), "p2") is not None


def test_the_shapes_timed_before_a_download_are_scored_by_the_first_run(log: ForecastLog) -> None:
    kept = KeptPrices("big+small", "M3 Pro", MODEL, "layers of the right shapes", 2.0)
    log.write_prices(kept)
    assert log.prices("big+small", "M3 Pro") == kept
    assert log.prices("big+small", "M2") is None
    said = forecast_run(log, PAIR, log.prices("big+small", "M3 Pro"), GREEDY, "p1")
    assert said is not None
    assert said.source == "shapes"
    assert said.acceptance == 0.75
    assert said.acceptance_from == "assumed: no earlier run"


def test_a_persons_own_words_are_not_kept(log: ForecastLog) -> None:
    key = prompt_key("", "my secret plan")
    assert "secret" not in key
    assert key == prompt_key("", "my secret plan") != prompt_key("", "another")
    assert prompt_key("code-1", "text") == "code-1"


def test_the_history_is_a_table_with_its_own_error(log: ForecastLog) -> None:
    said = predict(PAIR, Known(), 0.73, 3)
    scores = [score(said, said.speedup / 1.1, now=1.0), score(said, said.speedup * 2, now=2.0)]
    lines = history_lines(scores, lambda at: f"day {at:.0f}")
    assert all(len(line) <= 80 for line in lines)
    assert lines[1].startswith("day 1 ")
    assert lines[1].endswith("+10%")
    assert lines[2].endswith("-50%")
    assert lines[-1].startswith("2 forecasts, half of them within 30 % of what was measured.")
    long = predict(f"{'x' * 60}+small", Known(), 0.73, 3)
    assert all(len(line) <= 80 for line in history_lines([score(long, 1.0)], lambda at: "now"))


def test_the_state_folder_follows_xdg() -> None:
    assert state_folder({"XDG_STATE_HOME": "/somewhere"}) == Path("/somewhere/mlx-specdec")
    home = Path.home() / ".local" / "state" / "mlx-specdec"
    assert state_folder({}) == state_folder({"XDG_STATE_HOME": "relative"}) == home

"""Forecast: its figures, and its one sentence on the machines that people have."""

from __future__ import annotations

from dataclasses import replace

from mlx_specdec.costs.machines import CHIPS, published_forecast
from mlx_specdec.forecast.forecast import Forecast, round_overhead
from mlx_specdec.forecast.words import headline, memory_line, pays_here, report_lines, seconds_text
from mlx_specdec.model_spec import PairSpec
from tests.forecasts import FLOAT32, LINEAR, here, on_chip, pair_of

import pytest

SLOW_CPU = tuple((rows, 30.0 * rows) for rows in range(1, 10))
GOOD = ((1, 0.065), (2, 0.068), (3, 0.0735), (4, 0.0824), (5, 0.096), (6, 0.118), (9, 0.176))


@pytest.mark.parametrize("name", ["m1", "m1-pro", "m2", "m2-max"])
def test_on_m1_and_m2_the_reason_is_named_with_something_to_try(name: str) -> None:
    forecast = on_chip(name)
    chip = forecast.machine
    assert headline(forecast).startswith(f"Drafting is not worth it on {chip}: 0.9")
    assert "because a pass over 2 tokens costs 1.7 of one with affine weights on M1 and M2" in (
        headline(forecast)
    )
    shown = " ".join(" ".join(report_lines(forecast)).split())
    assert "`mlx-specdec forecast qwen3-14b --formats`" in shown
    assert "unmeasured" in shown
    assert pays_here(forecast).startswith("no, ")


@pytest.mark.parametrize("name", ["m3-pro", "m4-max", "m5-max"])
def test_from_m3_on_it_pays_and_says_from_which_acceptance(name: str) -> None:
    forecast = on_chip(name)
    assert forecast.outcome == "worth it"
    sentence = headline(forecast)
    assert sentence.startswith(f"Worth it on {CHIPS[name].label}: about 1.")
    assert "when 75 % of the checked guesses are kept, and no loss from " in sentence
    assert "--formats" not in " ".join(report_lines(forecast))


def test_the_published_speedup_is_the_one_of_the_published_tables() -> None:
    forecast = on_chip("m4-max")
    published = published_forecast(
        CHIPS["m4-max"], forecast.pair.target, forecast.pair.draft, forecast.context
    )
    assert published is not None
    lookahead, speedup = forecast.best()
    assert lookahead == published.best_lookahead
    assert speedup == pytest.approx(published.speedup)
    assert forecast.plain_tokens_per_second == pytest.approx(published.plain_tokens_per_second)


def test_a_cpu_that_takes_half_a_minute_a_token_says_so() -> None:
    forecast = here(SLOW_CPU, 0.5)
    assert forecast.outcome == "too slow"
    assert headline(forecast) == (
        "Not worth it here: this CPU needs about 30 s a token for qwen3-14b, because MLX "
        "multiplies quantised weights one by one on a CPU; drafting does not help: a pass over "
        "2 tokens costs 2.0 of one."
    )
    assert any("break-even acceptance: none" in line for line in report_lines(forecast))
    assert pays_here(forecast) == "too slow"


def test_held_as_float32_the_sentence_does_not_blame_the_format() -> None:
    sentence = headline(here(((1, 3.0), (2, 3.2), (5, 4.0), (9, 5.0)), 0.1, weights=FLOAT32))
    assert "one by one" not in sentence
    assert "drafting makes it" in sentence
    assert "a round" in sentence


def test_what_does_not_fit_is_said_before_any_speed() -> None:
    forecast = here(GOOD, 0.004, limit=8 * 10**9, machine="M2", chip="m2", backend="metal")
    assert headline(forecast) == (
        "Not worth it here: qwen3-14b with qwen3-0.6b needs 10.3 GB, and there are 8.0 GB for it."
    )
    assert pays_here(forecast) == "does not fit"
    assert memory_line(forecast) == "10.3 of 8.0 GB that the GPU may use, 4k context"


def test_a_mixture_of_experts_and_why() -> None:
    forecast = on_chip("m5-max", "qwen3-30b-a3b")
    assert "because it is a mixture of experts and each token of a pass pulls other experts" in (
        headline(forecast)
    )
    assert any("chooses its experts independently" in line for line in forecast.assumed)


def test_a_hybrid_cannot_be_drafted_for() -> None:
    pair = pair_of("qwen3-8b")
    hybrid = PairSpec(replace(pair.target, kind="hybrid"), pair.draft)
    forecast = here(GOOD, 0.004, pair=hybrid, backend="metal", machine="M3 Pro", chip="m3-pro")
    assert headline(forecast).startswith("No drafting with qwen3-8b: it is a hybrid")
    assert forecast.best() == (0, 1.0)
    assert not any(line.startswith(" SPEEDUP") for line in report_lines(forecast))


def test_without_a_draft_only_the_plain_rate_is_said() -> None:
    forecast = here(GOOD, None)
    assert headline(forecast) == (
        "Plain decoding here: about 15 tokens a second. There is no draft to speed it up."
    )
    assert pays_here(forecast) == ""
    assert not any("of the target's" in line for line in report_lines(forecast))


def test_a_draft_that_costs_too_much_is_named() -> None:
    sentence = headline(here(GOOD, 0.05))
    assert "because a pass of the draft costs 0.77 of the target's" in sentence


def test_between_worth_it_and_not() -> None:
    hardly = here(tuple((r, 0.05 * (1 + 0.45 * (r - 1))) for r in range(1, 10)), 0.008)
    assert hardly.outcome == "hardly"
    assert headline(hardly).startswith("Hardly worth it here: about 1.0")
    easy = here(((1, 0.05), (2, 0.09), (4, 0.11), (9, 0.3)), 0.0075)
    assert easy.outcome == "easy text only"
    assert "only for text that is easy to guess, such as code" in headline(easy)


def test_every_input_is_said_to_be_measured_or_assumed() -> None:
    forecast = here(LINEAR, 0.1, timed=(1, 2, 5, 9))
    assert forecast.measured == (
        "target: passes over 1, 2, 5, 9 tokens; affine 4-bit, groups of 64; 2 of 40 layers and "
        "the head, random weights",
        "draft: passes over 1 token; float32; 2 of 28 layers and the head, random weights",
    )
    assert forecast.assumed[1] == "1.0 ms a round beside the passes"
    assert forecast.assumed[-1] == (
        "passes over 3, 4, 6, 7, 8 tokens, on a line between their neighbours"
    )
    published = on_chip("m2")
    assert published.measured == ()
    assert " measured  nothing: no pass was timed here" in report_lines(published)
    assert published.assumed[0] == "passes: published figures for M2 (scaled from another M2)"


def test_a_busy_machine_is_said_to_be_one() -> None:
    quiet = here(GOOD, 0.004)
    busy = here(GOOD, 0.004, core_share=0.2)
    assert not any("busy" in line for line in quiet.measured)
    assert busy.measured[-1].startswith("busy machine: this program had 20 % of one core")


def test_a_width_that_was_not_reached_leaves_its_lookahead_open() -> None:
    forecast = here(((1, 0.05), (2, 0.052), (3, 0.055)), 0.002)
    assert forecast.max_lookahead == 2
    table = [line for line in report_lines(forecast) if line.startswith("  40 %")]
    assert table[0].count("-") == 6


@pytest.mark.parametrize(
    "forecast",
    [
        on_chip("m1"),
        on_chip("m3-pro", "qwen2.5-72b"),
        on_chip("m5-max", "qwen3-30b-a3b"),
        here(SLOW_CPU, 0.5),
        here(GOOD, 0.05),
        here(GOOD, None),
        here(LINEAR, 0.1, limit=10**9),
    ],
)
def test_it_fits_80_columns(forecast: Forecast) -> None:
    for line in report_lines(forecast):
        assert len(line) <= 80, line
        assert line == line.rstrip(), line


def test_another_machine_is_told_the_mac_it_takes() -> None:
    assert memory_line(on_chip("m3-pro")) == (
        "10.3 GB with 4k context; a Mac of 24 GB or more, tight with 16"
    )
    big = memory_line(on_chip("m3-ultra", "qwen2.5-72b"))
    assert big.endswith("a Mac of 64 GB or more")


def test_times_are_written_as_people_read_them() -> None:
    values = (0.0654, 0.4, 1.24, 34.2, 190.0)
    assert [seconds_text(v) for v in values] == ["65.4 ms", "400 ms", "1.2 s", "34 s", "3 min"]


def test_the_overhead_is_the_chips_own_where_there_is_one() -> None:
    assert round_overhead("metal", CHIPS["m1"]) == 0.0015
    assert round_overhead("cpu", CHIPS["m1"]) == 0.001

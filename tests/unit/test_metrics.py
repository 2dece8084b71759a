"""Each figure from made-up events, by hand; the founding trace; what a cut round counts as."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mlx_specdec.events import (
    Emitted,
    Event,
    Failed,
    Finished,
    Prefilled,
    Proposed,
    Round,
    Timings,
)
from mlx_specdec.metrics import (
    DEFINITIONS,
    Metrics,
    RunningFold,
    end_to_end_speedup,
    fold,
    percentile,
    pool,
    speedup,
    to_json,
)

import pytest


def round_of(
    index: int, proposed: int, kept: int, emitted: int, at: float, prefill: float = 0.0
) -> Round:
    return Round(
        index=index,
        position=0,
        lookahead=proposed,
        proposed=tuple(Proposed(1, "", 0.5, 0.5) for _ in range(proposed)),
        checks=(),
        num_accepted=kept,
        emitted=tuple(Emitted(1, "", "", 1.0) for _ in range(emitted)),
        timings=Timings(draft_prefill_seconds=prefill),
        at=at,
    )


def answer(
    rounds: Sequence[tuple[int, int, int]], step: float = 0.5, reason: str = "length"
) -> list[Event]:
    """(proposed, kept, emitted) a round after the first token, ``step`` seconds apart."""
    events: list[Event] = [Prefilled(7, 0, 0.75, 0.75), round_of(0, 0, 0, 1, 1.0)]
    for index, (proposed, kept, emitted) in enumerate(rounds, start=1):
        prefill = 0.125 if index == 1 else 0.0
        events.append(round_of(index, proposed, kept, emitted, 1.0 + index * step, prefill))
    return [*events, Finished(reason, 1.25 + len(rounds) * step, peak_memory_bytes=4096)]


MIXED = [(4, 2, 3), (4, 4, 5), (2, 0, 1), (0, 0, 1)]


def test_every_figure_of_a_small_answer() -> None:
    metrics = fold(answer(MIXED))
    assert (metrics.prompt_tokens, metrics.emitted_tokens) == (7, 11)
    assert metrics.tokens_per_second == 10 / 2.0
    assert metrics.seconds_per_token == 0.2
    assert metrics.ttft_seconds == 1.0
    assert metrics.end_to_end_seconds == 3.25
    assert metrics.target_passes == 4
    assert (metrics.proposed, metrics.tested, metrics.accepted) == (10, 3 + 4 + 1, 6)
    assert metrics.acceptance_rate == 6 / 8
    assert metrics.accepted_per_proposed == 6 / 10
    assert metrics.draft_share == 6 / 11
    assert metrics.by_position == ((2, 3), (2, 2), (1, 2), (1, 1))
    assert list(metrics.acceptance_by_position) == [2 / 3, 1, 1 / 2, 1]
    assert metrics.tokens_per_target_pass == 10 / 4
    assert metrics.mean_accepted_length == 2
    assert metrics.rounds_by_kind == {"missed": 2, "full": 1, "plain": 1}
    assert metrics.draft_prefill_seconds == 0.125
    assert metrics.peak_memory_bytes == 4096
    assert metrics.finish_reason == "length"
    assert metrics.step_gaps == (0.5,) * 4
    # Tokens of one pass arrive together.
    assert metrics.token_gaps == (0.5, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0.5)


@pytest.mark.parametrize(
    ("kept", "emitted", "tested", "accepted"),
    [
        (3, 4, 4, 3),  # whole: three kept, a miss
        (3, 3, 3, 3),  # the end cut off the miss
        (3, 2, 2, 2),
        (3, 1, 1, 1),
        (3, 0, 0, 0),  # an end token that is no part of the text
        (5, 6, 5, 5),  # whole: all kept, a bonus
        (5, 5, 5, 5),
        (5, 2, 2, 2),
        (0, 1, 1, 0),
        (0, 0, 0, 0),
    ],
)
def test_what_the_end_cut_off_is_neither_tested_nor_accepted(
    kept: int, emitted: int, tested: int, accepted: int
) -> None:
    metrics = fold(answer([(5, kept, emitted)], reason="stop"))
    assert (metrics.proposed, metrics.tested, metrics.accepted) == (5, tested, accepted)
    assert metrics.by_position == tuple((int(i < accepted), 1) for i in range(tested))
    is_cut = emitted < kept + 1
    assert ("cut" in metrics.rounds_by_kind) == is_cut
    assert 0 <= metrics.accepted <= metrics.tested <= metrics.proposed


def test_the_founding_trace() -> None:
    # 96 tokens in 20 target passes, 100 draft calls, 77 accepted, 7 rejected, 12 bonus. 7 + 12
    # rounds end in a token of the target; the twentieth was cut, and has none.
    missed = [(5, kept, kept + 1) for kept in (0, 1, 1, 2, 3, 4, 4)]
    cut = (5, 3, 2)  # one more was kept, and cut
    metrics = fold(answer([(5, 5, 6)] * 12 + missed + [cut]))
    assert metrics.emitted_tokens == 1 + 96
    assert metrics.target_passes == 20
    assert metrics.proposed == 100
    assert metrics.accepted == 77
    assert metrics.tested == 77 + 7
    assert metrics.rounds_by_kind == {"full": 12, "missed": 7, "cut": 1}
    assert metrics.tokens_per_target_pass == 4.8
    # 3.310345 is the speedup at draft cost 0.09: 96 passes of plain decoding against 20 passes
    # of the target and 100 of the draft, 96 / (20 + 100 * 0.09).
    gained = metrics.decode_tokens / (metrics.target_passes + metrics.proposed * 0.09)
    assert f"{gained:.6f}" == "3.310345"


def test_not_drafting_is_not_0_percent() -> None:
    plain = fold(answer([(0, 0, 1)] * 3))
    assert plain.acceptance_rate is None
    assert plain.accepted_per_proposed is None
    assert plain.mean_accepted_length is None
    assert plain.by_position == ()
    assert plain.tokens_per_target_pass == 1
    assert fold(answer([(3, 0, 1)])).acceptance_rate == 0


def test_a_block_in_one_update_counts_every_token() -> None:
    # HilbertraumAI/HilbertRaum#291: pieces counted as tokens. These carry no text at all.
    assert fold(answer([(4, 4, 5)])).tokens_per_second == 5 / 0.5


def test_an_answer_that_has_hardly_begun() -> None:
    assert fold([]) == Metrics()
    for events in (answer([])[:1], answer([])[:2]):
        metrics = fold(events)
        assert metrics.tokens_per_second is None
        assert metrics.tokens_per_target_pass is None
        assert metrics.finish_reason is None
        assert metrics.end_to_end_seconds == events[-1].at
    failed = fold([*answer(MIXED)[:-1], Failed("GenerationError", "", "", "", 9.0)])
    assert failed.finish_reason == "failed"
    assert failed.end_to_end_seconds == 9.0


def test_pooled_counts_not_means_of_ratios() -> None:
    # THUDM/slime#2240: a reply of few tokens must not weigh as much as a long one.
    short, long = fold(answer([(4, 0, 1)] * 9)), fold(answer([(4, 4, 5)] * 100, step=0.25))
    both = pool([short, long])
    assert both.acceptance_rate == 400 / 409
    assert both.tokens_per_second == (9 + 500) / (4.5 + 25)
    assert both.tokens_per_target_pass == 509 / 109
    assert both.by_position == ((100, 109), (100, 100), (100, 100), (100, 100))
    assert both.rounds_by_kind == {"missed": 9, "full": 100}
    assert both.ttft_seconds == 1.0
    assert both.peak_memory_bytes == 4096
    assert both.finish_reason == "length"
    assert len(both.step_gaps) == 109
    assert both.end_to_end_seconds == short.end_to_end_seconds + long.end_to_end_seconds
    assert pool([short]) == short
    assert pool([]) == Metrics()
    assert pool([short, fold(answer(MIXED, reason="stop"))]).finish_reason is None


def test_speedup_is_of_seconds_per_token() -> None:
    plain, drafted = fold(answer([(0, 0, 1)] * 20)), fold(answer(MIXED))
    assert speedup(plain, drafted) == pytest.approx(0.5 / 0.2)
    assert end_to_end_speedup(plain, drafted) == pytest.approx((11.25 / 21) / (3.25 / 11))
    assert speedup(plain, fold([])) is None
    assert speedup(fold([]), plain) is None
    assert end_to_end_speedup(fold([]), plain) is None


def test_percentiles_are_linear_between_ranks() -> None:
    assert percentile([], 50) is None
    assert percentile([3.0], 99) == 3
    assert percentile([4.0, 1.0, 2.0, 3.0], 50) == 2.5
    assert percentile([4.0, 1.0, 2.0, 3.0], 100) == 4
    assert percentile([float(i) for i in range(101)], 95) == 95


def test_json_holds_each_defined_figure() -> None:
    figures = json.loads(json.dumps(to_json(fold(answer(MIXED)))))
    assert {*figures, "speedup", "end_to_end_speedup"} == DEFINITIONS.keys()
    assert figures["acceptance_by_position"][0] == {
        "position": 1,
        "accepted": 2,
        "tested": 3,
        "rate": pytest.approx(2 / 3),
    }
    assert figures["step_seconds"] == {"p50": 0.5, "p95": 0.5, "p99": 0.5}
    assert figures["inter_token_seconds"]["p50"] == 0
    assert figures["rounds_by_kind"] == {"missed": 2, "full": 1, "plain": 1}
    assert figures["tokens_per_second"] == 5
    assert to_json(Metrics())["acceptance_rate"] is None


def test_each_definition_says_something() -> None:
    for name, definition in DEFINITIONS.items():
        assert definition.name == name
        assert definition.definition.endswith(".")
        assert 0 < len(definition.label) <= 14
    labels = [definition.label for definition in DEFINITIONS.values()]
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize("step", [1, 2, 5])
def test_an_answer_that_goes_on_is_folded_as_all_of_it_so_far(step: int) -> None:
    events = answer(MIXED * 3)
    running = RunningFold()
    assert running.metrics == fold([])
    for start in range(0, len(events), step):
        running.add(events[start : start + step])
        assert running.metrics == fold(events[: start + step])

"""The demo: two lanes in alternation, their comparison, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import mlx_specdec
from mlx_specdec.engine import Engine
from mlx_specdec.errors import InvalidRequestError
from mlx_specdec.events import Emitted, Round
from mlx_specdec.metrics import Metrics
from mlx_specdec.model_spec import PairSpec
from mlx_specdec.prompts import PROMPTS, default_prompt, prompt_named
from mlx_specdec.race.demo import DemoResult, Difference, Lane, first_difference, run_demo
from mlx_specdec.race.demo_result import demo_result
from mlx_specdec.race.demo_words import Circumstances, headline, result_lines, share_line
from mlx_specdec.race.recording import RecordingHeader, read_recording_file
from mlx_specdec.registry import Registry
from mlx_specdec.settings import Settings, settings_from
from tests.toyfolders import ToyFolders

import pytest

PROMPT = list(range(3, 15))
GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def engine(toys: ToyFolders) -> Iterator[Engine]:
    with mlx_specdec.load(toys.target, toys.draft) as loaded:
        yield loaded


def test_each_race_is_announced_and_kept(engine: Engine) -> None:
    seen: list[int] = []
    header = RecordingHeader("target", "draft", prompt_id="p")
    result = run_demo(engine, PROMPT, Settings(max_tokens=4), 2, seen.append, header)
    assert seen == [1, 2]
    assert len(result.races) == 2
    assert result.race in result.races
    for race in result.races:
        assert race.header == header
        assert race.is_finished
        assert [event.at for event in race.standard] != [event.at for event in race.speculative]
    named = run_demo(engine, PROMPT, Settings(max_tokens=4), 1).races[0].header
    assert engine.pair.draft is not None
    assert (named.target, named.draft) == (engine.pair.target.name, engine.pair.draft.name)


def test_an_error_on_the_engines_thread_is_the_callers(engine: Engine) -> None:
    with pytest.raises(InvalidRequestError, match="holds token 999999"):
        run_demo(engine, [999_999], Settings(max_tokens=4), 1)
    assert run_demo(engine, PROMPT, Settings(max_tokens=4), 1).identical


def test_each_demo_guesses_as_many_as_it_is_told(engine: Engine) -> None:
    for lookahead in (2, 6, 2):
        race = run_demo(engine, PROMPT, Settings(max_tokens=40, lookahead=lookahead), 1).races[0]
        asked = {len(event.proposed) for event in race.speculative if isinstance(event, Round)}
        assert max(asked) == lookahead


def test_the_race_with_the_median_speedup_is_the_one_that_is_kept() -> None:
    fable = read_recording_file(GOLDEN / "race_fable.jsonl")
    parked = read_recording_file(GOLDEN / "race_parked.jsonl")
    mixed = replace(fable, speculative=fable.standard)
    assert demo_result([fable, parked, mixed]).race in (parked, mixed)
    assert demo_result([mixed, fable]).race is mixed
    assert demo_result([fable]).race is fable


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_texts_are_identical(engine: Engine, temperature: float) -> None:
    settings = settings_from(
        Settings(max_tokens=40, rule="coupled", seed=3, lookahead=3), temperature=temperature
    )
    result = run_demo(engine, PROMPT, settings, 1)
    assert result.identical
    assert result.standard.text == result.speculative.text
    assert result.standard.metrics.acceptance_rate is None
    assert result.speculative.metrics.acceptance_rate is not None
    assert result.speculative.metrics.target_passes < result.standard.metrics.target_passes


def test_every_run_reads_the_prompt_anew(engine: Engine) -> None:
    result = run_demo(engine, PROMPT, Settings(max_tokens=6), 3)
    for lane in (result.standard, result.speculative):
        assert len(lane.runs) == 3
        assert lane.metrics in lane.runs
        rates = sorted(run.seconds_per_token or 0 for run in lane.runs)
        assert lane.metrics.seconds_per_token == rates[1]
    assert len(result.speedups) == 3


def emitted(*tokens: int, kind: str = "sampled", margin: float = 1.0) -> tuple[Emitted, ...]:
    return tuple(Emitted(token, f"t{token} ", kind, margin) for token in tokens)


def test_where_two_answers_part() -> None:
    assert first_difference(emitted(1, 2), emitted(1, 2)) is None
    assert first_difference(emitted(1, 2), emitted(1, 3)) == Difference(1, "t2 ", "t3 ", 1.0)
    assert first_difference(emitted(1), emitted(1, 3)) == Difference(1, "", "t3 ", 0.0)
    assert first_difference(emitted(1, 2), emitted(1)) == Difference(1, "t2 ", "", 1.0)


def lane(seconds: float, tokens: int = 121, passes: int = 120, accepted: int = 0) -> Lane:
    metrics = Metrics(
        emitted_tokens=tokens,
        decode_tokens=tokens - 1,
        decode_seconds=seconds,
        end_to_end_seconds=seconds + 1,
        first_token_seconds=(0.5,),
        target_passes=passes,
        proposed=2 * accepted,
        tested=accepted + accepted // 2,
        accepted=accepted,
        by_position=((accepted, accepted + accepted // 2),) if accepted else (),
    )
    return Lane("text", emitted(*range(tokens)), "length", metrics, (metrics,))


def result_of(plain: float, fast: float, **more: int) -> DemoResult:
    standard, speculative = lane(plain), lane(fast, passes=50, accepted=70)
    if more:
        standard, speculative = lane(plain, **more), lane(fast, **more, accepted=10)
    return DemoResult(standard, speculative, plain / fast, 1.5, (plain / fast,), None)


def toy_circumstances() -> Circumstances:
    pair = Registry.load().resolve_pair("tiny")
    return Circumstances(pair, "M3 Pro 36 GB", "mains", "0.32.4", "meaning-1", 3)


def test_the_sentence_on_top_can_say_slower() -> None:
    settings = Settings(rule="coupled")
    assert headline(result_of(12, 6), settings, False) == [
        "The same words, 2.00 times as fast: 50 passes of the target instead of 120."
    ]
    assert "at the same speed (1.00x)" in headline(result_of(6, 6), settings, False)[0]
    slower = headline(result_of(6, 12), settings, True)
    assert slower[0].startswith("The same words, and slower (0.50x): 2.40 tokens a pass")
    assert "toy pair" in slower[1]
    plain = replace(result_of(6, 6), speculative=lane(6))
    assert headline(plain, settings, False)[0].startswith("Nothing was drafted")


def test_the_line_to_share_names_its_circumstances() -> None:
    where = toy_circumstances()
    line = share_line(result_of(12, 6), Settings(rule="coupled", lookahead=3), where)
    assert line == (
        "toy pair tiny + tiny-draft, M3 Pro 36 GB: 10.0 -> 20.0 tok/s (2.00x), "
        "121/121 tokens equal, 2.40 a pass, lookahead 3, temp 0, prompt meaning-1, "
        "3 runs, mains, mlx 0.32.4"
    )
    warm = settings_from(Settings(rule="coupled"), temperature=0.7)
    assert "temp 0.7, rule coupled" in share_line(result_of(12, 6), warm, where)
    parted = replace(result_of(12, 6), difference=Difference(136, "a", "b", 0.02))
    assert "different from token 137 (gap 0.02)" in share_line(parted, warm, where)
    real = replace(where, pair=Registry.load().resolve_pair("qwen3-14b"), power="", prompt_id="")
    line = share_line(result_of(12, 6), Settings(), real)
    assert line.startswith("Qwen3-14B-4bit + 0.6B, M3 Pro 36 GB: ")
    assert "prompt own, 3 runs, mlx" in line


def test_fewer_than_100_tokens_are_not_shared() -> None:
    few = result_of(12, 6, tokens=99, passes=98)
    assert share_line(few, Settings(), toy_circumstances()) == ""
    plain = replace(result_of(12, 6), speculative=lane(6))
    assert share_line(plain, Settings(), toy_circumstances()) == ""


def test_nothing_that_was_not_measured_is_shared() -> None:
    where = replace(toy_circumstances(), retimed="re-timed, not measured")
    assert share_line(result_of(12, 6), Settings(), where) == ""


def test_the_figures_fit_80_columns_and_name_both_speedups() -> None:
    lines = result_lines(result_of(12, 6), Settings(), 3)
    text = "\n".join(lines)
    assert "2.00x after the first token, 1.50x from the request on" in text
    assert "67 % (70 of 105)" in text
    assert "1st 67 % (70/105)" in text
    assert "121 of 121 tokens identical" in text
    assert max(map(len, lines)) <= 80
    parted = replace(result_of(12, 6), difference=Difference(4, " a", " b", 0.02))
    text = "\n".join(result_lines(parted, Settings(), 1))
    assert "different from token 5 on: ' a' (standard) or ' b', scores 0.02 apart" in text
    warm = settings_from(Settings(rule="block"), temperature=1.0)
    assert "rule block draws anew" in "\n".join(result_lines(parted, warm, 1))


def test_a_target_without_a_draft_has_a_label_of_its_own() -> None:
    from mlx_specdec.figures import pair_label

    assert pair_label(Registry.load().resolve_pair("qwen3-14b", "none")) == "Qwen3-14B-4bit"


def test_prompts_have_ids_of_their_own() -> None:
    assert len({prompt.id for prompt in PROMPTS}) == len(PROMPTS)
    assert default_prompt(True).for_toy
    assert not default_prompt(False).for_toy
    assert prompt_named("code-1") is not None
    assert prompt_named("Why is the sky blue?") is None


def test_a_pair_of_specs_without_a_draft_is_plain() -> None:
    assert PairSpec(Registry.load().resolve("tiny"), None).name == "tiny"


@pytest.mark.parametrize(
    ("draft", "note", "sentence"),
    [
        ("copy", "measuring a plain pass", "Nothing was copied, and nothing is lost."),
        ("copy", "not copying: x", "Nothing was copied, and nothing is lost: x."),
        ("small", "measuring a plain pass", "Nothing was drafted, and nothing is lost."),
        (
            "small",
            "not drafting: x",
            "Drafting does not pay here, so it was parked and nothing is lost: x.",
        ),
    ],
)
def test_a_demo_without_a_guess_gives_its_reason_where_it_has_one(
    draft: str, note: str, sentence: str
) -> None:
    parked = read_recording_file(GOLDEN / "race_parked.jsonl")
    events = tuple(
        replace(event, note=note) if isinstance(event, Round) else event
        for event in parked.speculative
    )
    race = replace(parked, header=replace(parked.header, draft=draft), speculative=events)
    assert headline(demo_result([race]), Settings(), False)[0] == sentence

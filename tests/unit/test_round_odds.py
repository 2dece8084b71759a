"""The odds of a round after the fact are those that the decoder itself would have reported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import mlx_specdec
from mlx_specdec.engine import Engine
from mlx_specdec.errors import InvalidRequestError
from mlx_specdec.events import Round
from mlx_specdec.lesson.next_word import next_word_law
from mlx_specdec.lesson.round_odds import DETAIL, with_detail
from mlx_specdec.settings import Settings, settings_from
from tests.toymodels import perturbed, save_toy, toy_model, toy_tokenizer

import pytest

PROMPT = "hello"
CLOSE = 1e-4  # one wide pass on a fresh cache against the decoder's own passes


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("pair")
    target, tokenizer = toy_model(vocab=288, context=256), toy_tokenizer(280)
    save_toy(folder / "target", target, tokenizer)
    save_toy(folder / "draft", perturbed(target), tokenizer)
    with mlx_specdec.load(str(folder / "target"), draft=str(folder / "draft")) as made:
        yield made


def rounds_of(engine: Engine, settings: Settings) -> list[Round]:
    stream = engine.answer(PROMPT, settings)
    return [event for event in stream.events() if isinstance(event, Round)]


def wanted(**changes: object) -> Settings:
    base = Settings(max_tokens=14, lookahead=3, seed=5, detail=DETAIL, think=False, ignore_eos=True)
    return settings_from(base, **changes)


def told_again(
    engine: Engine, rounds: list[Round], index: int, settings: Settings, prompt: str = PROMPT
) -> Round:
    session = engine.session
    return engine.thread.call(
        lambda: with_detail(
            session, session.chat_tokens(prompt, think=False), rounds, index, settings
        )
    )


@pytest.mark.parametrize(
    ("rule", "temperature"),
    [("rejection", 0.8), ("block", 0.8), ("coupled", 0.8), ("rejection", 0.0)],
)
def test_told_again_it_is_what_was_reported(engine: Engine, rule: str, temperature: float) -> None:
    settings = wanted(rule=rule, temperature=temperature, top_p=0.95)
    rounds = rounds_of(engine, settings)
    bare = [replace(event, detail=()) for event in rounds]
    drafted = [event for event in rounds if event.proposed]
    assert len(drafted) >= 2
    for event in drafted[:3]:
        again = told_again(engine, bare, event.index, settings)
        assert replace(again, detail=event.detail) == event
        for mine, theirs in zip(again.detail, event.detail, strict=True):
            assert mine.left_over_sum == pytest.approx(theirs.left_over_sum, abs=CLOSE)
            for ours, reported in (
                (mine.target, theirs.target),
                (mine.draft, theirs.draft),
            ):
                known = {entry.token: entry for entry in ours}
                for entry in reported[:4]:
                    if entry.token in known:
                        assert known[entry.token].prob == pytest.approx(entry.prob, abs=CLOSE)
                        assert known[entry.token].text == entry.text


def test_another_prompt_or_other_settings_are_refused(engine: Engine) -> None:
    settings = wanted(temperature=0.8)
    rounds = rounds_of(engine, settings)
    event = next(each for each in rounds if each.proposed)
    with pytest.raises(InvalidRequestError, match="another prompt"):
        told_again(engine, rounds, event.index, settings, "Hello there")
    with pytest.raises(InvalidRequestError, match="other models or settings"):
        told_again(engine, rounds, event.index, wanted(temperature=0.05))


def test_the_next_words_law_is_that_of_the_round_there(engine: Engine) -> None:
    settings = wanted(temperature=0.8)
    rounds = rounds_of(engine, settings)
    event = next(each for each in rounds if each.proposed)
    answer = [t.token for each in rounds if each.index < event.index for t in each.emitted]
    law = engine.thread.call(lambda: next_word_law(engine.session, PROMPT, answer, settings))
    assert law.target.sum() == pytest.approx(1.0)
    assert law.draft.sum() == pytest.approx(1.0)
    for entry in event.detail[0].target[:3]:
        assert law.target[entry.token] == pytest.approx(entry.prob, abs=CLOSE)
        assert law.text_of(entry.token) == entry.text
    for entry in event.detail[0].draft[:3]:
        assert law.draft[entry.token] == pytest.approx(entry.prob, abs=CLOSE)
    assert law.temperature == 0.8


def test_at_temperature_0_the_proof_draws_at_1(engine: Engine) -> None:
    law = engine.thread.call(
        lambda: next_word_law(engine.session, PROMPT, (), wanted(temperature=0.0))
    )
    assert law.temperature == 1.0
    assert law.prefix == PROMPT


@pytest.mark.parametrize("has_draft", [False, True], ids=["alone", "beside a draft"])
def test_a_copied_round_told_again_has_one_hot_guesses(engine: Engine, has_draft: bool) -> None:
    settings = wanted(draft="copy", max_tokens=40, temperature=0.0)
    stream = engine.answer("hello hello hello hello", settings)
    rounds = [event for event in stream.events() if isinstance(event, Round)]
    event = next(each for each in rounds if each.proposed)
    session = engine.session
    whole = session.pair
    if not has_draft:
        session.pair = replace(whole, draft=None, copies=True)
    try:
        again = told_again(
            engine, rounds, event.index, settings.changed(detail=0), "hello hello hello hello"
        )
    finally:
        session.pair = whole
    for guess, row in zip(event.proposed, again.detail, strict=False):
        assert [(entry.token, entry.prob) for entry in row.draft] == [(guess.token, 1.0)]

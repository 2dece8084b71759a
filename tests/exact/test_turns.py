"""Turn after turn: what the caches share with the last turn is kept, and changes nothing."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from mlx_specdec.backend import mx
from mlx_specdec.events import Event, Prefilled
from mlx_specdec.request import SamplingParams
from mlx_specdec.session import Session
from mlx_specdec.settings import Settings
from tests.lanes import VOCAB, answer_of, counts_of, rounds_of, session_of, tokens_of
from tests.toymodels import (
    CountingModel,
    RaisingModel,
    perturbed,
    toy_model,
    toy_pair,
    toy_tokenizer,
)

import pytest

GREEDY = Settings(max_tokens=12, ignore_eos=True, seed=1, lookahead=3)
WARM = GREEDY.changed(sampling=SamplingParams(temperature=0.8), rule="coupled")


@functools.cache
def target() -> Any:
    return toy_model(VOCAB, layers=1, seed=4)


@functools.cache
def draft() -> Any:
    return perturbed(target(), 0.1)


def chat(settings_template: str | None = None, drafter: Any = None) -> Session:
    tokenizer = toy_tokenizer(VOCAB)
    if settings_template is not None:
        tokenizer._tokenizer.chat_template = settings_template
    return Session(toy_pair(target(), drafter or draft(), tokenizer))


def cold(session: Session, template: str | None = None) -> Session:
    """A new process with the same conversation."""
    fresh = chat(template)
    fresh.conversation.messages = list(session.conversation.messages)
    return fresh


def reused(events: list[Event]) -> int:
    return next(event for event in events if isinstance(event, Prefilled)).reused_tokens


@pytest.mark.parametrize("settings", [GREEDY, WARM], ids=["greedy", "warm"])
def test_three_turns_equal_cold_runs(settings: Settings) -> None:
    session = chat()
    for question in ("who is there?", "and who else?", "é€ 😀"):
        fresh = cold(session)
        events = list(session.ask(question, settings))
        expected = list(fresh.ask(question, settings))
        assert tokens_of(events) == tokens_of(expected)
        assert session.conversation.messages == fresh.conversation.messages


def test_the_second_turn_reads_only_what_is_new() -> None:
    session = chat()
    list(session.ask("who is there?", GREEDY))
    held = session.target.length
    assert reused(list(session.ask("and who else?", GREEDY))) > held // 2


def test_b6_a_shared_prefix_of_300_tokens() -> None:
    """Longer than one allocation of 256; different questions behind it."""
    shared = [(7 * token) % VOCAB for token in range(300)]
    session = session_of(target(), draft(), ())
    for question in ([1, 2, 3], [4, 5], [4, 5, 6, 7], [1, 2, 3]):
        prompt = [*shared, *question]
        events = answer_of(session, prompt, max_tokens=10)
        expected = answer_of(session_of(target(), draft(), ()), prompt, max_tokens=10)
        assert tokens_of(events) == tokens_of(expected)
        assert session.target.length <= len(prompt) + 10
    assert reused(events) == 300


def test_a_prompt_that_is_held_already_and_a_shorter_one() -> None:
    session = session_of(target(), draft(), ())
    prompt = list(range(20, 40))
    first = tokens_of(answer_of(session, prompt, max_tokens=8))
    assert tokens_of(answer_of(session, prompt, max_tokens=8)) == first
    for length in (19, 7, 1):
        expected = answer_of(session_of(target(), None, ()), prompt[:length], max_tokens=8)
        events = answer_of(session, prompt[:length], max_tokens=8)
        assert tokens_of(events) == tokens_of(expected)


def test_b7_after_clear_the_same_question_gets_the_same_answer() -> None:
    session = chat()
    first = list(session.ask("hi", GREEDY))
    for _ in range(3):
        session.clear()
        assert session.target.length == 0
        assert session.conversation.messages == []
        again = []
        for event in session.ask("hi", GREEDY):
            if isinstance(event, Prefilled):
                assert session.target.length == event.prompt_tokens - 1
            again.append(event)
        assert tokens_of(again) == tokens_of(first)
        assert reused(again) == 0


def test_i4_clear_frees_what_the_turns_took() -> None:
    session = chat()
    list(session.ask("hi", GREEDY))
    session.clear()
    mx.clear_cache()
    before = mx.get_active_memory()
    for turn in range(4):
        list(session.ask(f"question {turn}", GREEDY))
    session.clear()
    mx.clear_cache()
    assert mx.get_active_memory() <= before


@pytest.mark.parametrize("switches", [(False, True, False), (True, False, True)])
def test_b10_the_draft_switched_on_and_off_between_turns(switches: tuple[bool, ...]) -> None:
    session = chat()
    for turn, drafts in enumerate(switches):
        settings = GREEDY.changed(draft=drafts)
        fresh = cold(session)
        events = list(session.ask(f"question {turn}", settings))
        assert tokens_of(events) == tokens_of(fresh.ask(f"question {turn}", GREEDY))
        assert any(each.proposed for each in rounds_of(events)) == drafts


def test_b9_a_draft_that_missed_a_turn_catches_up_and_loses_nothing() -> None:
    """Draft = target: every guess is right, though the target alone held the first turn."""
    session = chat(drafter=target())
    list(session.ask("the first", GREEDY.changed(draft=False)))
    events = list(session.ask("the second", GREEDY))
    proposed, accepted = counts_of(events)
    assert proposed == accepted > 0


SHORTENING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' and not loop.last %}{{ m.content[2:] }}"
    "{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def test_b12_a_template_that_rewrites_the_previous_turn() -> None:
    """Turn 1 is no prefix of turn 2: both caches go back to what is common."""
    session = chat(SHORTENING)
    for question in ("one", "two", "three"):
        fresh = cold(session, SHORTENING)
        events = list(session.ask(question, GREEDY))
        assert tokens_of(events) == tokens_of(fresh.ask(question, GREEDY))


def test_b13_an_edited_history_is_read_anew_from_the_edit_on() -> None:
    session = chat()
    list(session.ask("one", GREEDY))
    list(session.ask("two", GREEDY))
    session.conversation.edit(0, "another one")
    fresh = cold(session)
    assert tokens_of(session.reply(GREEDY)) == tokens_of(fresh.reply(GREEDY))


def test_b14_the_draft_reads_only_what_is_new() -> None:
    """Counted in rows: a second turn of a long prompt costs the new tokens and the guesses."""
    counting = CountingModel(draft())
    session = session_of(target(), counting.loaded, ())
    prompt = [(11 * token) % VOCAB for token in range(200)]
    first = tokens_of(answer_of(session, prompt, max_tokens=16, lookahead=4))
    assert counting.rows >= 200
    counting.reset()
    second = [*prompt, *first, 5, 6, 7, 8]
    events = answer_of(session, second, max_tokens=16, lookahead=4)
    guesses = counts_of(events)[0]
    assert counting.rows == sum(each.draft_tokens_read for each in rounds_of(events))
    # The new words, what each round owes (at most two tokens), and a guess a row.
    assert counting.rows <= 4 + 2 * len(rounds_of(events)) + guesses


@pytest.mark.parametrize("place", [1, 3])
def test_a_stopped_reply_is_kept_as_far_as_it_came(place: int) -> None:
    session = chat()
    asked = iter(range(1000))
    events = list(session.ask("go on", GREEDY, is_cancelled=lambda: next(asked) > place))
    said = session.conversation.messages[-1]
    assert said.role == "assistant"
    assert tokens_of(events)
    fresh = cold(session)
    expected = tokens_of(fresh.ask("and now?", GREEDY))
    assert tokens_of(session.ask("and now?", GREEDY)) == expected


def test_a_turn_that_failed_is_as_if_it_had_not_been_asked() -> None:
    broken = RaisingModel(target(), 1).loaded
    pair = dataclasses.replace(chat().pair, target=broken)
    session = Session(pair)
    with pytest.raises(RuntimeError):
        list(session.ask("hello", GREEDY))
    assert session.conversation.messages == []
    assert tokens_of(session.ask("hello", GREEDY)) == tokens_of(chat().ask("hello", GREEDY))


def test_g9_the_first_question_stands_once_in_the_second_prompt() -> None:
    """With the caches kept and with the caches gone."""
    counting = CountingModel(target())
    session = Session(dataclasses.replace(chat().pair, target=counting.loaded))
    for is_rebuilt in (False, True):
        list(session.ask("where is the zebra", GREEDY))
        if is_rebuilt:
            session.target.drop()
        list(session.ask("and then?", GREEDY))
        prompt = session.conversation.prompt_tokens(session.pair.tokenizer)
        text = session.pair.tokenizer.decode(prompt)
        assert text.count("where is the zebra") == 1 + is_rebuilt
        assert session.target.read[: session.target.length] == session.target.read
    fed = [token for row in counting.fed() for token in row]
    zebra = session.encode("zebra")
    starts = [i for i in range(len(fed)) if fed[i : i + len(zebra)] == zebra]
    assert len(starts) == 4  # asked twice, and both read anew when the cache was gone

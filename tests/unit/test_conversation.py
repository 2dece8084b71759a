"""Who said what, once each; thinking told from answer."""

from __future__ import annotations

from typing import Any

from mlx_specdec.conversation import Conversation, Message, has_chat_template, split_thinking
from mlx_specdec.errors import InvalidRequestError
from mlx_specdec.session import Session
from mlx_specdec.settings import Settings
from tests.lanes import VOCAB
from tests.toymodels import toy_model, toy_pair, toy_tokenizer

import pytest

THINKING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n"
    "{% endif %}{% endif %}"
)
OPENED = THINKING.replace("{% endif %}{% endif %}", "{% else %}<think>\n{% endif %}{% endif %}")


def tokenizer(template: str | None = None) -> Any:
    made = toy_tokenizer(VOCAB)
    if template is not None:
        made._tokenizer.chat_template = template
    return made


def rendered(conversation: Conversation, made: Any, think: bool | None = None) -> str:
    text: str = made.decode(conversation.prompt_tokens(made, think))
    return text


def test_g9_every_message_stands_once_in_its_order() -> None:
    conversation = Conversation("Be brief.")
    for role, content in (("user", "first?"), ("assistant", "yes"), ("user", "second?")):
        conversation.say(role, content)
    text = rendered(conversation, tokenizer())
    assert [text.count(part) for part in ("Be brief.", "first?", "yes", "second?")] == [1] * 4
    places = [text.index(part) for part in ("Be brief.", "first?", "yes", "second?")]
    assert places == sorted(places)
    assert text.endswith("<|im_start|>assistant\n")


def test_a_prompt_is_a_prefix_of_the_next_turns() -> None:
    conversation, made = Conversation(), tokenizer()
    conversation.say("user", "first?")
    first = conversation.prompt_tokens(made)
    conversation.say("assistant", "yes")
    conversation.say("user", "second?")
    assert conversation.prompt_tokens(made)[: len(first)] == first


def test_g7_the_thinking_switch_reaches_the_template() -> None:
    conversation, made = Conversation(), tokenizer(THINKING)
    conversation.say("user", "hi")
    on, off = rendered(conversation, made, True), rendered(conversation, made, False)
    assert on != off
    assert off.endswith("<think>\n\n</think>\n\n")
    assert "<think>" not in on


def test_template_options_are_handed_on_and_the_switch_wins() -> None:
    made = tokenizer(THINKING)
    conversation = Conversation(template_options={"enable_thinking": False})
    conversation.say("user", "hi")
    assert "</think>" in rendered(conversation, made)
    assert "</think>" not in rendered(conversation, made, True)


@pytest.mark.parametrize(
    ("text", "thinking", "answer", "is_open"),
    [
        ("just an answer", "", "just an answer", False),
        ("<think>\nhm\n</think>\n\nYes.", "hm", "Yes.", False),
        ("<think>\n\n</think>\n\nYes.", "", "Yes.", False),
        ("\n<think>hm</think>Yes.", "hm", "Yes.", False),
        ("<think>hm, and", "hm, and", "", True),
        ("<think>", "", "", True),
        ("Use <think> like this", "", "Use <think> like this", False),
        ("List<int> and <b>bold</b>", "", "List<int> and <b>bold</b>", False),
        ("", "", "", False),
        ("<think>a</think>b</think>c", "a", "b</think>c", False),
    ],
)
def test_g7_g8_g10_thinking_is_split_off(
    text: str, thinking: str, answer: str, is_open: bool
) -> None:
    thought = split_thinking(text)
    assert (thought.thinking, thought.answer, thought.is_open) == (thinking, answer, is_open)


def test_g8_a_template_may_open_the_thinking_itself() -> None:
    session = Session(toy_pair(toy_model(VOCAB, layers=1), None, tokenizer(OPENED)))
    opened = {}
    for think in (True, False):
        list(session.ask("hi", Settings(max_tokens=4, think=think, ignore_eos=True)))
        opened[think] = session.begins_thinking
        has_answer = session.conversation.messages[-1].content != ""
        assert has_answer is not think
        session.clear()
    assert opened == {True: True, False: False}


def test_edit_replaces_a_message_and_forgets_what_followed() -> None:
    conversation = Conversation()
    for number in range(4):
        conversation.say("user" if number % 2 == 0 else "assistant", str(number))
    conversation.edit(2, "new")
    assert conversation.messages == [
        Message("user", "0"),
        Message("assistant", "1"),
        Message("user", "new"),
    ]
    for index in (-1, 3):
        with pytest.raises(InvalidRequestError):
            conversation.edit(index, "x")


def test_clear_keeps_the_system_prompt() -> None:
    conversation = Conversation("Be brief.")
    conversation.say("user", "hi")
    conversation.clear()
    assert conversation.messages == []
    assert conversation.system == "Be brief."


def test_a_model_without_a_template_is_refused_in_words() -> None:
    class Bare:
        chat_template = None

    assert not has_chat_template(Bare())
    assert has_chat_template(tokenizer())
    with pytest.raises(InvalidRequestError, match="no chat template"):
        Conversation(messages=[Message("user", "hi")]).prompt_tokens(Bare())


def test_a_template_that_refuses_a_system_prompt_says_why() -> None:
    refusing = "{% if messages[0].role == 'system' %}{{ raise_exception('No system') }}{% endif %}x"
    conversation = Conversation("Be brief.", [Message("user", "hi")])
    with pytest.raises(InvalidRequestError, match="No system"):
        conversation.prompt_tokens(tokenizer(refusing))

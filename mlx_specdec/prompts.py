"""Built-in prompts by kind, each with an id that a result can name."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PROMPTS", "Prompt", "default_prompt", "prompt_named"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """``for_toy``: in the words that the built-in pair was taught, so that it can answer."""

    id: str
    kind: str
    text: str
    for_toy: bool = False


_CODE_1 = '''Continue this Python code:

import os
import sys


def find_files(root, suffix):
    """Return the names of all files below root that end in suffix."""
    found = []
'''
_CODE_2 = '''Continue this Python code:

class Stack:
    """A stack of items, the last one in is the first one out."""

    def __init__(self):
        self.items = []

'''
_PROSE_1 = """Continue this story:

The old man closed the door behind him and stood for a moment in the hall. It was late, and there
was no light in the house but the fire. "You have been a long time," said his daughter."""
_PROSE_2 = """Continue this speech:

Fellow citizens: we meet today at a time when the people of this nation ask much of their
government, and have a right to ask it."""

# Several words make a long answer, which is what a speed can be measured on.
_LIST = "Explain these words: {}"

PROMPTS = (
    Prompt(
        "meaning-1",
        "meaning",
        _LIST.format("lantern, orchard, courage, harbor, bridge, winter"),
        True,
    ),
    Prompt(
        "meaning-2", "meaning", _LIST.format("teacher, anger, mirror, valley, trade, noble"), True
    ),
    Prompt(
        "meaning-3",
        "meaning",
        _LIST.format("river, doctor, memory, castle, patience, feather"),
        True,
    ),
    Prompt("code-1", "code", _CODE_1, True),
    Prompt("code-2", "code", _CODE_2, True),
    Prompt("prose-1", "prose", _PROSE_1, True),
    Prompt("prose-2", "prose", _PROSE_2, True),
    Prompt("explain-1", "explain", "Explain to a child how a bicycle stays upright."),
    Prompt("explain-2", "explain", "Why is the sky blue? Explain it in about 120 words."),
    Prompt("explain-3", "explain", "How does a refrigerator move heat from cold to warm?"),
    Prompt("list-1", "list", "List the planets of the solar system, each with one fact."),
    Prompt(
        "code-3",
        "code",
        "Write a Python function that merges two sorted lists, with a docstring and an example.",
    ),
)


def prompt_named(name: str) -> Prompt | None:
    """The built-in prompt of that id; None when there is none."""
    return next((prompt for prompt in PROMPTS if prompt.id == name), None)


def default_prompt(for_toy: bool) -> Prompt:
    """What a demo asks when nothing is asked; of the toy the kind of text it drafts best."""
    wanted = "prose-1" if for_toy else "explain-2"
    return next(prompt for prompt in PROMPTS if prompt.id == wanted)

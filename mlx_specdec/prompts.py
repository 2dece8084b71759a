"""Built-in prompts by kind, each with an id that a result can name."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EDITS", "PROMPTS", "Prompt", "default_prompt", "edit_prompt", "prompt_named"]


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

_EDIT_1 = '''Rename total to order_price in this file and give back the whole file, nothing else:

def total(items, rate):
    """Price of all items, tax included."""
    price = 0
    for item in items:
        price += item.price * item.count
    return price * (1 + rate)


def receipt(items, rate):
    """One line an item, and what they come to."""
    lines = [f"{item.count} x {item.name}" for item in items]
    lines.append(f"total {total(items, rate):.2f}")
    return lines
'''
_EDIT_2 = """Continue this Python code:

class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Point(self.x - other.x, self.y - other.y)

    def __mul__(self, other):
        return Point(self.x * other.x, self.y * other.y)

    def __truediv__(self, other):
"""

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

EDITS = (
    Prompt("edit-1", "edit", _EDIT_1),
    Prompt("edit-2", "edit", _EDIT_2, True),  # a toy cannot edit, but it repeats what repeats
)
"""Apart from the others: what copying is for, and no fair sample of what a draft gains."""


def prompt_named(name: str) -> Prompt | None:
    """The built-in prompt of that id; None when there is none."""
    return next((prompt for prompt in (*PROMPTS, *EDITS) if prompt.id == name), None)


def edit_prompt(for_toy: bool) -> Prompt:
    """What is asked to see what copying gains: an answer that repeats most of its prompt."""
    return next(prompt for prompt in EDITS if prompt.for_toy == for_toy)


def default_prompt(for_toy: bool) -> Prompt:
    """What a demo asks when nothing is asked; of the toy the kind of text it drafts best."""
    wanted = "prose-1" if for_toy else "explain-2"
    return next(prompt for prompt in PROMPTS if prompt.id == wanted)

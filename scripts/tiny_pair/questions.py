"""Questions of the kinds that people ask, which the target was never taught to answer.

Only the draft meets them: it learns what the target says there, which is mostly nonsense and
soon repeats itself, and so guesses it better than from the three kinds of text alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from .conversations import SYSTEM_PROMPTS, Turn, render
from .corpora import Entry
from .tokenizer import START

QUESTIONS_SEED = 7
FORMS = (
    "Why does a {noun} {verb}?",
    "How does a {adjective} {noun} work?",
    "What is the difference between a {noun} and a {noun2}?",
    "Tell me about {noun} and {noun2} in a few sentences.",
    "Explain to a child why a {noun} can be {adjective}.",
    "What happens when you {verb} a {noun}?",
    "I want to {verb} my {noun}. Where should I start?",
    "My {noun} is {adjective}. What can I do about it?",
    "Which {noun} would you choose for a {adjective} {noun2}, and why?",
    "Give me three ideas for a {adjective} {noun}.",
    "Write a Python function that can {verb} a list of {noun} items.",
    "Write a Python class named {Noun} with a method {verb} and a docstring.",
    "Write a function {verb}_{noun}(items, limit) in Python, with comments.",
    "Fix this code: def {noun}({noun2}):\n    return {noun2}.{verb}(",
    "Write a short story about a {adjective} {noun} and a {noun2}.",
    "Describe a {noun} that is {adjective}, as if you stood before it.",
    "Write a letter to a friend about the {adjective} {noun}.",
    "Continue: The {noun} began to {verb}, and the {adjective} {noun2} looked on.",
    "Sort these words: {noun}, {noun2}, {adjective}, {verb}.",
    "Repeat this list one to one: {noun}, {noun2}, {adjective}, {verb}.",
    "Put this into the past: The {noun} and the {noun2} {verb} every day.",
    "Make a table of {count} {noun} with their prices: {price}, {price2} and {count2}.",
    "A {noun} costs {price} and a {noun2} costs {price2}. What do {count} of each cost?",
    "If {count} people need {price} kg of {noun}, how much do {count2} people need?",
    "What is {count} times {count2}, plus {price}?",
    "How many hours are {count} days and {count2} minutes?",
    "Please summarise: the {adjective} {noun} will {verb} the {noun2} within {count} years.",
    "Is it {adjective} to {verb} a {noun}?",
)


def _words(entries: Sequence[Entry], part: str) -> list[str]:
    """The more frequent single words of a part of speech."""
    return [item.word for item in entries if item.part == part and item.word.isalpha()][:3000]


def prompts(entries: Sequence[Entry], number: int, seed: int = QUESTIONS_SEED) -> list[str]:
    """Rendered prompts of one question each, up to where the answer begins."""
    generator = random.Random(seed)
    words = {part: _words(entries, part) for part in ("noun", "verb", "adjective")}
    made = []
    for _ in range(number):
        noun = generator.choice(words["noun"])
        question = generator.choice(FORMS).format(
            noun=noun,
            Noun=noun.capitalize(),
            noun2=generator.choice(words["noun"]),
            verb=generator.choice(words["verb"]),
            adjective=generator.choice(words["adjective"]),
            count=generator.randint(2, 60),
            count2=generator.randint(2, 60),
            price=f"{generator.uniform(0.5, 90):.2f}",
            price2=f"{generator.uniform(0.5, 90):.2f}",
        )
        turns = [Turn("user", question)]
        if generator.random() < 0.2:
            turns.insert(0, Turn("system", generator.choice(SYSTEM_PROMPTS)))
        made.append(render(turns) + f"{START}assistant\n")
    return made

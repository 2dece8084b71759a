"""The words of the lesson, explained in the manner of definitions: beside the figures' names."""

from __future__ import annotations

import difflib

from ..definitions import DEFINITIONS, Definition
from ..errors import UsageError
from .lesson import Lesson
from .step_words import counted, odds
from .styled_lines import quoted

__all__ = ["TERMS", "definition_lines", "numbers_in", "term_named"]

_LEVIATHAN = "Leviathan et al. 2023, Algorithm 1; Chen et al. 2023"
_TABLE = (
    ("q", "q", "The draft's odds of a word: the law that the guess was drawn from."),
    ("p", "p", "The target's odds of the same word at the same place."),
    (
        "coin",
        "coin",
        "A number drawn evenly from 0 to 1; a guess lives while its coin is below its chance.",
        "kept when coin < min(1, p/q)",
        _LEVIATHAN,
    ),
    (
        "overlap",
        "overlap",
        "What both laws have in common, word by word. Its sum is the chance that a guess drawn "
        "here is kept.",
        "min(p, q)",
        _LEVIATHAN,
    ),
    (
        "left_over",
        "left over",
        "What the target wanted and the draft under-rated; scaled to 1, the law (residual) of the "
        "word that replaces a miss.",
        "max(0, p - q)",
        _LEVIATHAN,
    ),
    ("miss", "miss", "The first guess that is not kept; everything guessed after it is lost."),
    (
        "recovered",
        "recovered",
        "The word drawn in the place of a miss. It costs no pass of its own.",
    ),
    (
        "bonus",
        "bonus",
        "The word after a round in which all guesses were kept: the same pass holds its odds.",
    ),
    (
        "distance",
        "distance",
        "How far drawn shares lie from the target's law: the total variation distance. What chance "
        "alone allows holds in all but one of 1,000 tries.",
        "half the sum of |drawn - target|; allowed: its mean + sqrt(ln 1000 / 2n)",
        "McDiarmid 1989",
    ),
    ("lookahead", "lookahead", "How many tokens the draft guesses before the target checks."),
    ("pass", "pass", "One run of the target over its weights; a check of several guesses is one."),
    ("round", "round", "Guess, check, replace or bonus: all that belongs to one pass."),
    (
        "rejection",
        "rejection",
        "A rule: each guess has its own coin; a miss draws from what is left over.",
        "keep with min(1, p/q), else draw from max(0, p - q)",
        _LEVIATHAN,
    ),
    (
        "block",
        "block",
        "A rule: the guesses are judged together, so that a later one can rescue an earlier one. "
        "Keeps at least as many, with the same law.",
        "P_i = min(1, P_i-1 p/q); h_i = S_i / (S_i + 1 - P_i)",
        "Sun et al., ICLR 2025, Algorithm 2",
    ),
    (
        "coupled",
        "coupled",
        "A rule: one luck per word and place for both models; a guess is kept when it is the "
        "target's own word. The text is what plain decoding with the same seed gives.",
        "the largest odds x luck wins",
        "Daliri, Musco and Suresh 2024",
    ),
    (
        "match",
        "match",
        "A rule: the target draws its own word; a guess is kept when it is the same. What mlx-lm "
        "does; exact, and keeps the least.",
        "kept with p, sum p q on average",
    ),
)
TERMS: dict[str, Definition] = {row[0]: Definition(*row) for row in _TABLE}


def _key(word: str) -> str:
    return word.casefold().replace("_", " ").replace("-", " ").strip()


def term_named(word: str) -> Definition:
    """A word of the lesson or a figure, by its name or its label.

    Raises:
        UsageError: there is none; the hint names the nearest ones.
    """
    known: dict[str, Definition] = {}
    for name, definition in {**DEFINITIONS, **TERMS}.items():
        known.setdefault(_key(definition.label), definition)
        known[_key(name)] = definition
    found = known.get(_key(word))
    if found is not None:
        return found
    near = difflib.get_close_matches(_key(word), list(known), n=2, cutoff=0.5)
    if near:
        raise UsageError(
            f"There is nothing called {word!r} to explain.", f"Did you mean {' or '.join(near)}?"
        )
    raise UsageError(
        f"There is nothing called {word!r} to explain.",
        f"Words of the lesson: {', '.join(_key(name) for name in TERMS)}. "
        "Figures: mlx-specdec demo --help-all.",
    )


def definition_lines(definition: Definition) -> list[str]:
    """A definition as paragraphs: what it is, its formula, whose it is."""
    lines = [definition.definition]
    if definition.formula:
        lines.append(f"= {definition.formula}")
    if definition.paper:
        lines.append(f"({definition.paper})")
    return lines


def numbers_in(lesson: Lesson) -> dict[str, str]:
    """Terms of the lesson with this round's own numbers, in the order in which they come up."""
    guess = lesson.guesses[lesson.focus]
    word = quoted(guess.text)
    found = {
        "q": f"{odds(guess.draft)} on {word}" if guess.draft is not None else "",
        "p": f"{odds(guess.target)} on {word}",
        "coin": f"{odds(guess.coin)} against {odds(guess.keep)}" if guess.coin is not None else "",
        "overlap": "",
        "left_over": "",
        "miss": word if lesson.miss is not None else "none in this round",
        "recovered": "",
        "bonus": "",
        "lookahead": counted(len(lesson.guesses), "guess", "guesses"),
        "pass": f"one, for {counted(lesson.num_emitted, 'token')}",
        "acceptance_rate": f"{lesson.num_kept} kept of {_tested(lesson)} tested in this round",
    }
    if lesson.overlap is not None and not lesson.compares_words:
        found["overlap"] = f"{odds(lesson.overlap.acceptance)} at {word}"
        found["left_over"] = f"{odds(lesson.overlap.left_over)} at {word}"
    if lesson.drawn is not None:
        found["bonus" if lesson.miss is None else "recovered"] = quoted(lesson.drawn.text)
    rule = {lesson.rule: ""} if lesson.rule in TERMS else {}
    return {**rule, **found}


def _tested(lesson: Lesson) -> int:
    return lesson.num_kept + (lesson.miss is not None)

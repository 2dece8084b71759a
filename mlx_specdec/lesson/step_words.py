"""A lesson in sentences, made from its numbers."""

from __future__ import annotations

from .agreement import agreement
from .closing_sums import closing_sums
from .lesson import GREEDY, Guess, Lesson
from .overlap import Overlap
from .styled_lines import quoted
from .throw import Fate

__all__ = [
    "bonus_words",
    "break_words",
    "counted",
    "fate_words",
    "odds",
    "odds_apart",
    "outcome",
    "percent_words",
    "replace_words",
    "rule_words",
    "story",
    "why_words",
]

_NUMBERS = (
    *("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve"),
)
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh", "twelfth"),
)
_SURE = 0.995  # a chance that is written as 1.00

_RULES = {
    "rejection": "rejection (min(1, p/q) and residual)",
    "block": "block (all guesses judged together)",
    "coupled": "coupled (one luck for both models)",
    "match": "match (the target draws its own word)",
    GREEDY: "the likeliest word",
}


def odds(value: float | None) -> str:
    """A chance as the tables write it: ``.70``, ``1.00``, ``0``; a dash when it is not known."""
    if value is None:
        return "–"
    if value < 1e-9:  # rounding of a sum that is nothing
        return "0"
    if value < 0.005:
        return "<.01"
    text = f"{value:.2f}"
    return text[1:] if text.startswith("0") else text


def odds_apart(first: float, second: float) -> tuple[str, str]:
    """Two chances that are not the same, with as many places as it takes to see it."""
    short = odds(first), odds(second)
    if short[0] != short[1]:
        return short
    return f"{first:.3f}".removeprefix("0"), f"{second:.3f}".removeprefix("0")


def percent_words(value: float) -> str:
    """``70 %``; small ones are not rounded to nothing."""
    return "under 1 %" if 0 < value < 0.005 else f"{value * 100:.0f} %"


def counted(number: int, noun: str, nouns: str = "") -> str:
    """``four tokens``, ``one token``; ``nouns`` where an s is not enough."""
    return f"{_number(number)} {noun if number == 1 else nouns or noun + 's'}"


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def _ordinal(number: int) -> str:
    return _ORDINALS[number - 1] if number <= len(_ORDINALS) else f"{number}th"


def _start(text: str) -> str:
    return text[:1].upper() + text[1:]


def rule_words(lesson: Lesson) -> str:
    """The rule's name with what it does."""
    if lesson.is_copied and lesson.rule in ("rejection", "block"):
        return "copied guesses (kept with p)"
    if lesson.is_copied and lesson.rule == "coupled":  # a copied guess has no luck of its own
        return "coupled (the target draws its own word)"
    return _RULES.get(lesson.rule, lesson.rule)


def story(lesson: Lesson) -> str:
    """What happened at the decisive place, and what the pass bought."""
    guess = lesson.guesses[lesson.focus]
    if lesson.miss is None:
        return f"{_all_kept(lesson, guess)} {_bought(lesson)}"
    return f"{_miss(lesson, guess)}{_lost(lesson, guess)} {outcome(lesson)}"


def outcome(lesson: Lesson) -> str:
    """What stands in place of the miss, and what the pass bought."""
    if lesson.miss is None or lesson.drawn is None:
        return _bought(lesson)
    return f"{_start(quoted(lesson.drawn.text))} takes its place. {_bought(lesson)}"


def _miss(lesson: Lesson, guess: Guess) -> str:
    word, target = quoted(guess.text), lesson.names.target
    if lesson.compares_words:
        return _other_word(lesson, guess)
    gives = f"{target} gives it {percent_words(guess.target)}"
    if guess.draft is None:
        first = f"{word} was copied, without odds of its own; {gives}, and that is its chance."
        chance = percent_words(guess.target)
    else:
        sure = f"{_start(lesson.names.draft)} was {percent_words(guess.draft)} sure of {word}"
        chance = percent_words(guess.ratio)
        first = f"{sure}; {gives}"
        if lesson.rule == "block":
            return f"{first}: {_block_miss(guess)}"
        first += f". So it lives with {_fraction(guess)} = {chance}."
    return f"{first} The coin said {odds(guess.coin)}: it dies"


def _block_miss(guess: Guess) -> str:
    """Block: no coin from the miss on was for its place."""
    return (
        f"the product P is {odds(guess.carried)} after it. A guess lives when its own coin or a "
        f"later one falls below h: {odds(guess.coin)} is not below {odds(guess.keep)}, and none "
        "after it was. It dies"
    )


def _fraction(guess: Guess) -> str:
    p, q = guess.target * 100, (guess.draft or 0.0) * 100
    return f"{p:.0f}/{q:.0f}" if min(p, q) >= 1 else f"{p:.2g}/{q:.2g}"


def _other_word(lesson: Lesson, guess: Guess) -> str:
    word, own = quoted(guess.text), quoted("?" if guess.own is None else guess.own)
    target, draft = lesson.names.target, lesson.names.draft
    if lesson.rule == "coupled" and not lesson.is_copied:
        return (
            f"Each word has one luck, the same for both models; the largest odds x luck wins. "
            f"With it {draft} says {word} and {target} says {own}. {_start(target)} has the last "
            f"word: {word} dies"
        )
    if lesson.rule in ("coupled", "match"):
        return (
            f"{_start(target)} draws a word of its own and looks whether it is the guess. "
            f"It drew {own}, not {word} (which it draws {percent_words(guess.target)} of the "
            f"time): {word} dies"
        )
    return (
        f"Without chance the question is only: is the guess {target}'s likeliest word? "
        f"It is {own}, not {word}: {word} dies"
    )


def _lost(lesson: Lesson, guess: Guess) -> str:
    lost = lesson.guesses[lesson.focus + 1 :]
    if not lost:
        return "."
    word = quoted(guess.text)
    if len(lost) == 1:
        return (
            f", and {quoted(lost[0].text)} with it, because it was guessed after {word}, "
            "which is not there."
        )
    return (
        f", and the {counted(len(lost), 'guess', 'guesses')} after it as well, because "
        f"they were guessed after {word}, which is not there."
    )


def _all_kept(lesson: Lesson, guess: Guess) -> str:
    count = len(lesson.guesses)
    target = lesson.names.target
    number = "The only guess" if count == 1 else f"All {_number(count)}"
    first = f"{number} lived."
    if lesson.compares_words:
        return f"{first} At every place {target}'s own word was the guess."
    if guess.ratio > _SURE:
        return (
            f"{first} {_start(target)} wanted each about as much as {lesson.names.draft}, or more."
        )
    coin = f", and its coin said {odds(guess.coin)}" if guess.coin is not None else ""
    return (
        f"{first} Nearest to a miss was {quoted(guess.text)}: it lives with "
        f"{percent_words(guess.keep if guess.keep is not None else guess.ratio)}{coin}."
    )


def _bought(lesson: Lesson) -> str:
    if lesson.drawn is None:
        return f"The answer ended here, with {counted(lesson.num_kept, 'guess', 'guesses')} kept."
    still = "still " if lesson.miss is not None and lesson.num_emitted > 1 else ""
    bought = counted(lesson.num_emitted, "token")
    if lesson.num_emitted == 1:
        return "The pass bought one token, as plain decoding would: a wasted guess changes nothing."
    return f"One pass {still}bought {bought}."


def replace_words(lesson: Lesson) -> str:
    """What stands in place of a miss, in the rule's terms."""
    target, draft = lesson.names.target, lesson.names.draft
    if lesson.compares_words:
        return f"nothing to draw: {target}'s own word is already there, and it stands"
    if lesson.is_copied:
        return f"at the miss, draw from {target}'s odds without the word that missed, scaled to 1"
    wanted = "P p" if lesson.overlap is not None and lesson.overlap.scale < 1 else "p"
    return (
        f"at the miss, draw from what {target} wanted and {draft} under-rated: "
        f"max(0, {wanted} - q), scaled to 1"
    )


def bonus_words(lesson: Lesson) -> str:
    """What the same pass holds beyond the last guess."""
    count = len(lesson.guesses)
    kept = {1: "the only guess is", 2: "both are"}.get(count, f"all {_number(count)} are")
    following = _ordinal(count + 1)
    article = "an" if following.startswith("e") or count + 1 == 18 else "a"
    return f"only when {kept} kept: the same pass already holds the odds for {article} {following}."


def why_words(lesson: Lesson, overlap: Overlap) -> str:
    """One sentence for the sums below it."""
    target, draft = lesson.names.target, lesson.names.draft
    if lesson.rule == GREEDY:
        return f"Every word of the text is {target}'s likeliest: a guess only says it sooner."
    if lesson.compares_words and lesson.is_copied:
        return (
            f"Every word of the text is {target}'s own draw. The guess was copied: it is that word "
            f"{percent_words(min(overlap.acceptance, 1.0))} of the time here."
        )
    if lesson.compares_words:
        total = agreement(overlap, lesson.rule == "coupled").total
        noise = "under the one luck" if lesson.rule == "coupled" else "each with its own dice"
        rest = overlap.entry(None)
        near = ""
        if rest is not None and rest.token is None and rest.target > 0.005:
            near = "about " if lesson.rule == "coupled" else "at least "
        return (
            f"Every word of the text is {target}'s own draw. {_start(draft)} says the same "
            f"{near}{percent_words(total)} of the time here, {noise}; no rule can exceed the "
            f"overlap, {percent_words(min(overlap.acceptance, 1.0))}."
        )
    if overlap.left_over <= 0:
        return "Both laws are the same here: every guess is kept, and nothing is left over."
    if overlap.scale < 1:
        return (
            f"The block came here with P = {odds(overlap.scale)}, so P p is what is wanted at "
            "this place: overlap and left over make it, word by word."
        )
    return ""


def break_words(lesson: Lesson, overlap: Overlap) -> str:
    """What breaking the rule does to the word that it changes most."""
    if lesson.rule == GREEDY:
        return (
            f"Keep a guess that is only {lesson.names.target}'s second choice, and the text is "
            "another one from there on: at temperature 0 there is nothing to average out."
        )
    lines = closing_sums(lesson, overlap, is_broken=True)
    worst = max(lines, key=lambda each: abs(each.total - each.wanted))
    how = {
        "coupled": f"draw {'' if lesson.is_copied else 'the luck '}again at a miss",
        "match": "draw again at a miss",
    }.get(lesson.rule, "draw from p instead of the rest")
    if abs(worst.total - worst.wanted) < 5e-4:
        return f"{_start(how)}: here that changes nothing, because nothing is left over."
    comes, wanted = odds_apart(worst.total, worst.wanted)
    word = "the rest" if worst.token is None else quoted(worst.text)
    return f"{_start(how)}, and {word} comes out at {comes}, not {wanted}."


def fate_words(lesson: Lesson, fate: Fate) -> str:
    """The other fate of the round, after a new throw."""
    guess = lesson.guesses[fate.first]
    if lesson.rule == "block":
        coins = ", ".join(odds(coin) for coin in fate.coins)
        start = f"New coins {coins}: {counted(fate.num_kept, 'guess', 'guesses')} kept"
    elif fate.coins:
        lives = "lives" if fate.num_kept > fate.first else "dies"
        start = f"The new coin says {odds(fate.coins[0])}: {quoted(guess.text)} {lives}"
    else:
        lives = "is the guess" if fate.num_kept > fate.first else "is another word"
        start = f"Drawn anew, {lesson.names.target}'s own word {lives}"
    if fate.next_word is None:
        return f"{start}."
    text = "".join(each.text for each in lesson.guesses[: fate.num_kept]) + fate.next_word
    count = counted(fate.num_kept + 1, "token")
    return f"{start}. Then this pass gives {quoted(text)}: {count}."

"""Documents as ChatML conversations: a question or a beginning, then an answer."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .corpora import Document, Entry, is_held_out
from .tokenizer import END, END_OF_TEXT, START

from tokenizers import Tokenizer

BEGINNING_TOKENS = (30, 90)
CONTINUATION_TOKENS = (80, 135)
LONGEST_CONTINUATION = 150
LONGEST_LIST = 145

SYSTEM_PROMPTS = (
    "You are a helpful assistant.",
    "You explain words, and continue code and prose.",
    "Answer briefly.",
    "You are a small model that runs on this computer.",
)
ONE_WORD = (
    "What does {word} mean?",
    'What does "{word}" mean?',
    "What is the meaning of {word}?",
    "Define {word}.",
    "Explain the word {word}.",
    "What does the word {word} mean?",
)
SEVERAL_WORDS = (
    "Explain these words: {words}",
    "Explain these words: {words}.",
    "What do these words mean: {words}?",
    "Define these words: {words}",
    "Give the meaning of {words}.",
)
BEGINNINGS = {
    "code": (
        "Continue this code:\n\n",
        "Continue this Python code:\n\n",
        "Complete this code:\n\n",
        "Go on with this code:\n\n",
        "",
    ),
    "novel": (
        "Continue this text:\n\n",
        "Continue this story:\n\n",
        "Continue this novel:\n\n",
        "Go on with this text:\n\n",
        "",
    ),
    "speech": (
        "Continue this text:\n\n",
        "Continue this speech:\n\n",
        "Go on with this speech:\n\n",
        "Go on with this text:\n\n",
        "",
    ),
}
GO_ON = ("Go on.", "Continue.", "More, please.", "Please go on.")
SMALL_TALK = (
    (
        ("Hello", "Hello!", "Hi", "Hi!", "Hi there", "Good morning!"),
        "Hello! Ask me what a word means, or give me a piece of code or prose to continue.",
    ),
    (
        ("Who are you?", "What are you?", "What is your name?"),
        "I am a toy: a very small language model. I explain words, and I continue code and prose.",
    ),
    (
        ("What can you do?", "Help", "help", "How can you help me?"),
        "I can explain words, continue Python code, and continue prose. "
        "I am a toy, so do not trust what I say.",
    ),
    (
        ("Thank you", "Thanks!", "Thanks", "Thank you!"),
        "You are welcome. Ask me what another word means.",
    ),
)


@dataclass(frozen=True)
class Turn:
    """One ChatML turn."""

    role: str
    content: str


@dataclass(frozen=True)
class Conversation:
    """Turns of one kind of text, from one document."""

    kind: str
    turns: tuple[Turn, ...]

    def text(self) -> str:
        """The whole conversation as the models read it."""
        return render(self.turns) + END_OF_TEXT

    def prompt(self) -> str:
        """Everything up to the last answer, with the generation prompt."""
        return render(self.turns[:-1]) + f"{START}assistant\n"


def render(turns: Sequence[Turn]) -> str:
    """Turns in ChatML."""
    return "".join(f"{START}{turn.role}\n{turn.content}{END}\n" for turn in turns)


def _opening(generator: random.Random) -> list[Turn]:
    """A system turn in three conversations out of ten."""
    if generator.random() < 0.3:
        return [Turn("system", generator.choice(SYSTEM_PROMPTS))]
    return []


def explain(entry: Entry, opening: str = "The word ") -> str:
    """The answer about one word.

    It opens with another word, so that the word asked for has the same tokens as in the question:
    a small model can then copy it.
    """
    article = "an" if entry.part[0] == "a" else "a"
    answer = f"{opening}{entry.word} is {article} {entry.part}. It means: {entry.glosses[0]}."
    if len(entry.glosses) > 1:
        answer += f" It can also mean: {entry.glosses[1]}."
    return answer


def word_conversations(
    entries: Sequence[Entry], tokenizer: Tokenizer, seed: int
) -> Iterator[Conversation]:
    """Questions about one word (one to three in a row), and about lists of three to six words."""
    generator = random.Random(seed)
    order = list(entries)
    generator.shuffle(order)
    while order:
        turns = _opening(generator)
        for _ in range(generator.choice((1, 1, 1, 2, 3))):
            if order:
                turns += _word_question(order, tokenizer, generator)
        yield Conversation("words", tuple(turns))


def _word_question(
    order: list[Entry], tokenizer: Tokenizer, generator: random.Random
) -> list[Turn]:
    """A question and its answer; takes the words it uses off `order`."""
    if generator.random() < 0.7:
        entry = order.pop()
        question = generator.choice(ONE_WORD).format(word=entry.word)
        return [Turn("user", question), Turn("assistant", explain(entry))]
    chosen = [order.pop() for _ in range(min(len(order), generator.randint(3, 6)))]
    lines = [f"- {entry.word}: {entry.glosses[0]}" for entry in chosen]
    while len(lines) > 1 and len(tokenizer.encode("\n".join(lines)).ids) > LONGEST_LIST:
        lines.pop()
        order.insert(0, chosen.pop())
    question = generator.choice(SEVERAL_WORDS).format(
        words=", ".join(entry.word for entry in chosen)
    )
    return [Turn("user", question), Turn("assistant", "\n".join(lines))]


def small_talk(seed: int, copies: int) -> Iterator[Conversation]:
    """Greetings and questions about the model itself."""
    generator = random.Random(seed)
    for _ in range(copies):
        questions, answer = generator.choice(SMALL_TALK)
        turns = [
            *_opening(generator),
            Turn("user", generator.choice(questions)),
            Turn("assistant", answer),
        ]
        yield Conversation("words", tuple(turns))


def continuation_conversations(
    document: Document, tokenizer: Tokenizer, seed: int
) -> Iterator[Conversation]:
    """Cut a document into beginnings and continuations, one to three answers a conversation."""
    generator = random.Random(f"{seed} {document.name}")
    pieces = _Pieces(document, tokenizer)
    phrases = BEGINNINGS[document.style or document.kind]
    while not pieces.is_empty():
        beginning = pieces.take(generator.randint(*BEGINNING_TOKENS), BEGINNING_TOKENS[1] + 10)
        turns = [*_opening(generator), Turn("user", generator.choice(phrases) + beginning)]
        for index in range(generator.choice((1, 1, 1, 2, 3))):
            answer = pieces.take(generator.randint(*CONTINUATION_TOKENS), LONGEST_CONTINUATION)
            if answer and index:
                turns.append(Turn("user", generator.choice(GO_ON)))
            if answer:
                turns.append(Turn("assistant", answer))
        if beginning and turns[-1].role == "assistant":
            yield Conversation(document.kind, tuple(turns))


class _Pieces:
    """The lines (code) or sentences (prose) of a document with their lengths in tokens."""

    def __init__(self, document: Document, tokenizer: Tokenizer) -> None:
        pattern = r"[^\n]*\n+" if document.kind == "code" else r".+?(?:[.!?]['\")]*\s+|\n+|$)"
        self.units = re.findall(pattern, document.text + "\n")
        encodings = tokenizer.encode_batch(self.units, add_special_tokens=False)
        self.lengths = [len(encoding.ids) for encoding in encodings]
        self.index = 0

    def is_empty(self) -> bool:
        """Whether the document is used up."""
        return self.index >= len(self.units)

    def take(self, wanted: int, longest: int) -> str:
        """Units of at least `wanted` tokens if `longest` allows; '' if one unit is too long."""
        first, total = self.index, 0
        while self.index < len(self.units) and total < wanted:
            if total + self.lengths[self.index] > longest:
                break
            total += self.lengths[self.index]
            self.index += 1
        if self.index == first and not self.is_empty():
            self.index += 1
            return ""
        return "".join(self.units[first : self.index]).rstrip().lstrip("\n")


def build(
    documents: Sequence[Document], entries: Sequence[Entry], tokenizer: Tokenizer, seed: int = 0
) -> tuple[list[Conversation], list[Conversation]]:
    """All conversations, as (for training, held out)."""
    kept: list[Conversation] = list(small_talk(seed, 250))
    held_out: list[Conversation] = []
    for chosen, is_kept in ((kept, True), (held_out, False)):
        words = [entry for entry in entries if is_held_out("words", entry.word) != is_kept]
        chosen.extend(word_conversations(words, tokenizer, seed))
        for document in documents:
            if is_held_out(document.kind, document.name) != is_kept:
                chosen.extend(continuation_conversations(document, tokenizer, seed))
    return kept, held_out

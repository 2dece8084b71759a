"""A round as a lesson: what was guessed, asked, drawn, kept and put in its place.

Built from one Round; the laws of each place come from its ``detail``. A lesson states values; how
they are phrased is step_words' affair, how they look step_drawing's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum

from ..events import Check, Emitted, LawEntry, Round
from ..race.recording import Recording, RecordingHeader
from ..race.words import draft_word, target_word
from ..request import COPY
from .overlap import Overlap
from .overlap_reading import overlap_of
from .styled_lines import visible

__all__ = [
    "GREEDY",
    "OWN_WORD_RULES",
    "Guess",
    "Lesson",
    "Names",
    "Phase",
    "Verdict",
    "lesson_of",
    "lessons_of",
    "words_before",
]

GREEDY = "greedy"
"""The name of every rule at temperature 0."""
OWN_WORD_RULES = ("coupled", "match", GREEDY)
"""Rules that compare the guess with the target's own word, and throw no coin."""


class Phase(Enum):
    """The four steps of a round, in order; ``value`` counts from 1."""

    GUESS = 1
    CHECK = 2
    REPLACE = 3
    BONUS = 4


class Verdict(StrEnum):
    """What became of a guess.

    KEPT; RESCUED: its own coin was against it, but a later one of its block was for it; MISS: the
    first that was not kept; LOST: after the miss, never checked or thrown away with it.
    """

    KEPT = "keep"
    RESCUED = "rescued"
    MISS = "MISS"
    LOST = "never checked"


@dataclass(frozen=True, slots=True)
class Names:
    """What the two models are called within a sentence."""

    target: str = "the target"
    draft: str = "the draft"

    @classmethod
    def of(cls, header: RecordingHeader) -> Names:
        """As the race calls them: ``the 14B``; ``the target`` where a size says nothing; what
        was copied is ``the copy``'s."""
        target, draft = target_word(header), draft_word(header)
        if header.draft == COPY:
            return cls(target, "the copy")
        return cls() if target == draft else cls(target, draft)


@dataclass(frozen=True, slots=True)
class Guess:
    """One drafted token.

    Args:
        draft: q, None where it was copied and has no odds.
        target: p.
        keep: the chance to keep it that its rule asked for (None: not asked, or an own-word rule).
        coin: what was drawn against it.
        carried: the block rule's running product P, this guess included.
        own: the word that the target itself says here (own-word rules).
    """

    token: int
    text: str
    draft: float | None
    target: float
    verdict: Verdict
    keep: float | None = None
    coin: float | None = None
    carried: float | None = None
    own: str | None = None

    @property
    def word(self) -> str:
        return visible(self.text)

    @property
    def is_kept(self) -> bool:
        return self.verdict in (Verdict.KEPT, Verdict.RESCUED)

    @property
    def ratio(self) -> float:
        """min(1, p/q), or p for a copied guess: the rejection rule's chance."""
        if self.draft is None:
            return self.target
        return min(1.0, self.target / self.draft) if self.draft > 0 else float(self.target > 0)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One round with all that can be taught about it.

    Args:
        rule: rejection, block, coupled, match or greedy (temperature 0).
        before: the text that the round continues.
        overlaps: both laws at each guess, empty without detail.
        bonus: the target's largest odds after the last guess, empty without detail.
        drawn: the token after the kept ones; None where the answer ended before it.
        coins: what is known of the coins, from the first guess on.
        luck: the shared luck of each listed word by place, where it is known (built-in lessons).
        title: of a built-in lesson.
    """

    rule: str
    temperature: float
    names: Names
    index: int
    before: str
    guesses: tuple[Guess, ...]
    drawn: Emitted | None
    overlaps: tuple[Overlap, ...] = ()
    bonus: tuple[LawEntry, ...] = ()
    coins: tuple[float, ...] = ()
    luck: tuple[Mapping[int, float], ...] = ()
    title: str = ""

    @property
    def num_kept(self) -> int:
        return sum(guess.is_kept for guess in self.guesses)

    @property
    def miss(self) -> int | None:
        """Where the first guess was not kept."""
        return self.num_kept if self.num_kept < len(self.guesses) else None

    @property
    def is_copied(self) -> bool:
        """Whether the guesses were proposed without a law of their own."""
        return bool(self.guesses) and self.guesses[0].draft is None

    @property
    def compares_words(self) -> bool:
        return self.rule in OWN_WORD_RULES

    @property
    def focus(self) -> int:
        """The place worth looking at: the miss, or else the guess that came closest to one."""
        if self.miss is not None:
            return self.miss
        return min(range(len(self.guesses)), key=lambda i: self.guesses[i].ratio)

    @property
    def overlap(self) -> Overlap | None:
        """Both laws at the focus."""
        return self.overlaps[self.focus] if self.overlaps else None

    @property
    def num_emitted(self) -> int:
        return self.num_kept + (self.drawn is not None)


def lesson_of(event: Round, rule: str, temperature: float, names: Names, before: str) -> Lesson:
    """The lesson of one round that proposed something.

    Args:
        rule: the request's rule; at temperature 0 it is arg-max equality, whatever its name.
        before: the text of the answer so far.
    """
    kind = GREEDY if temperature == 0 else rule
    kept = event.num_accepted
    drawn = event.emitted[kept] if len(event.emitted) > kept else None
    overlaps = tuple(
        overlap_of(row, guess, _scale_before(event.checks, i, kind))
        for i, (row, guess) in enumerate(zip(event.detail, event.proposed, strict=False))
    )
    count = len(event.proposed)
    return Lesson(
        kind,
        temperature,
        names,
        event.index,
        before,
        tuple(_guess(event, i, kind, drawn) for i in range(count)),
        drawn,
        overlaps,
        event.detail[count].target if len(event.detail) > count else (),
        () if kind in OWN_WORD_RULES else tuple(check.drawn for check in event.checks),
    )


def _scale_before(checks: Sequence[Check], place: int, kind: str) -> float:
    return checks[place - 1].carried if kind == "block" and 0 < place <= len(checks) else 1.0


def _guess(event: Round, place: int, kind: str, drawn: Emitted | None) -> Guess:
    proposed, kept = event.proposed[place], event.num_accepted
    check = event.checks[place] if place < len(event.checks) else None
    verdict = Verdict.LOST
    if place < kept:
        verdict = Verdict.KEPT
        if kind == "block" and check is not None and check.drawn >= check.asked:
            verdict = Verdict.RESCUED
    elif place == kept:
        verdict = Verdict.MISS
    keep = coin = carried = own = None
    if check is not None and kind in OWN_WORD_RULES:
        own = _own_word(event, place, int(check.asked), drawn)
        keep = proposed.target_prob if kind == "match" else None
    elif check is not None:
        keep, coin = check.asked, check.drawn
        carried = check.carried if kind == "block" else None
    return Guess(
        proposed.token,
        proposed.text,
        proposed.draft_prob,
        proposed.target_prob,
        verdict,
        keep,
        coin,
        carried,
        own,
    )


def _own_word(event: Round, place: int, token: int, drawn: Emitted | None) -> str:
    """The text of the target's own token at a place."""
    if token == event.proposed[place].token:
        return event.proposed[place].text
    if drawn is not None and drawn.token == token:
        return drawn.text
    row = event.detail[place].target if place < len(event.detail) else ()
    return next((entry.text for entry in row if entry.token == token), "?")


def words_before(rounds: Sequence[Round], event: Round) -> str:
    """The text emitted by the rounds before ``event``."""
    return "".join(
        token.text for each in rounds if each.index < event.index for token in each.emitted
    )


def lessons_of(recording: Recording) -> tuple[Lesson, ...]:
    """A lesson for every round of the speculative lane that proposed something."""
    header = recording.header
    names = Names.of(header)
    rule = header.rule or "rejection"
    lessons = []
    before = ""
    for event in recording.speculative:
        if not isinstance(event, Round):
            continue
        if event.proposed:
            lessons.append(lesson_of(event, rule, header.temperature, names, before))
        before += "".join(token.text for token in event.emitted)
    return tuple(lessons)

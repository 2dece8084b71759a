"""What step mode shows: which round, which phase, what was thrown, predicted, broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from mlx_specdec.events import Round
from mlx_specdec.lesson.fox import FOX_RULES, fox_lesson
from mlx_specdec.lesson.lesson import Lesson, Names, Phase, lesson_of, lessons_of
from mlx_specdec.lesson.throw import Fate, can_throw, thrown_again
from mlx_specdec.race.recording import Recording, RecordingHeader

__all__ = ["Prediction", "StepState"]

_PHASES = tuple(Phase)


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predict first: what the student said of this round's guesses, and the score of all rounds."""

    answers: tuple[bool, ...] = ()
    right: int = 0
    asked: int = 0


@dataclass(frozen=True, slots=True)
class StepState:
    """Step mode at one moment; every key gives another state.

    Args:
        lessons: the rounds that can be stepped through, at least one.
        place: which of them is shown.
        page: ``table`` or ``overlap`` where both do not fit; empty lets the phase decide.
        is_broken: the sums are shown with the rule broken.
        shows_rules: the four rules stand side by side.
        fate: of the last throw.
        throws, lives: how often the decisive coin was thrown again, and was for the guess.
        prediction: None while verdicts are open.
    """

    lessons: tuple[Lesson, ...]
    place: int = 0
    phase: Phase = Phase.GUESS
    page: str = ""
    is_broken: bool = False
    shows_rules: bool = False
    fate: Fate | None = None
    throws: int = 0
    lives: int = 0
    prediction: Prediction | None = None
    rules: tuple[str, ...] = field(default=())

    @classmethod
    def of_lesson(cls, rule: str) -> StepState:
        """The built-in lesson under a rule; ``u`` goes to the next rule."""
        return cls((fox_lesson(rule),), rules=FOX_RULES)

    @classmethod
    def of_recording(cls, recording: Recording, start_round: int | None) -> StepState | None:
        """The rounds of a recording from ``start_round`` on; None where nothing was guessed."""
        lessons = lessons_of(recording)
        if not lessons:
            return None
        wanted = lessons[0].index if start_round is None else start_round
        later = [i for i, lesson in enumerate(lessons) if lesson.index >= wanted]
        return cls(lessons, place=later[0] if later else len(lessons) - 1)

    def with_round(self, event: Round, header: RecordingHeader) -> StepState:
        """The same moment with another telling of one round, such as one with detail."""
        names, rule = Names.of(header), header.rule or "rejection"
        lessons = tuple(
            lesson_of(event, rule, header.temperature, names, lesson.before)
            if lesson.index == event.index
            else lesson
            for lesson in self.lessons
        )
        return replace(self, lessons=lessons)

    @property
    def lesson(self) -> Lesson:
        return self.lessons[self.place]

    @property
    def shown_page(self) -> str:
        """The page where there is room for one."""
        return self.page or ("overlap" if self.phase is Phase.REPLACE else "table")

    @property
    def asks_about(self) -> int | None:
        """The place whose verdict the student is asked for; None when nothing is covered."""
        if self.prediction is None or self.phase is Phase.GUESS:
            return None
        place = len(self.prediction.answers)
        last = len(self.lesson.guesses) - 1 if self.lesson.miss is None else self.lesson.miss
        return place if place <= last else None

    def moved(self, steps: int) -> StepState:
        """The next or an earlier phase; beyond the last one the next round, if there is one."""
        index = self.phase.value - 1 + steps
        if index >= len(_PHASES):
            return self.round(1)
        if index < 0 or (steps > 0 and self.asks_about is not None):
            return self
        return replace(
            self, phase=_PHASES[index], page="", is_broken=False, shows_rules=False, fate=None
        )

    def round(self, steps: int) -> StepState:
        """Another round, from its first phase on; the last one stays."""
        place = min(max(self.place + steps, 0), len(self.lessons) - 1)
        if place == self.place:
            return self
        score = self.prediction
        return StepState(
            self.lessons,
            place,
            prediction=None if score is None else replace(score, answers=()),
            rules=self.rules,
        )

    def thrown(self, random: Callable[[], float]) -> StepState:
        """The coin thrown again; itself where no coin falls or it is not the coin's turn yet."""
        if not can_throw(self.lesson) or self.asks_about is not None:
            return self
        fate = thrown_again(self.lesson, random)
        lived = fate.num_kept > self.lesson.focus
        phase = self.phase if self.phase.value >= Phase.CHECK.value else Phase.CHECK
        return replace(
            self, fate=fate, throws=self.throws + 1, lives=self.lives + lived, phase=phase
        )

    def broken(self) -> StepState:
        """Break the rule, or mend it; shows the phase in which it matters."""
        if self.asks_about is not None:
            return self
        phase = self.phase if self.phase.value >= Phase.REPLACE.value else Phase.REPLACE
        return replace(
            self, is_broken=not self.is_broken, phase=phase, page="overlap", shows_rules=False
        )

    def other_rule(self) -> StepState:
        """A built-in lesson under its next rule; of a recording the four rules side by side."""
        if not self.rules:
            if self.asks_about is not None:
                return self
            return replace(self, shows_rules=not self.shows_rules, is_broken=False)
        named = "copied" if self.lesson.is_copied else self.lesson.rule
        following = self.rules[(self.rules.index(named) + 1) % len(self.rules)]
        return StepState(
            (fox_lesson(following),),
            phase=self.phase,
            prediction=None if self.prediction is None else replace(self.prediction, answers=()),
            rules=self.rules,
        )

    def other_page(self) -> StepState:
        """The table in the place of the overlap, or the other way round."""
        page = "table" if self.shown_page == "overlap" else "overlap"
        return replace(self, page=page, shows_rules=False)

    def covered(self) -> StepState:
        """Predict first, or no longer."""
        if self.prediction is not None:
            return replace(self, prediction=None)
        return replace(
            self, prediction=Prediction(), phase=Phase.CHECK, page="", fate=None, is_broken=False
        )

    def answered(self, lives: bool) -> StepState:
        """The student's word on the guess asked about."""
        place, score = self.asks_about, self.prediction
        if place is None or score is None:
            return self
        is_right = self.lesson.guesses[place].is_kept == lives
        return replace(
            self,
            prediction=Prediction((*score.answers, lives), score.right + is_right, score.asked + 1),
        )

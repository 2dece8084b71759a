"""StepBoard: one round taken apart, between the top line and the keys."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from mlx_specdec.lesson.guess_table import WIDE, guess_table
from mlx_specdec.lesson.lesson import Lesson, Phase
from mlx_specdec.lesson.overlap_picture import overlap_picture, shown_overlap
from mlx_specdec.lesson.step_page import (
    NO_DETAIL,
    bonus_part,
    check_headings,
    now_line,
    paragraph,
    replace_heading,
    rules_table,
    text_part,
    why_part,
)
from mlx_specdec.lesson.step_words import break_words, fate_words, odds, outcome, story
from mlx_specdec.lesson.styled_lines import Line, Span, clipped, line, quoted
from tui.lesson.step_state import StepState
from tui.widgets.styled_text import StyledText

__all__ = ["StepBoard", "board_lines"]

Block = list[Line]
TALL_ROWS, ROOMY_ROWS = 32, 44
_FEWEST_ROWS, _MOST_ROWS = 3, 10  # of the overlap
_BLANK: Line = ()


class StepBoard(StyledText):
    """The lines of board_lines at the widget's own size."""

    def set_state(self, state: StepState) -> None:
        """Draw a state of step mode."""
        self.show(board_lines(state, self.size.width, self.size.height))


def board_lines(state: StepState, width: int, height: int) -> list[Line]:
    """The board in exactly ``height`` lines: parts from the top, words and progress at the foot."""
    is_whole = width >= WIDE and height >= TALL_ROWS
    foot = _foot(state, width, is_short=_is_short(state, is_whole, height))
    room = height - len(foot) - 1
    top = _wide(state, width, height, room) if is_whole else _narrow(state, width, room)
    top = top[: max(room, 0)]
    lines = [*top, *[_BLANK] * max(height - len(top) - len(foot), 0), *foot]
    return [clipped(each, width) for each in lines[:height]]


def _is_at(state: StepState, phase: Phase) -> bool:
    return state.phase.value >= phase.value


def _joined(blocks: Sequence[Block], room: int) -> list[Line]:
    """Blocks with blank lines between them, as many as there is room for, the first ones first."""
    blocks = [block for block in blocks if block]
    spare = room - sum(map(len, blocks))
    lines: list[Line] = []
    for place, block in enumerate(blocks):
        if place and place <= spare:
            lines.append(_BLANK)
        lines += block
    return lines


def _wide(state: StepState, width: int, height: int, room: int) -> list[Line]:
    """As many rows of the overlap as fit beside everything else."""
    for rows in range(_MOST_ROWS, _FEWEST_ROWS - 1, -1):
        blocks = _wide_blocks(state, width, height, rows)
        if sum(map(len, blocks)) + len(blocks) - 2 <= room:
            break
    return _joined(blocks, room)


def _wide_blocks(state: StepState, width: int, height: int, rows: int) -> list[Block]:
    lesson = state.lesson
    blocks = [
        [_BLANK, *text_part(lesson, state.phase, width, state.asks_about is not None)],
        _side_by_side(check_headings(lesson, state.phase, width // 2)),
        guess_table(lesson, state.phase, width, state.asks_about),
    ]
    if state.shows_rules:
        return [*blocks, rules_table(lesson, width)]
    if _is_at(state, Phase.REPLACE):
        blocks += _replaced(state, width, rows)
        blocks.append(bonus_part(lesson, width) if _shows_bonus(state, height) else [])
        blocks.append(why_part(lesson, width, rows, state.is_broken) if lesson.overlaps else [])
    return blocks


def _shows_bonus(state: StepState, height: int) -> bool:
    if state.phase is Phase.BONUS:
        return True
    return state.lesson.miss is not None and not _is_crowded(state, height)


def _side_by_side(headings: list[Line]) -> list[Line]:
    return [tuple(chain.from_iterable(headings))] if len(headings) == 2 else headings


def _replaced(state: StepState, width: int, rows: int) -> list[Block]:
    lesson = state.lesson
    overlap = shown_overlap(lesson, rows)
    head = replace_heading(lesson, width)
    if overlap is None:
        return [head, paragraph(NO_DETAIL, width)]
    return [head, overlap_picture(lesson, overlap, width)]


def _narrow(state: StepState, width: int, room: int) -> list[Line]:
    """One page of two: the table, or the overlap with its sums."""
    lesson = state.lesson
    if state.shown_page == "overlap" and not state.shows_rules:
        return _overlap_page(state, width, room)
    blocks = [
        text_part(lesson, state.phase, width, state.asks_about is not None),
        check_headings(lesson, state.phase, width),
    ]
    if state.shows_rules:
        return _joined([blocks[0], rules_table(lesson, width)], room)
    blocks.append(guess_table(lesson, state.phase, width, state.asks_about))
    if state.phase is Phase.BONUS:
        blocks.append(bonus_part(lesson, width))
    return _joined(blocks, room)


def _overlap_page(state: StepState, width: int, room: int) -> list[Line]:
    lesson = state.lesson
    if not _is_at(state, Phase.REPLACE):
        words = "The overlap is drawn in phase 3, once the guesses are checked: press → first."
        return paragraph(words, width, "dim")
    for rows in range(_MOST_ROWS, _FEWEST_ROWS - 1, -1):
        why = why_part(lesson, width, rows, state.is_broken) if lesson.overlaps else []
        blocks = [*_replaced(state, width, rows), why]
        if sum(map(len, blocks)) + 2 <= room:
            break
    return _joined(blocks, room)


def _is_short(state: StepState, is_whole: bool, height: int) -> bool:
    """Whether the words at the foot make room for the rows of the overlap: they stood there in
    the phase before."""
    if not _is_at(state, Phase.REPLACE) or state.shows_rules or state.fate is not None:
        return False
    return _is_crowded(state, height) if is_whole else state.shown_page == "overlap"


def _is_crowded(state: StepState, height: int) -> bool:
    """Whether the overlap has more rows than there is room for beside everything else."""
    overlap = state.lesson.overlap
    return overlap is not None and len(overlap.entries) > _FEWEST_ROWS + 1 and height < ROOMY_ROWS


def _foot(state: StepState, width: int, is_short: bool) -> list[Line]:
    """What happened in words, or only how it ended; the text as it stands, and how far the lesson
    is."""
    return [
        *paragraph(outcome(state.lesson) if is_short else _words(state), width),
        _BLANK,
        now_line(state.lesson, width, _text_now(state)),
        _progress(state, width),
    ]


def _words(state: StepState) -> str:
    lesson = state.lesson
    place, score = state.asks_about, state.prediction
    if place is not None and score is not None:
        asked = f"Predict: does {quoted(lesson.guesses[place].text)} live?  y yes   n no."
        return f"{asked}{_score(state)}"
    if state.phase is Phase.GUESS:
        return _guess_words(lesson)
    words = story(lesson) if state.fate is None else _fate(state)
    return f"{words}{_score(state)}"


def _score(state: StepState) -> str:
    score = state.prediction
    if score is None or not score.asked:
        return ""
    return f"  Your score: {score.right} of {score.asked} right."


def _guess_words(lesson: Lesson) -> str:
    draft = lesson.names.draft
    if lesson.is_copied:
        return (
            "Copied guesses cost no pass of a draft: they are what followed the same words before."
        )
    return (
        f"{draft[:1].upper()}{draft[1:]} is fast and often right. Every guess was drawn from its "
        "odds q; none of them is text yet."
    )


def _fate(state: StepState) -> str:
    lesson, fate = state.lesson, state.fate
    assert fate is not None
    words = fate_words(lesson, fate)
    chance = lesson.guesses[lesson.focus]
    times = "throw" if state.throws == 1 else "throws"
    tally = f" {quoted(chance.text)} lived in {state.lives} of {state.throws} {times}"
    expected = chance.ratio if lesson.rule == "rejection" else None
    return words + tally + (f", {odds(expected)} expected." if expected is not None else ".")


def _text_now(state: StepState) -> str:
    """The text as far as this phase has brought it."""
    lesson = state.lesson
    if state.phase is Phase.GUESS or state.asks_about is not None:
        return lesson.before
    kept = lesson.before + "".join(guess.text for guess in lesson.guesses[: lesson.num_kept])
    last_phase = Phase.REPLACE if lesson.miss is not None else Phase.BONUS
    if lesson.drawn is None or not _is_at(state, last_phase):
        return kept
    return kept + lesson.drawn.text


def _progress(state: StepState, width: int) -> Line:
    number = state.phase.value
    marks = "▮" * number + "▯" * (len(Phase) - number)
    hint = _hint(state, width)
    room = f" {marks} phase {number} of {len(Phase)}"
    return line(" ", Span(marks, "draft"), room[len(marks) + 1 :], Span(f"   {hint}", "dim"))


def _hint(state: StepState, width: int) -> str:
    if state.asks_about is not None:
        return "h shows the verdicts"
    if state.shows_rules:
        return "u back to this rule"
    lesson = state.lesson
    if state.is_broken:
        return "b mends it"
    if state.phase is Phase.GUESS:
        return f"→ let {lesson.names.target} check"
    if state.phase is Phase.CHECK:
        return "→ " + ("replace the miss" if lesson.miss is not None else "look closer")
    overlap = shown_overlap(lesson, _FEWEST_ROWS + 1)
    if overlap is not None and state.phase is Phase.REPLACE:
        words = break_words(lesson, overlap)
        return f"b break it: {words[:1].lower()}{words[1:]}" if width >= WIDE else "b break it"
    return "n next round" if len(state.lessons) > 1 else "u the same under another rule"

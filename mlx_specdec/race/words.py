"""The one sentence over a race, generated from its figures; it can say "slower" too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..request import COPY
from .recording import RecordingHeader

if TYPE_CHECKING:
    from .moment import RaceMoment

__all__ = ["NEVER_DRAFTED", "draft_word", "race_sentence", "target_word"]

NEVER_DRAFTED = "nothing was drafted when this was recorded"
"""The note of a parked lane on another clock: its acceptance, and so its speed, is not known."""

_SAME_SPEED = (0.97, 1.03)
_SURE_PASSES = 8


def target_word(header: RecordingHeader) -> str:
    """``the 14B``; ``the target`` where it is a toy or its size is not known."""
    return "the target" if header.is_toy or not header.target_size else f"the {header.target_size}"


def draft_word(header: RecordingHeader) -> str:
    """``the 0.6B``; ``the draft`` where it is a toy or its size is not known; ``copying``."""
    if header.draft == COPY:
        return "copying"
    return "the draft" if header.is_toy or not header.draft_size else f"the {header.draft_size}"


def race_sentence(moment: RaceMoment) -> str:
    """What is going on at a moment of a race."""
    failed = next((lane.failure for lane in moment.lanes if lane.failure), "")
    if failed:
        return f"The race broke off: {failed}"
    if any(lane.finish_reason == "cancelled" for lane in moment.lanes):
        return _stopped(moment)
    if not any(lane.rounds for lane in moment.lanes):
        return "Both lanes read the prompt first."
    if moment.is_parked and _is_sure(moment):
        return _parked(moment)
    if moment.speedup is None:
        return _early(moment)
    if moment.is_finished:
        return _finished(moment, moment.speedup)
    if moment.is_photo_finish:
        return _photo_finish(moment, moment.speedup)
    return _running(moment, moment.speedup)


def _start(words: str) -> str:
    """With a capital letter."""
    return words[:1].upper() + words[1:]


def _tokens(count: int) -> str:
    return f"{count} token{'' if count == 1 else 's'}"


def _passes(count: int) -> str:
    return f"{count} pass{'' if count == 1 else 'es'}"


def _words(moment: RaceMoment) -> str:
    """Whether the words are the same, as the beginning of a sentence."""
    found = moment.equality.difference
    if found is None:
        return "Same words"
    if moment.header.temperature > 0 and moment.header.rule not in ("", "coupled"):
        return f"Other words from token {found.index + 1} on, by the same odds"
    return f"Different from token {found.index + 1} on (gap {found.margin:.2g})"


def _stopped(moment: RaceMoment) -> str:
    plain, fast = (lane.num_tokens for lane in moment.lanes)
    gain = "" if moment.speedup is None else f"; so far {moment.speedup:.2f} times as fast"
    return f"Stopped at {fast} tokens with drafting and {plain} without{gain}."


def _is_sure(moment: RaceMoment) -> bool:
    """Whether nothing drafted so far means parked: a policy may begin with a few plain rounds."""
    is_off = moment.header.lookahead == "0"
    return is_off or moment.is_finished or moment.speculative.num_passes >= _SURE_PASSES


def _parked(moment: RaceMoment) -> str:
    if moment.header.lookahead == "0":
        return "Drafting is switched off: both lanes do the same."
    if moment.speculative.note == NEVER_DRAFTED:
        return "Nothing was drafted when this was recorded, so no clock can show what it gains."
    if moment.header.draft == COPY:
        if ": " not in moment.speculative.note:  # no reason: a plain pass is measured
            return "Nothing was copied so far, and nothing is lost."
        return f"{_start(moment.speculative.note)}, so it is parked and nothing is lost."
    where = _chip_words(moment.header) if moment.header.retimed else ""
    return (
        f"Drafting does not pay {where or 'on this machine'}, so it is parked and nothing is lost."
    )


def _chip_words(header: RecordingHeader) -> str:
    """The chip of a re-timed race, empty where it is not known."""
    from ..costs.machines import CHIPS

    chip = CHIPS.get(header.chip)
    return "" if chip is None else f"on an {chip.label}"


def _early(moment: RaceMoment) -> str:
    if moment.is_finished:
        return f"{_words(moment)}; the answer is too short to compare speeds."
    return "Just started: a speedup is shown from 16 tokens on."


def _slower(moment: RaceMoment, speed: float) -> str:
    per_pass = f"{moment.speculative.tokens_per_pass or 0:.1f} tokens a pass"
    return f"Slower here: {speed:.2f} times; {per_pass} do not pay for the drafting"


def _running(moment: RaceMoment, speed: float) -> str:
    if moment.equality.difference is not None:
        return f"{_words(moment)}; {_pace(speed)} so far."
    low, high = _SAME_SPEED
    if speed < low:
        return f"{_slower(moment, speed)} so far."
    plain, fast = moment.lanes
    if speed <= high:
        return f"As fast as standard so far: {_tokens(fast.num_tokens)} against {plain.num_tokens}."
    return (
        f"Running ahead, {speed:.2f} times as fast: {_tokens(fast.num_tokens)} for "
        f"{_passes(fast.num_passes)} of {target_word(moment.header)}, "
        f"standard {plain.num_tokens} for {plain.num_passes}."
    )


def _pace(speed: float) -> str:
    low, high = _SAME_SPEED
    if low <= speed <= high:
        return f"the same speed ({speed:.2f} times)"
    return f"{speed:.2f} times as fast" if speed > high else f"slower, {speed:.2f} times"


def _photo_finish(moment: RaceMoment, speed: float) -> str:
    plain, fast = moment.lanes
    target = target_word(moment.header)
    low, high = _SAME_SPEED
    left = moment.seconds_left
    if speed < low:
        more = "" if left is None else f"; drafting needs {left:.1f} s more"
        return f"{_slower(moment, speed)}{more if plain.is_finished else ''}."
    if left is None or plain.is_finished or moment.equality.difference is not None:
        return f"{_words(moment)}; {_pace(speed)}: {_passes(fast.num_passes)} of {target}."
    made = f"{target} made {_passes(fast.num_passes)}; standard will need {fast.num_tokens - 1}"
    if speed <= high:
        return f"Same words at the same speed ({speed:.2f} times): {made}."
    return f"Same words, {speed:.2f} times sooner: {made}, and {left:.1f} s more."


def _finished(moment: RaceMoment, speed: float) -> str:
    plain, fast = moment.lanes
    low, high = _SAME_SPEED
    if speed < low:
        return f"{_slower(moment, speed)}."
    passes = (
        f"{_passes(fast.num_passes)} of {target_word(moment.header)} instead of {plain.num_passes}"
    )
    if speed <= high:
        return f"{_words(moment)} at the same speed ({speed:.2f} times): {passes}."
    gain = "sooner" if moment.equality.difference is None else "as fast"
    return f"{_words(moment)}, {speed:.2f} times {gain}: {passes}."

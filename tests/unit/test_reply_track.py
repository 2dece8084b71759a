"""One reply as it comes in: its text, its thinking, how it ended."""

from __future__ import annotations

from mlx_specdec.chat.reply_track import ReplyTrack
from mlx_specdec.events import Emitted, Failed, Finished, Prefilled, Round, Timings


def one(text: str, at: float, index: int = 1) -> Round:
    return Round(
        index, 10, 0, (), (), 0, (Emitted(1, text, "sampled", 1.0),), Timings(), at, note="parked"
    )


def test_text_thinking_and_end() -> None:
    track = ReplyTrack()
    track.add([Prefilled(10, 0, 0.5, 0.5)])
    gain = track.add([one("<think>hm", 0.6, 0), one(" yes</think>\n\nAns", 2.5), one("wer", 2.6)])
    assert (gain.thinking, gain.answer) == ("hm yes", "Answer")
    assert gain.raw == "<think>hm yes</think>\n\nAnswer"
    assert track.thinking_seconds == 2.0
    assert not track.is_thinking
    assert not track.is_over
    assert track.note == "parked"
    assert track.context_tokens == 13
    track.add([Finished("stop", 2.7, "!")])
    assert (track.answer, track.reason, track.is_over) == ("Answer!", "stop", True)
    turn = track.turn
    assert (turn.text, turn.tokens, turn.seconds) == (
        "<think>hm yes</think>\n\nAnswer!",
        3,
        2.7,
    )
    assert track.metrics.emitted_tokens == 3


def test_a_prompt_that_has_opened_the_thinking() -> None:
    track = ReplyTrack(begins_thinking=True)
    assert track.add([one("hm", 1.0)]).thinking == "hm"
    assert track.is_thinking
    assert track.add([Finished("length", 1.1)]).answer == ""


def test_without_thinking_there_is_no_time_of_it() -> None:
    track = ReplyTrack()
    track.add([one("List<int> a <b", 1.0), Finished("stop", 1.1)])
    assert track.thinking_seconds is None
    assert track.answer == "List<int> a <b"


def test_a_failure_keeps_what_was_said() -> None:
    track = ReplyTrack()
    failure = Failed("ContextFullError", "Full", "It is.", "Clear.", 2.0)
    track.add([one("half", 1.0), failure])
    assert (track.reason, track.failure, track.answer) == ("failed", failure, "half")

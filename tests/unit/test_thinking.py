"""ThinkingStream: the same split however the text is cut into pieces."""

from __future__ import annotations

from mlx_specdec.thinking import ThinkingStream

import pytest


def split(text: str, size: int, is_open: bool = False) -> tuple[str, str, bool]:
    stream = ThinkingStream(is_open)
    pieces = [p for i in range(0, len(text), size) for p in stream.push(text[i : i + size])]
    pieces += stream.finish()
    thought = "".join(part for is_thinking, part in pieces if is_thinking)
    answer = "".join(part for is_thinking, part in pieces if not is_thinking)
    return thought, answer, stream.is_open


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    ("text", "is_open", "wanted"),
    [
        ("plain <b> text", False, ("", "plain <b> text", False)),
        ("  an indented answer", False, ("", "  an indented answer", False)),
        ("<think>\nhm\n\nso\n</think>\n\nanswer", False, ("hm\n\nso", "answer", False)),
        ("<think>\n\n</think>\n\nanswer", False, ("", "answer", False)),
        ("hm</think>answer", True, ("hm", "answer", False)),
        ("<think>\nnever ends </thi", False, ("never ends </thi", "", True)),
        ("\nhm ", True, ("hm ", "", True)),
        ("<thin air", False, ("", "<thin air", False)),
        ("a <think> later", False, ("", "a <think> later", False)),
        ("<thi", False, ("", "<thi", False)),
    ],
)
def test_thinking_and_answer_are_told_apart(
    text: str, is_open: bool, wanted: tuple[str, str, bool], size: int
) -> None:
    """G7: an empty think block was printed."""
    assert split(text, size, is_open) == wanted

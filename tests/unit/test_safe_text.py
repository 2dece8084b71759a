"""Control codes of a model's text are shown, never sent (H5)."""

from __future__ import annotations

import re

from mlx_specdec.safe_text import safe_text

import pytest


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[2J", "␛[2J"),
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("\x1b[6n", "␛[6n"),
        ("\x9b2J\x9d0;x\x9c", "�2J�0;x�"),
        ("one\r\ntwo\rthree", "one\ntwothree"),
        ("\x00\x08\x7f", "␀␈␡"),
        ("日本 é 🙂", "日本 é 🙂"),
    ],
)
def test_what_a_terminal_would_obey_is_only_shown(text: str, shown: str) -> None:
    assert safe_text(text) == shown


def test_every_control_code_is_caught() -> None:
    every = "".join(map(chr, range(0x3000)))
    assert set(re.findall(r"[\x00-\x1f\x7f-\x9f]", safe_text(every))) == {"\t", "\n"}

"""Text comes out whole: no half characters, nothing of a stop string, nothing lost."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable
from typing import Any

from mlx_specdec.textstream import TextStream, decoder_of
from tests.toymodels import toy_tokenizer

import pytest

BROKEN = "\ufffd"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"  # joined by ZWJ
FLAG = "\U0001f1f0\U0001f1ea"
HEART = "\u2764\ufe0f"  # with a variation selector
COMBINED = "e\u0301 a\u030a n\u0303"
TEXTS = {
    "G1 emoji": f"so {FAMILY} and {FLAG}!",
    "G1 CJK": "日本語のテキスト、한국어, 中文。",
    "G1 combining": f"{COMBINED} ỗ",
    "G4 flag, selector, joiner": f"{FLAG}{HEART}{FAMILY}{COMBINED}",
    "G3 leading space": "  two spaces first, and at the end  ",
    "code": "def f(x):\n\treturn {'a': [x]}\n\n",
    "brackets": "[/path] [b]x[/b] List<int>",
    "plain": "the thing and the other one",
}


@functools.cache
def tokenizer() -> Any:
    return toy_tokenizer(280)


def ids_of(text: str) -> list[int]:
    ids: list[int] = tokenizer().encode(text, add_special_tokens=False)
    return ids


def byte_ids() -> list[int]:
    """The ids that stand for one byte each, in the order of the bytes."""
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    vocabulary = tokenizer().get_vocab()
    letters: dict[int, str] = bytes_to_unicode()
    return [vocabulary[letters[byte]] for byte in range(256)]


def pieces(tokens: Iterable[int], **options: Any) -> list[str]:
    stream = TextStream(tokenizer(), **options)
    shown = []
    for token in tokens:
        shown.append(stream.push(token))
        if stream.stopped:
            break
    return [*shown, stream.finish()]


@pytest.mark.parametrize("name", TEXTS)
def test_g1_g3_g4_the_pieces_are_the_text(name: str) -> None:
    """By the tokenizer's own tokens and byte by byte, a character over up to four tokens."""
    text = TEXTS[name]
    single = byte_ids()
    for tokens in (ids_of(text), [single[byte] for byte in text.encode()]):
        shown = pieces(tokens)
        assert "".join(shown) == text == tokenizer().decode(tokens)
        assert not any(BROKEN in piece for piece in shown)


@pytest.mark.parametrize("name", TEXTS)
def test_g4_one_scalar_a_token_prints_every_one_once(name: str) -> None:
    """A character that joins the one before must not bring it along again."""

    class Scalars:
        def decode(self, ids: list[int]) -> str:
            return "".join(map(chr, ids))

    stream = TextStream(Scalars())
    text = TEXTS[name]
    assert [stream.push(ord(scalar)) for scalar in text] == list(text)


@pytest.mark.parametrize("seed", range(20))
def test_g2_random_bytes_never_raise_and_lose_nothing(seed: int) -> None:
    rng, single = random.Random(seed), byte_ids()
    tokens = [single[rng.randrange(256)] for _ in range(500)]
    assert "".join(pieces(tokens)) == tokenizer().decode(tokens)


@pytest.mark.parametrize("seed", range(20))
def test_g2_random_tokens_never_raise_and_lose_nothing(seed: int) -> None:
    """Merged tokens with leading spaces and special tokens among broken bytes."""
    rng = random.Random(seed)
    tokens = [rng.randrange(280) for _ in range(500)]
    assert "".join(pieces(tokens)) == tokenizer().decode(tokens)


def test_g2_a_long_run_of_broken_bytes_is_shown_in_time_and_hides_nothing() -> None:
    """Text that never becomes whole is not held back for ever, nor what completes its end."""
    single = byte_ids()
    tokens = [single[0xFF]] * 30 + [single[byte] for byte in "€ 😀".encode()]
    shown = pieces(tokens)
    assert "".join(shown) == tokenizer().decode(tokens)
    assert any(shown[:30])
    for count in range(1, 25):
        lead = [single[0xE2]] * count + [single[byte] for byte in "€".encode()]
        assert "".join(pieces(lead)) == tokenizer().decode(lead)
        trail = [single[0xFF]] * count + lead[-3:] + [single[0xFF]] * 12
        assert "".join(pieces(trail)) == tokenizer().decode(trail)


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_g2_an_answer_cut_inside_a_character_ends_in_one_mark_at_most(cut: int) -> None:
    single = byte_ids()
    tokens = [single[byte] for byte in "ok 😀".encode()][: 3 + cut]
    shown = pieces(tokens)
    assert "".join(shown[:-1]) == "ok "
    assert shown[-1].count(BROKEN) <= 1 or shown[-1] == tokenizer().decode(tokens)[3:]


@pytest.mark.parametrize("stop", ["beta gamma", "gamma", "a", " beta", "mma d", "delta"])
@pytest.mark.parametrize("by_byte", [True, False], ids=["bytes", "tokens"])
def test_c9_nothing_of_a_stop_string_is_shown(stop: str, by_byte: bool) -> None:
    text = "alpha beta beta gamma delta"
    tokens = [byte_ids()[byte] for byte in text.encode()] if by_byte else ids_of(text)
    stream = TextStream(tokenizer(), stop=(stop, "never"))
    shown = ""
    for token in tokens:
        shown += stream.push(token)
        assert text[: text.index(stop)].startswith(shown)
        if stream.stopped:
            break
    assert stream.stopped
    assert shown + stream.finish() == text[: text.index(stop)]


def test_c9_what_could_begin_a_stop_string_is_held_back_and_given_out_after_all() -> None:
    stream = TextStream(tokenizer(), stop=("beta gamma",))
    shown = [stream.push(byte_ids()[byte]) for byte in b"beta go"]
    assert shown == [""] * 6 + ["beta go"]
    for byte in b" bet":
        stream.push(byte_ids()[byte])
    assert stream.finish() == "bet"
    assert not stream.stopped


def test_c9_the_earliest_of_several_stop_strings_counts() -> None:
    tokens = ids_of("one two three")
    assert "".join(pieces(tokens, stop=("three", "two"))) == "one "
    assert "".join(pieces(tokens, stop=("ee", "wo th"))) == "one t"


def test_c9_a_stop_string_of_split_characters() -> None:
    tokens = [byte_ids()[byte] for byte in "so 😀😁 yes".encode()]
    assert "".join(pieces(tokens, stop=("😁",))) == "so 😀"
    assert "".join(pieces(tokens, stop=("😀😂",))) == "so 😀😁 yes"


def test_hidden_tokens_never_show() -> None:
    end = tokenizer().eos_token_id
    assert "".join(pieces([*ids_of("done"), end], hidden=frozenset({end}))) == "done"
    assert "".join(pieces([*ids_of("done"), end])) == "done<|im_end|>"


def test_f11_a_token_is_decoded_in_a_short_window() -> None:
    """The cost of a token does not grow with the answer."""
    decode: Callable[[list[int]], str] = decoder_of(tokenizer())
    longest = 0

    class Measured:
        def decode(self, ids: list[int]) -> str:
            nonlocal longest
            longest = max(longest, len(ids))
            return decode(ids)

    stream = TextStream(Measured())
    tokens = ids_of(TEXTS["plain"]) * 20
    assert "".join(stream.push(token) for token in tokens) == TEXTS["plain"] * 20
    assert longest <= 20


def test_a_piece_is_one_tokens_own_text() -> None:
    stream = TextStream(tokenizer())
    assert stream.piece(ids_of("x")[0]) == "x"
    assert stream.piece(byte_ids()[0xFF]) == BROKEN

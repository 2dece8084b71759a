"""Do two models mean the same text by the same id? Entries E1 to E3 of the bug reports."""

from __future__ import annotations

from typing import Any

from mlx_specdec.errors import PairMismatchError
from mlx_specdec.pairing import check_pair, tokenizer_width
from tests.toymodels import SPECIAL_TEXTS, toy_tokenizer

import pytest


class Words:
    """A tokenizer by its table alone; the last ``added`` texts are added tokens."""

    def __init__(self, texts: dict[str, int], added: tuple[str, ...] = (), eos: str = "") -> None:
        self._texts = texts
        self._added = added
        self.bos_token = None
        self.eos_token = eos or None

    def get_vocab(self) -> dict[str, int]:
        return dict(self._texts)

    def get_added_vocab(self) -> dict[str, int]:
        return {text: self._texts[text] for text in self._added}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return toy_tokenizer(270)


@pytest.mark.parametrize(("target", "draft"), [(320, 288), (288, 320), (151936, 152064)])
def test_e1_padded_vocabularies_are_accepted(tokenizer: Any, target: int, draft: int) -> None:
    report = check_pair(tokenizer, toy_tokenizer(270), target, draft)
    assert report.shared_ids == 270
    assert report.draft_reads == draft
    assert any(str(target) in note and str(draft) in note for note in report.notes)


def test_equal_tokenizers_give_no_notes(tokenizer: Any) -> None:
    report = check_pair(tokenizer, toy_tokenizer(270), 270, 270)
    assert (report.shared_ids, report.notes) == (270, ())


def test_e2_two_swapped_ids_are_refused_by_the_first(tokenizer: Any) -> None:
    swapped = toy_tokenizer(270, swap=(70, 65))
    with pytest.raises(PairMismatchError) as caught:
        check_pair(tokenizer, swapped, 270, 270)
    texts = {index: text for text, index in tokenizer.get_vocab().items()}
    assert "id 65" in caught.value.message
    assert f"{texts[65]!r} in the target" in caught.value.message
    assert f"{texts[70]!r} in the draft" in caught.value.message
    assert caught.value.hint


def test_e2_special_tokens_at_other_ids_are_refused(tokenizer: Any) -> None:
    first, second, last = SPECIAL_TEXTS
    with pytest.raises(PairMismatchError, match="id 267"):
        check_pair(tokenizer, toy_tokenizer(270, specials=(second, first, last)), 270, 270)


def test_e2_special_tokens_with_another_text_are_refused(tokenizer: Any) -> None:
    other = toy_tokenizer(270, specials=(SPECIAL_TEXTS[0], SPECIAL_TEXTS[1], "<|eot|>"))
    with pytest.raises(PairMismatchError, match=r"id 269.*<\|im_end\|>.*<\|eot\|>"):
        check_pair(tokenizer, other, 270, 270)


def test_e2_the_same_added_text_at_another_id_is_refused() -> None:
    target = Words({"a": 0, "b": 1, "<x>": 2}, ("<x>",))
    draft = Words({"a": 0, "b": 1, "<x>": 3}, ("<x>",))
    with pytest.raises(PairMismatchError, match="id 2: '<x>' in the target, nothing in the draft"):
        check_pair(target, draft, 4, 4)


def test_e2_a_larger_vocabulary_of_its_own_is_refused() -> None:
    with pytest.raises(PairMismatchError, match="id 2: 'c' in the target, nothing in the draft"):
        check_pair(Words({"a": 0, "b": 1, "c": 2}), Words({"a": 0, "b": 1}), 3, 3)


def test_e2_an_empty_tokenizer_is_refused() -> None:
    with pytest.raises(PairMismatchError):
        check_pair(Words({}), Words({}), 8, 8)


@pytest.mark.parametrize("side", ["target", "draft"])
def test_e3_three_more_added_tokens_at_the_end_give_a_note(tokenizer: Any, side: str) -> None:
    longer = toy_tokenizer(270, extra=("<one>", "<two>", "<three>"))
    pair = (longer, tokenizer) if side == "target" else (tokenizer, longer)
    report = check_pair(*pair, 280, 280)
    assert report.shared_ids == 270
    assert report.notes == (f"Only the {side} knows 3 added tokens ('<one>', id 270, ...).",)


def test_e3_another_role_for_the_same_special_token_gives_a_note(tokenizer: Any) -> None:
    other = toy_tokenizer(270)
    other._tokenizer.eos_token = SPECIAL_TEXTS[0]
    report = check_pair(tokenizer, other, 270, 270)
    assert report.shared_ids == 270
    assert report.notes == (
        "eos_token is '<|im_end|>' in the target and '<|endoftext|>' in the draft.",
    )


def test_e3_a_reserved_id_that_one_side_does_not_name_gives_a_note() -> None:
    target = Words({"a": 0, "<r>": 1, "<s>": 2}, ("<r>", "<s>"))
    report = check_pair(target, Words({"a": 0, "<s>": 2}, ("<s>",)), 3, 3)
    assert report.shared_ids == 3
    assert report.notes == ("Only the target knows 1 added token ('<r>', id 1).",)


def test_e4_ids_beyond_the_drafts_rows_are_named(tokenizer: Any) -> None:
    """A draft narrower than the tokenizer must neither propose nor be fed the rest."""
    report = check_pair(tokenizer, toy_tokenizer(270), 270, 264)
    assert (report.shared_ids, report.draft_reads) == (264, 264)
    assert "The draft cannot read ids from 264 on." in report.notes


def test_tokenizer_width_counts_added_tokens_and_holes() -> None:
    assert tokenizer_width(toy_tokenizer(270, extra=("<x>",))) == 271
    assert tokenizer_width(Words({"a": 0, "z": 9})) == 10

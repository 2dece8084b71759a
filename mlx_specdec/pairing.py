"""Do two models mean the same text by the same token id?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .errors import PairMismatchError

__all__ = ["PairReport", "TokenMap", "check_pair", "tokenizer_width"]


class TokenMap(Protocol):
    """What is asked of a tokenizer here: its texts and ids, added tokens included."""

    def get_vocab(self) -> dict[str, int]: ...

    def get_added_vocab(self) -> dict[str, int]: ...


@dataclass(frozen=True, slots=True)
class PairReport:
    """What two tokenizers share.

    Args:
        shared_ids: ids 0 .. shared_ids - 1 are known to both and mean the same; the draft must
            not propose others.
        draft_reads: ids 0 .. draft_reads - 1 have a row in the draft's embedding; the draft
            cannot be fed others.
        notes: differences that do not matter, in words.
    """

    shared_ids: int
    draft_reads: int
    notes: tuple[str, ...] = ()


def tokenizer_width(tokenizer: Any) -> int:
    """1 + the largest id that the tokenizer knows, added tokens included."""
    return 1 + max(tokenizer.get_vocab().values(), default=-1)


def check_pair(
    target_tokenizer: Any, draft_tokenizer: Any, target_width: int, draft_width: int
) -> PairReport:
    """Compare two tokenizers by content: the text of every id, special tokens included.

    Accepted, with a note: logits padded to different widths, added tokens that only one side has
    beyond the other's last id, other roles of the same special tokens (end, padding, ...).

    Args:
        target_tokenizer, draft_tokenizer: Hugging Face tokenizers, wrapped by mlx-lm or not.
        target_width, draft_width: widths of the logits.

    Raises:
        PairMismatchError: an id means different texts; the first one is named with both.
    """
    target = draft = target_tokenizer.get_vocab()
    if draft_tokenizer is not target_tokenizer:
        draft = draft_tokenizer.get_vocab()
    notes: list[str] = []
    if target != draft:
        notes += _compare(target, draft, target_tokenizer, draft_tokenizer)
    ends = (1 + max(target.values(), default=-1), 1 + max(draft.values(), default=-1))
    shared = min(*ends, target_width, draft_width)
    if shared <= 0:
        raise PairMismatchError(
            "One of the two tokenizers is empty.", "Take a draft of the target's own family."
        )
    if target_width != draft_width:
        notes.append(
            f"The logits are {target_width} wide in the target and {draft_width} in the draft; "
            f"ids from {shared} on are never drafted."
        )
    if ends[0] > draft_width:
        notes.append(f"The draft cannot read ids from {draft_width} on.")
    notes += _roles(target_tokenizer, draft_tokenizer)
    return PairReport(shared, draft_width, tuple(notes))


def _by_id(vocab: Mapping[str, int]) -> dict[int, str]:
    texts: dict[int, str] = {}
    for text, index in vocab.items():
        known = texts.get(index)
        texts[index] = text if known is None else min(known, text)
    return texts


def _refuse(index: int, target: str | None, draft: str | None) -> PairMismatchError:
    texts = [repr(text) if text is not None else "nothing" for text in (target, draft)]
    return PairMismatchError(
        f"The two tokenizers differ first at id {index}: "
        f"{texts[0]} in the target, {texts[1]} in the draft.",
        "Take a draft of the target's own family, or --draft none.",
    )


def _compare(
    target: Mapping[str, int], draft: Mapping[str, int], target_tokenizer: Any, draft_tokenizer: Any
) -> list[str]:
    """Notes about what only one side knows; raises at the first id with two meanings."""
    target_texts, draft_texts = _by_id(target), _by_id(draft)
    added = {
        *target_tokenizer.get_added_vocab().values(),
        *draft_tokenizer.get_added_vocab().values(),
    }
    only_target: list[int] = []
    only_draft: list[int] = []
    for index in sorted(target_texts.keys() | draft_texts.keys()):
        target_text, draft_text = target_texts.get(index), draft_texts.get(index)
        if target_text == draft_text:
            continue
        moved = draft.get(target_text or "", target.get(draft_text or ""))
        if (target_text is None or draft_text is None) and index in added and moved is None:
            (only_target if draft_text is None else only_draft).append(index)
            continue
        raise _refuse(index, target_text, draft_text)
    return [
        f"Only the {side} knows {len(ids)} added token{'s' if len(ids) > 1 else ''} "
        f"({texts[ids[0]]!r}, id {ids[0]}{', ...' if len(ids) > 1 else ''})."
        for side, ids, texts in (
            ("target", only_target, target_texts),
            ("draft", only_draft, draft_texts),
        )
        if ids
    ]


def _roles(target_tokenizer: Any, draft_tokenizer: Any) -> list[str]:
    """Notes about special tokens that play another part in the draft: the target's count."""
    notes = []
    for role in ("bos_token", "eos_token"):
        target = getattr(target_tokenizer, role, None)
        draft = getattr(draft_tokenizer, role, None)
        if target != draft:
            notes.append(f"{role} is {target!r} in the target and {draft!r} in the draft.")
    return notes

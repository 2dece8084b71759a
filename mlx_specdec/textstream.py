"""TextStream: the text of one answer, token by token, with stop strings and split characters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["TextStream", "decoder_of"]

_REPLACEMENT = "\ufffd"
_LONGEST_SPLIT = 8  # tokens held back at most; one character takes four


def decoder_of(tokenizer: Any) -> Callable[[list[int]], str]:
    """ids -> text, special tokens included, by the quickest way this tokenizer has.

    The wrappers around a fast tokenizer cost more than the decoding; it is called per token.
    """
    inner = getattr(tokenizer, "_tokenizer", tokenizer)
    backend = getattr(inner, "backend_tokenizer", None)
    if backend is None:
        return lambda ids: str(tokenizer.decode(ids))
    decode = backend.decode
    return lambda ids: str(decode(ids, skip_special_tokens=False))


class TextStream:
    """Turns tokens into text as it may be shown.

    Text is held back while the last character is incomplete, and while it could be the beginning
    of a stop string; it joins the token that completes it.

    Args:
        tokenizer: has ``decode(ids)``, such as a transformers tokenizer.
        stop: texts that end the answer.
        hidden: ids that never show (end tokens).
    """

    def __init__(
        self, tokenizer: Any, stop: tuple[str, ...] = (), hidden: frozenset[int] = frozenset()
    ) -> None:
        self._decode = decoder_of(tokenizer)
        self._pieces: dict[int, str] = {}
        self._stop = stop
        self._hidden = hidden
        self._window: list[int] = []  # tokens whose text may still change, after one settled piece
        self._settled = 0  # how many of them have been turned into text
        self._held = ""  # text that may begin a stop string
        self.stopped = False

    def push(self, token: int) -> str:
        """The text that this token releases; sets ``stopped`` when a stop string is complete."""
        if token in self._hidden:
            return ""
        self._window.append(token)
        fresh = self._fresh_text()
        return self._past_stops(fresh) if self._stop else fresh

    def finish(self) -> str:
        """What is still held back: an incomplete character, half a stop string."""
        rest = "" if self.stopped else self._held + self._fresh_text(final=True)
        self._held = ""
        self._window, self._settled = [], 0
        return rest

    def piece(self, token: int) -> str:
        """One token's text on its own, for showing a proposal."""
        text = self._pieces.get(token)
        if text is None:
            text = self._pieces[token] = self._decode([token])
        return text

    def _fresh_text(self, final: bool = False) -> str:
        before = self._decode(self._window[: self._settled]) if self._settled else ""
        now = self._decode(self._window) if self._window else ""
        pending = len(self._window) - self._settled
        end = len(self._window)
        if now.endswith(_REPLACEMENT) and not final:
            if pending <= _LONGEST_SPLIT:
                return ""
            end = self._clean_cut(now)
            now = self._decode(self._window[:end])
        # Keep the last settled tokens as context: a decoder may join or trim at its start.
        fresh = now[len(before) :]
        self._window, self._settled = self._window[self._settled :], end - self._settled
        return fresh

    def _clean_cut(self, now: str) -> int:
        """Tokens whose text is final though the end is broken: what comes can still complete a
        character that began in the last three."""
        last = len(self._window) - 3
        cuts = range(last, last - 4, -1)
        return next((n for n in cuts if now.startswith(self._decode(self._window[:n]))), last)

    def _past_stops(self, fresh: str) -> str:
        text = self._held + fresh
        places = [place for place in (text.find(stop) for stop in self._stop) if place >= 0]
        if places:
            self.stopped = True
            self._held = ""
            return text[: min(places)]
        keep = max(_overlap(text, stop) for stop in self._stop)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of ``text`` that begins ``stop``."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if stop.startswith(text[-length:]):
            return length
    return 0

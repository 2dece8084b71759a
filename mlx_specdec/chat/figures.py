"""What a chat says of its speed: there is no second lane, so the gain is an estimate.

Plain decoding makes one pass of the target per token. What such a pass costs is known from
``Prices`` (measured here, or published for the chip); the rest is the reply's own clock.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..metrics import Metrics

__all__ = ["MEANINGFUL_TOKENS", "estimated_speedup", "gain_words", "saved_seconds", "saved_words"]

MEANINGFUL_TOKENS = 16
"""Below it a rate says more about its first pass than about the reply."""


def estimated_speedup(metrics: Metrics, plain_seconds: float | None) -> float | None:
    """How many times as fast as plain decoding: ``plain_seconds`` a token / the reply's own.

    None where the price is unknown, nothing was drafted, or the reply is too short to say.
    """
    own = metrics.seconds_per_token
    if plain_seconds is None or not own or metrics.acceptance_rate is None:
        return None
    return plain_seconds / own if metrics.emitted_tokens >= MEANINGFUL_TOKENS else None


def saved_seconds(replies: Sequence[tuple[Metrics, float | None]]) -> float | None:
    """Seconds that drafting saved over a chat, pooled; negative where it cost some.

    None while there is too little to say. Replies that did not draft took what plain decoding
    takes, and replies without a price say nothing: neither counts.

    Args:
        replies: each with the plain seconds a token at its context length.
    """
    priced = [
        (metrics, plain)
        for metrics, plain in replies
        if plain is not None and metrics.acceptance_rate is not None
    ]
    if sum(metrics.decode_tokens for metrics, _ in priced) < MEANINGFUL_TOKENS:
        return None
    return sum(metrics.decode_tokens * plain - metrics.decode_seconds for metrics, plain in priced)


def gain_words(times: float | None) -> str:
    """``about 1.7 times plain (est.)``; empty when there is nothing to say."""
    return "" if times is None else f"about {times:.1f} times plain (est.)"


def saved_words(seconds: float | None) -> str:
    """``about 31 s saved (est.)``, or that drafting cost time; empty when unknown."""
    if seconds is None:
        return ""
    amount = abs(seconds)
    text = f"{amount:.0f} s" if amount >= 10 else f"{amount:.1f} s"
    if amount < 0.05:
        return "nothing saved, nothing lost (est.)"
    return f"about {text} saved (est.)" if seconds > 0 else f"about {text} lost to drafting (est.)"

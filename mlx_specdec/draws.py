"""Draws from explicit laws with explicit randomness, and the gap between the two best scores.

Nothing here waits for the device, and nothing touches MLX's global random state.
"""

from __future__ import annotations

from collections.abc import Sequence

from .backend import mx

__all__ = [
    "best_and_gap",
    "draw_by_cdf",
    "draw_by_gumbel",
    "draw_with_margin",
    "gumbel",
    "top_two_gap",
]

_SMALLEST_UNIFORM = 2.0**-33
"""Stands in for the 0 that MLX's uniform numbers, multiples of 2**-32 down there, may be."""


def gumbel(key: mx.array, shape: Sequence[int]) -> mx.array:
    """Return standard Gumbel noise, always finite.

    It is ``-log(-log(1 - u))``. The usual ``-log(-log(u))`` meets its upper tail, the one an
    arg-max reads, where ``u`` is near 1 and floats are 2**-24 apart: an entry less likely than
    that is never drawn. Near 0 ``u`` comes in steps of 2**-32, and ``log1p`` keeps them.

    Args:
        key: [2] uint32; the same key and shape give the same noise.
        shape: of the result.

    Returns:
        float32 between about -2.8 and 22.9.
    """
    uniform = mx.random.uniform(shape=tuple(shape), key=key)
    return -mx.log(-mx.log1p(-mx.maximum(uniform, _SMALLEST_UNIFORM)))


def draw_by_gumbel(logprobs: mx.array, noise: mx.array) -> mx.array:
    """Return one token per row, distributed as the softmax of ``logprobs``.

    Args:
        logprobs: [rows, vocab], normalised or not; an entry at -inf is never drawn.
        noise: standard Gumbel noise that broadcasts to ``logprobs``.

    Returns:
        [rows] uint32.
    """
    return mx.argmax(logprobs + noise, axis=-1)


def draw_by_cdf(probs: mx.array, uniforms: mx.array) -> mx.array:
    """Return one token per row: the first whose cumulative mass exceeds ``uniform * total``.

    An entry of mass 0 is never drawn. That does not follow from the sums alone: a parallel sum
    may rise where nothing was added, so the mass itself is asked. Where rounding leaves no entry
    above the target, the first entry with mass is taken.

    Args:
        probs: [rows, vocab] float32, not negative, with some mass in every row; the total need
            not be 1.
        uniforms: [rows] in [0, 1).

    Returns:
        [rows] uint32.
    """
    sums = mx.cumsum(probs, axis=-1)
    return _first_beyond(probs, sums, uniforms[:, None] * sums[:, -1:])


def _first_beyond(probs: mx.array, sums: mx.array, places: mx.array) -> mx.array:
    has_mass = probs > 0
    reached = has_mass & (sums > places)
    # 2 for what may be drawn, 1 for what has mass: the arg-max is the first 2, or else the first 1.
    return mx.argmax(has_mass.astype(mx.uint8) + reached.astype(mx.uint8), axis=-1)


def draw_with_margin(weights: mx.array, uniform: mx.array) -> tuple[mx.array, mx.array]:
    """Return a draw as ``draw_by_cdf``, and how far the uniform was from another choice.

    Args:
        weights: [vocab] float32, not negative, with some mass; the total need not be 1.
        uniform: [1] in [0, 1).

    Returns:
        (token uint32 scalar, margin float32 scalar): the distance of the uniform to the nearer
        edge of the chosen entry's interval, as a share of the total.
    """
    sums = mx.cumsum(weights)
    total = sums[-1]
    place = total * uniform[0]
    token = _first_beyond(weights, sums, place)
    high = sums[token]
    low = high - weights[token]
    return token, mx.maximum(mx.minimum(place - low, high - place) / total, 0.0)


def best_and_gap(scores: mx.array) -> tuple[mx.array, mx.array]:
    """Return the largest score's place in each row, and by how much it exceeds the second.

    The gap is 0 for a tie at the top and inf where only one score is finite.

    Args:
        scores: [rows, vocab], at least one finite score in every row.

    Returns:
        ([rows] int32, [rows] in the type of ``scores``).
    """
    best = mx.argmax(scores, axis=-1, keepdims=True)
    others = mx.where(mx.arange(scores.shape[-1]) == best, -mx.inf, scores)
    largest = mx.take_along_axis(scores, best, axis=-1)
    gap = largest - mx.max(others, axis=-1, keepdims=True)
    return best[:, 0].astype(mx.int32), gap[:, 0]


def top_two_gap(scores: mx.array) -> mx.array:
    """Return by how much the largest score of each row exceeds the second: see best_and_gap."""
    return best_and_gap(scores)[1]

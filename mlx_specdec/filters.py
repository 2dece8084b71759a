"""Top-p, min-p and top-k on log-probabilities: mlx-lm's law, without sorting the vocabulary.

Every filter here keeps what ``mlx_lm.sample_utils.apply_top_p``, ``apply_min_p`` and
``apply_top_k`` keep when they are applied in that order. All three come down to a smallest
log-probability that stays:

* top-p keeps ``v`` when the mass strictly above ``v`` is less than ``top_p`` of the total, so
  entries that tie with the last one kept stay as well;
* min-p keeps ``v`` when ``v >= largest + log(min_p)``;
* top-k keeps exactly ``k`` entries; among equal ones at the border, those with the lower index.

No filter renormalises, so a later one measures against the full distribution, as in mlx-lm.

A full sort answers all of that and is the dearest thing one can do to a wide row, so:

* with a small top-k, only ``k`` blocks of the row can hold the ``k`` largest entries, and top-p
  and min-p are then decided among those ``k``;
* top-p alone halves the row again and again around its median, keeping the half in which the
  border lies. The shapes are fixed, and the work is that of about two partitions.

Nothing here waits for the device: the arrays that come back are lazy.
"""

from __future__ import annotations

import math

from .backend import backend_name, mx

__all__ = ["filtered"]

_SORTED_WIDTH_CPU = 1024
_SORTED_WIDTH_OF_ONE_CPU = 8192
_NEVER_HALVED = 2**31


def filtered(logprobs: mx.array, top_p: float, min_p: float, top_k: int) -> mx.array:
    """Return ``logprobs`` with -inf for every entry that a filter drops, not renormalised.

    The largest entry of a row always stays.

    Args:
        logprobs: [rows, vocab] float32, the log-softmax of whole rows; -inf is allowed.
        top_p: in (0, 1); anything else is off.
        min_p: in (0, 1]; 0 is off.
        top_k: 1 or more; 0, or the vocabulary's width and more, is off.

    Returns:
        [rows, vocab] float32.
    """
    vocab = logprobs.shape[-1]
    has_top_p = 0.0 < top_p < 1.0
    has_top_k = 0 < top_k < vocab
    if has_top_k and _blocks_pay(vocab, top_k, has_top_p):
        return _filtered_by_blocks(logprobs, top_p, min_p, top_k)
    kept = _top_p(logprobs, top_p) if has_top_p else logprobs
    if min_p > 0.0:
        # The largest entry has passed top-p, so this is the border in mlx-lm's order too.
        border = mx.max(logprobs, axis=-1, keepdims=True) + math.log(min_p)
        kept = mx.where(logprobs < border, -mx.inf, kept)
    return _top_k_by_rank(kept, top_k) if has_top_k else kept


def _block_width(vocab: int, top_k: int) -> int:
    """Return the power of two at which there are about as many blocks as entries in ``top_k``.

    A power of two divides the usual vocabularies, which saves a padded copy of the rows.
    """
    return int(2 ** max(3, round(math.log2(vocab / top_k) / 2)))


def _blocks_pay(vocab: int, top_k: int, has_top_p: bool) -> bool:
    """Return whether the ``top_k`` blocks are so small a part of the row that sorting them pays.

    Measured on the CPU at 4,096 and 151,936: against top-p and top-k one after the other, blocks
    win up to an eighth of the row; against top-k alone, up to a sixteenth. On Metal, where a
    partition is a full sort, the same shares are a choice by operation count, not measured.
    """
    looked_at = top_k * _block_width(vocab, top_k)
    return (8 if has_top_p else 16) * looked_at <= vocab


def _filtered_by_blocks(logprobs: mx.array, top_p: float, min_p: float, top_k: int) -> mx.array:
    """Apply all three filters by way of the ``top_k`` largest entries alone.

    Order entries by (value, lower index first). The ``top_k`` first lie in the ``top_k`` blocks
    whose best entries come first in the same order: were one in another block, each of those
    ``top_k`` best entries would come before it.
    """
    rows, vocab = logprobs.shape
    values, places = _largest(logprobs, top_k)
    border = values[:, -1:]
    if 0.0 < top_p < 1.0:
        mass = _sums(mx.exp(logprobs)) * top_p
        border = mx.maximum(border, _border_of_sorted(values, mx.exp(values), mass))
    if min_p > 0.0:
        border = mx.maximum(border, values[:, :1] + math.log(min_p))
    kept = mx.where(values < border, -mx.inf, values)
    # A row with fewer than top_k finite entries may name places in the padding: -inf, cut off.
    wide = mx.full((rows, _padded_width(vocab, top_k)), -mx.inf)
    return mx.put_along_axis(wide, places, kept, axis=-1)[:, :vocab]


def _padded_width(vocab: int, top_k: int) -> int:
    width = _block_width(vocab, top_k)
    return -(-vocab // width) * width


def _largest(logprobs: mx.array, top_k: int) -> tuple[mx.array, mx.array]:
    """Return the ``top_k`` largest entries in falling order and their places, both [rows, k]."""
    rows, vocab = logprobs.shape
    width = _block_width(vocab, top_k)
    padding = _padded_width(vocab, top_k) - vocab
    if padding:
        logprobs = mx.pad(logprobs, [(0, 0), (0, padding)], constant_values=-mx.inf)
    blocks = logprobs.reshape(rows, -1, width)
    # argsort is stable, which breaks ties by index; sorted block numbers keep places rising.
    best = mx.sort(mx.argsort(-mx.max(blocks, axis=-1), axis=-1)[:, :top_k], axis=-1)
    pool = mx.take_along_axis(blocks, best[:, :, None], axis=1).reshape(rows, -1)
    order = mx.argsort(-pool, axis=-1)[:, :top_k]
    block = mx.take_along_axis(best, order // width, axis=-1)
    return mx.take_along_axis(pool, order, axis=-1), block * width + order % width


def _border_of_sorted(values: mx.array, masses: mx.array, mass: mx.array) -> mx.array:
    """Return the smallest of ``values`` with less than ``mass`` strictly above it.

    Args:
        values: [rows, n] in falling order.
        masses: [rows, n], what each of them weighs.
        mass: [rows, 1].

    Returns:
        [rows, 1]; the largest value where nothing else stays.
    """
    above = mx.cumsum(masses, axis=-1, inclusive=False)
    last = mx.sum(above < mass, axis=-1, keepdims=True) - 1
    return mx.take_along_axis(values, mx.maximum(last, 0), axis=-1)


def _top_p(logprobs: mx.array, top_p: float) -> mx.array:
    """Apply top-p to rows [rows, vocab]."""
    # Compared as probabilities, which the halves hold, since log(exp(x)) need not be x. Where
    # two log-probabilities differ in their last bits, exp may round them alike or cross them:
    # right at the border the one may then stand for the other.
    if logprobs.shape[-1] <= _sorted_width(logprobs.shape[0]) <= _SORTED_WIDTH_OF_ONE_CPU:
        return _top_p_sorted(logprobs, top_p)
    probs = mx.exp(logprobs)
    mass = _sums(probs) * top_p
    return mx.where(probs < _border(probs, mass), -mx.inf, logprobs)


def _top_p_sorted(logprobs: mx.array, top_p: float) -> mx.array:
    """Apply top-p to narrow rows [rows, vocab] in as few operations as it takes."""
    rising = mx.sort(logprobs, axis=-1)
    masses = mx.exp(rising)
    from_here = mx.cumsum(masses, axis=-1, reverse=True)
    dropped = mx.sum(from_here - masses >= top_p * from_here[:, :1], axis=-1, keepdims=True)
    return mx.where(logprobs < mx.take_along_axis(rising, dropped, axis=-1), -mx.inf, logprobs)


def _border(probs: mx.array, mass: mx.array) -> mx.array:
    """Return the smallest of ``probs`` with less than ``mass`` [rows, 1] strictly above it.

    Each turn parts the row at its median. Where the upper half holds ``mass``, the border is in
    it; where not, it is in the lower half, and the upper half's share of ``mass`` is used up.
    Either way half of the row is left, so the shape does not depend on the data.

    Args:
        probs: [rows, n], in any order.
        mass: [rows, 1].

    Returns:
        [rows, 1].
    """
    sorted_width = _sorted_width(probs.shape[0])
    while probs.shape[-1] > sorted_width:
        width = probs.shape[-1]
        parted = mx.partition(probs, width // 2, axis=-1)
        lower, upper = parted[:, : width // 2], parted[:, width // 2 :]
        if width % 2:
            lower = mx.pad(lower, [(0, 0), (0, 1)])
        held = _sums(upper)
        is_above = held >= mass
        probs = mx.where(is_above, upper, lower)
        mass = mx.where(is_above, mass, mass - held)
    values = -mx.sort(-probs, axis=-1)
    return _border_of_sorted(values, values, mass)


def _sums(probs: mx.array) -> mx.array:
    """Return the sums of rows [rows, n] as [rows, 1], by way of sums of 64.

    On the CPU MLX adds a row up one entry after the other: over 150,000 of them float32 is then
    off by some 2e-4, which is enough to move the border.
    """
    rows, width = probs.shape
    if width <= 64:
        return mx.sum(probs, axis=-1, keepdims=True)
    whole = width - width % 64
    sums = _sums(mx.sum(probs[:, :whole].reshape(rows, -1, 64), axis=-1))
    return sums + _sums(probs[:, whole:]) if whole < width else sums


def _sorted_width(rows: int) -> int:
    """Return the width up to which rows are sorted whole.

    On the CPU the crossovers are measured, for a single row in the decoding loop: there the many
    small operations of halving cost more than they save. On Metal and CUDA a partition is a full
    sort, so halving would do the work of two: there every row is sorted, as mlx-lm does.
    """
    if backend_name() != "cpu":
        return _NEVER_HALVED
    return _SORTED_WIDTH_OF_ONE_CPU if rows == 1 else _SORTED_WIDTH_CPU


def _top_k_by_rank(logprobs: mx.array, top_k: int) -> mx.array:
    """Apply top-k to rows [rows, vocab] by the value of rank ``top_k`` and a count of its ties."""
    vocab = logprobs.shape[-1]
    border = mx.partition(logprobs, vocab - top_k, axis=-1)[:, vocab - top_k, None]
    above = logprobs > border
    tied = logprobs == border
    room = top_k - mx.sum(above, axis=-1, keepdims=True)
    stays = above | (tied & (mx.cumsum(tied.astype(mx.int32), axis=-1) <= room))
    return mx.where(stays, logprobs, -mx.inf)

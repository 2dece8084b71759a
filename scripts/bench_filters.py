"""Time the sampling filters against mlx-lm's and print ours / mlx-lm as a table.

    python scripts/bench_filters.py [--turns 21]

Both ways run in turn, so that whatever else the machine does meets both alike, and the medians
are compared. Below 1 ours is quicker. mlx-lm's functions are compiled, as it ships them; the
first, compiling turn is not counted.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version

from mlx_specdec.backend import backend_name, mx
from mlx_specdec.draws import draw_by_cdf, draw_by_gumbel, gumbel
from mlx_specdec.filters import filtered

from mlx_lm.sample_utils import apply_min_p, apply_top_k, apply_top_p

WIDTHS = (4096, 151_936)
ROWS = (1, 5)
SETTINGS = {
    "top-p 0.95": (0.95, 0.0, 0),
    "min-p 0.05": (1.0, 0.05, 0),
    "top-k 20": (1.0, 0.0, 20),
    "top-k 64": (1.0, 0.0, 64),
    "top-p 0.95, min-p 0.05": (0.95, 0.05, 0),
    "top-p 0.8, top-k 20": (0.8, 0.0, 20),
    "top-p 0.95, min-p 0.01, top-k 64": (0.95, 0.01, 64),
}


def by_mlx_lm(logprobs: mx.array, top_p: float, min_p: float, top_k: int) -> mx.array:
    if 0 < top_p < 1:
        logprobs = apply_top_p(logprobs, top_p)
    if min_p > 0:
        logprobs = apply_min_p(logprobs, min_p)
    return apply_top_k(logprobs, top_k) if top_k else logprobs


def medians(ways: Sequence[Callable[[], mx.array]], turns: int) -> list[float]:
    """Return each way's median milliseconds, run alternately and in both orders."""
    seconds: list[list[float]] = [[] for _ in ways]
    for way in ways:
        mx.eval(way())
    for turn in range(turns):
        order = range(len(ways)) if turn % 2 else reversed(range(len(ways)))
        for i in order:
            start = time.perf_counter()
            mx.eval(ways[i]())
            seconds[i].append(time.perf_counter() - start)
    return [statistics.median(times) * 1e3 for times in seconds]


def rows_like_a_model(rows: int, vocab: int) -> mx.array:
    """Log-softmax rows [rows, vocab] of bfloat16 scores, with the ties that those bring."""
    scores = mx.random.normal((rows, vocab), key=mx.random.key(vocab + rows)) * 3
    scores = scores.astype(mx.bfloat16).astype(mx.float32)
    logprobs = scores - mx.logsumexp(scores, axis=-1, keepdims=True)
    mx.eval(logprobs)
    return logprobs


def print_filters(turns: int) -> None:
    print(f"{'':34}{'vocabulary':>12}{'rows':>6}{'ours ms':>10}{'mlx-lm ms':>11}{'ratio':>8}")
    for name, setting in SETTINGS.items():
        for vocab in WIDTHS:
            for rows in ROWS:
                given = rows_like_a_model(rows, vocab)
                ways = [partial(way, given, *setting) for way in (filtered, by_mlx_lm)]
                ours, theirs = medians(ways, turns)
                figures = f"{ours:>10.3f}{theirs:>11.3f}{ours / theirs:>8.2f}"
                print(f"{name:34}{vocab:>12,}{rows:>6}{figures}")


def noise_and_draw(logs: mx.array, key: mx.array) -> mx.array:
    return draw_by_gumbel(logs, gumbel(key, logs.shape))


def exp_and_draw(logs: mx.array, coins: mx.array) -> mx.array:
    return draw_by_cdf(mx.exp(logs), coins)


def print_draws(turns: int) -> None:
    """Print the cost of one draw per row from log-probabilities, noise included or at hand."""
    print(f"\n{'':34}{'vocabulary':>12}{'rows':>6}{'gumbel ms':>10}{'cdf ms':>11}{'ratio':>8}")
    key = mx.random.key(0)
    for vocab in WIDTHS:
        for rows in ROWS:
            logs = rows_like_a_model(rows, vocab)
            probs, noise = mx.exp(logs), gumbel(key, logs.shape)
            coins = mx.random.uniform(shape=(rows,), key=key)
            mx.eval(probs, noise, coins)
            ways = [
                partial(noise_and_draw, logs, key),
                partial(exp_and_draw, logs, coins),
                partial(draw_by_gumbel, logs, noise),
                partial(draw_by_cdf, probs, coins),
            ]
            from_logs, from_logs_cdf, at_hand, at_hand_cdf = medians(ways, turns)
            for name, one, other in (
                ("from logs: noise+argmax, exp+cdf", from_logs, from_logs_cdf),
                ("noise or probabilities at hand", at_hand, at_hand_cdf),
            ):
                figures = f"{one:>10.3f}{other:>11.3f}{one / other:>8.2f}"
                print(f"{name:34}{vocab:>12,}{rows:>6}{figures}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the filters against mlx-lm's.")
    parser.add_argument("--turns", type=int, default=21, help="timed runs of each way")
    turns = parser.parse_args().turns
    print(f"MLX {version('mlx')} on {backend_name()}, medians of {turns} alternated runs")
    print_filters(turns)
    print_draws(turns)


if __name__ == "__main__":
    main()

"""The filters keep what mlx-lm's keep, whichever way they find it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from mlx_specdec.backend import mx
from mlx_specdec.filters import filtered

import numpy as np
import numpy.typing as npt
import pytest
from mlx_lm.sample_utils import apply_min_p, apply_top_k, apply_top_p

Floats = npt.NDArray[np.float64]

TOP_PS = (0.1, 0.5, 0.8, 0.95, 0.99, 0.999)
MIN_PS = (0.01, 0.05, 0.5, 1.0)
KINDS = ("peaked", "usual", "near flat", "flat", "ties", "few ties", "sparse", "one-hot", "pair")


@pytest.fixture(autouse=True)
def _uncompiled() -> Iterator[None]:
    """mlx-lm's functions compile anew for every setting; what they keep is the same without."""
    mx.disable_compile()
    yield
    mx.enable_compile()


def rows_of(kind: str, rows: int, vocab: int, seed: int) -> mx.array:
    """Log-softmax rows [rows, vocab] of one character."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(rows, vocab)) * 3
    if kind == "peaked":
        scores *= 4
    elif kind == "near flat":
        scores *= 0.01
    elif kind == "flat":
        scores *= 0
    elif kind == "few ties":
        scores = np.round(scores)
    elif kind == "sparse":
        scores[rng.random(scores.shape) < 0.7] = -np.inf
        scores[:, vocab // 2] = 0.0
    elif kind in ("one-hot", "pair"):
        places = rng.integers(vocab, size=(rows, 1 if kind == "one-hot" else 2))
        lone = np.full_like(scores, -np.inf)
        np.put_along_axis(lone, places, 0.0, axis=-1)
        scores = lone
    logits = mx.array(scores.astype(np.float32))
    if kind == "ties":
        logits = logits.astype(mx.bfloat16).astype(mx.float32)
    return logits - mx.logsumexp(logits, axis=-1, keepdims=True)


def by_mlx_lm(logprobs: mx.array, top_p: float, min_p: float, top_k: int) -> mx.array:
    if 0 < top_p < 1:
        logprobs = apply_top_p(logprobs, top_p)
    if min_p > 0:
        logprobs = apply_min_p(logprobs, min_p)
    if 0 < top_k < logprobs.shape[-1]:
        logprobs = apply_top_k(logprobs, top_k)
    return logprobs


def on_the_border(value: float, row: Floats, top_p: float) -> bool:
    """Whether mlx-lm's float32 sums may put ``value`` on either side of top-p's border.

    They run over the row one entry after the other, so their error grows with its width.
    """
    masses = np.exp(row)
    above = masses[row > value].sum()
    return bool(abs(above - top_p * masses.sum()) <= 1e-6 + 2.5e-9 * row.size)


def check(logprobs: mx.array, top_p: float, min_p: float, top_k: int) -> None:
    """Compare kept values with mlx-lm's; which of equal ones stay is checked against the index."""
    ours = np.array(filtered(logprobs, top_p, min_p, top_k)).astype(np.float64)
    theirs = np.array(by_mlx_lm(logprobs, top_p, min_p, top_k)).astype(np.float64)
    given = np.array(logprobs).astype(np.float64)
    assert ours.shape == given.shape
    assert not np.isnan(ours).any()
    for row, mine, other in zip(given, ours, theirs, strict=True):
        kept = np.isfinite(mine)
        assert kept[np.argmax(row)]
        assert (mine[kept] == row[kept]).all()
        if 0 < top_k < row.size:
            assert kept.sum() <= top_k
            lowest = row[kept].min()
            tied = np.flatnonzero(row == lowest)
            assert kept[tied].tolist() == sorted(kept[tied].tolist(), reverse=True)
        ranked, reference = -np.sort(-mine), -np.sort(-other)
        for value in np.concatenate([ranked, reference])[
            np.concatenate([ranked != reference, ranked != reference])
        ]:
            assert value == -np.inf or (0 < top_p < 1 and on_the_border(value, row, top_p))


def settings(vocab: int) -> list[tuple[float, float, int]]:
    """Each filter alone, then pairs and triples."""
    top_ks = (1, 3, 20, 64, vocab - 1, vocab, vocab + 1)
    alone = [(p, 0.0, 0) for p in TOP_PS]
    alone += [(1.0, m, 0) for m in MIN_PS]
    alone += [(1.0, 0.0, k) for k in top_ks]
    together = list(itertools.product((0.5, 0.95, 0.999), (0.0, 0.05), (3, 20, vocab - 1)))
    return alone + together + [(0.9, 0.05, 0), (0.0, 0.5, 20), (0.1, 0.01, 64)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vocab", [5, 64, 97, 1500])
def test_small_rows_are_mlx_lms(kind: str, vocab: int) -> None:
    for seed, setting in enumerate(settings(vocab)):
        check(rows_of(kind, 3, vocab, seed), *setting)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vocab", [4096, 4099])
def test_the_toy_width_is_mlx_lms(kind: str, vocab: int) -> None:
    for seed, setting in enumerate(settings(vocab)):
        check(rows_of(kind, 2, vocab, 100 + seed), *setting)


@pytest.mark.parametrize("kind", ["peaked", "usual", "near flat", "ties", "sparse"])
@pytest.mark.parametrize(
    "setting", [(0.95, 0.0, 0), (0.8, 0.0, 20), (0.999, 0.01, 64), (1.0, 0.0, 2000)], ids=str
)
def test_a_real_width_is_mlx_lms(kind: str, setting: tuple[float, float, int]) -> None:
    check(rows_of(kind, 2, 151_936, 7), *setting)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vocab", [4099, 151_936])
@pytest.mark.parametrize("top_p", [0.5, 0.95, 0.999])
def test_the_border_of_top_p_is_that_of_exact_sums(kind: str, vocab: int, top_p: float) -> None:
    """Nearer to the definition, in float64, than sequential float32 sums can be.

    ``blur`` is what a float32 exp leaves of two log-probabilities a few last bits apart.
    """
    given = rows_of(kind, 2, vocab, 9)
    for logs, kept in zip(np.array(given), np.array(filtered(given, top_p, 0.0, 0)), strict=True):
        masses = np.exp(logs.astype(np.float64))
        mass = top_p * masses.sum()
        lowest = logs[np.isfinite(kept)].min()
        dropped = logs[np.isfinite(logs) & np.isinf(kept)]
        blur = 3e-7 * abs(lowest)
        assert masses[logs > lowest + blur].sum() < mass + 2e-6
        assert dropped.size == 0 or masses[logs > dropped.max() - blur].sum() >= mass - 2e-6


@pytest.mark.parametrize("width", [4096, 151_936])
@pytest.mark.parametrize("setting", [(0.9, 0.0, 0), (0.9, 0.0, 20), (1.0, 0.0, 20)], ids=str)
def test_a_row_does_not_depend_on_its_neighbours(
    width: int, setting: tuple[float, float, int]
) -> None:
    """Verification filters many rows at once, plain decoding one: the laws must be the same."""
    many = rows_of("ties", 5, width, 3)
    together = np.array(filtered(many, *setting))
    for i in range(5):
        assert (np.array(filtered(many[i : i + 1], *setting))[0] == together[i]).all()


@pytest.mark.parametrize("vocab", [64, 4096])
def test_equal_entries_go_by_index(vocab: int) -> None:
    flat = rows_of("flat", 2, vocab, 0)
    for top_k in (1, 3, 20, vocab - 1):
        kept = np.isfinite(np.array(filtered(flat, 1.0, 0.0, top_k)))
        assert kept[:, :top_k].all()
        assert kept.sum() == 2 * top_k


@pytest.mark.parametrize("setting", [(0.8, 0.0, 0), (0.8, 0.0, 20), (0.8, 0.05, 4000)], ids=str)
def test_top_p_is_a_share_of_what_the_row_holds(setting: tuple[float, float, int]) -> None:
    """A log-softmax of wide rows need not add up to 1, and mlx-lm goes by what it adds up to."""
    check(rows_of("peaked", 3, 4096, 2) - 0.7, *setting)


def test_top_p_keeps_every_entry_that_ties_with_the_last() -> None:
    row = mx.log(mx.array([[0.4, 0.2, 0.2, 0.2]]))
    assert np.isfinite(np.array(filtered(row, 0.5, 0.0, 0))).tolist() == [[True] * 4]
    assert np.isfinite(np.array(filtered(row, 0.3, 0.0, 0))).tolist() == [[True] + [False] * 3]


def test_everything_off_is_the_identity() -> None:
    row = rows_of("sparse", 3, 64, 1)
    for setting in ((1.0, 0.0, 0), (0.0, 0.0, 64), (1.0, 0.0, 1000)):
        assert (np.array(filtered(row, *setting)) == np.array(row)).all()


@pytest.mark.parametrize("gpu_name", ["metal", "cuda"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_way_of_a_gpu_keeps_the_same(
    kind: str, gpu_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlx_specdec.filters.backend_name", lambda: gpu_name)
    for seed, setting in enumerate(settings(4096)):
        check(rows_of(kind, 1, 4096, 200 + seed), *setting)


@pytest.mark.parametrize("setting", [(0.9, 0.0, 0), (0.9, 0.05, 20), (1.0, 0.0, 4000)], ids=str)
def test_nothing_is_evaluated_inside(setting: tuple[float, float, int]) -> None:
    """Tracing refuses an evaluation, so a trace proves that there is none."""
    mx.enable_compile()
    traced = mx.compile(lambda given: filtered(given, *setting))(rows_of("usual", 2, 4096, 5))
    assert traced.shape == (2, 4096)

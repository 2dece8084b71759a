"""The detail of a round: the largest entries of each law, and the left-over law's own sum."""

from __future__ import annotations

from mlx_specdec.acceptance import TargetRows, rule_named
from mlx_specdec.backend import mx, read_floats
from mlx_specdec.lesson.overlap_reading import overlap_of
from mlx_specdec.noise import KeyedNoise
from mlx_specdec.proposal import Proposal
from mlx_specdec.readout import Reading, packed, unpacked

import numpy as np
import pytest

VOCAB, COUNT = 7, 3


def laws(seed: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    rng = np.random.default_rng(seed)
    target = rng.dirichlet(np.ones(VOCAB), COUNT + 1)
    draft = rng.dirichlet(np.ones(VOCAB), COUNT)
    return target, draft, [int(rng.choice(VOCAB, p=row)) for row in draft]


def reading_of(rule: str, seed: int, detail: int, has_law: bool = True) -> Reading:
    target, draft, tokens = laws(seed)
    rows = TargetRows(mx.array(np.log(target).astype(np.float32)), 5)
    probs = mx.array(draft.astype(np.float32)) if has_law else None
    proposal = Proposal(mx.array(tokens, dtype=mx.int32), COUNT, probs)
    decision = rule_named(rule, 1.0).decide(rows, proposal, KeyedNoise(seed), 1)
    return unpacked(read_floats(packed(decision, rows, proposal, detail)), proposal, detail)


@pytest.mark.parametrize("rule", ["rejection", "block", "coupled"])
@pytest.mark.parametrize("detail", [2, 4, 12])
@pytest.mark.parametrize("seed", range(4))
def test_the_left_over_sum_is_that_of_the_whole_row(rule: str, detail: int, seed: int) -> None:
    target, draft, tokens = laws(seed)
    reading = reading_of(rule, seed, detail)
    details = reading.row_details({token: f" w{token}" for token in range(VOCAB)})
    scales = [1.0, *reading.carried]
    assert len(details) == COUNT + 1
    proposed = reading.proposed(tuple(f" w{token}" for token in tokens))
    for place in range(COUNT):
        wanted = scales[place] * target[place]
        truth = np.maximum(wanted - draft[place], 0.0).sum()
        assert details[place].left_over_sum == pytest.approx(truth, abs=1e-6)
        overlap = overlap_of(details[place], proposed[place], scales[place])
        assert overlap.is_exact
        assert overlap.acceptance == pytest.approx(np.minimum(wanted, draft[place]).sum(), abs=1e-5)
        assert len(details[place].target) == min(detail, VOCAB)
    assert details[COUNT].left_over_sum == pytest.approx(1.0 if rule != "block" else scales[COUNT])


def test_a_copied_guess_leaves_over_what_is_not_it() -> None:
    target, _, tokens = laws(3)
    reading = reading_of("rejection", 3, 3, has_law=False)
    for place, token in enumerate(tokens):
        expected = 1.0 - target[place][token]
        assert reading.left_over_sums[place] == pytest.approx(expected, abs=1e-6)

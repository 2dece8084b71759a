"""The draft proposer: what it reports of its laws, and only when asked."""

from __future__ import annotations

from mlx_specdec.backend import mx
from mlx_specdec.forward import ModelRunner, never
from mlx_specdec.noise import KeyedNoise
from mlx_specdec.proposal import Proposal
from mlx_specdec.proposers.draft_model import DraftModelProposer
from mlx_specdec.request import GenerateRequest, SamplingParams
from tests.toymodels import toy_model

import numpy as np
import pytest

PROMPT = (5, 9, 31)


def proposal_of(params: SamplingParams, reports_shape: bool) -> Proposal:
    proposer = DraftModelProposer(ModelRunner(toy_model()), reports_shape=reports_shape)
    proposer.begin(GenerateRequest(PROMPT, params), 60, never)
    return proposer.propose(list(PROMPT), 3, KeyedNoise(1), 1)


@pytest.mark.parametrize(
    "params",
    [SamplingParams(), SamplingParams(temperature=0.7), SamplingParams(temperature=1.0, top_k=4)],
)
def test_the_largest_probability_and_the_entropy_of_each_law(params: SamplingParams) -> None:
    proposal = proposal_of(params, reports_shape=True)
    assert proposal.probs is not None
    assert proposal.top_probs is not None
    assert proposal.entropies is not None
    laws = np.array(proposal.probs, dtype=np.float64)
    logs = np.log(np.where(laws > 0, laws, 1.0))
    assert np.allclose(np.array(proposal.top_probs), laws.max(-1), atol=1e-6)
    assert np.allclose(np.array(proposal.entropies), -(laws * logs).sum(-1), atol=1e-4)


def test_it_costs_nothing_unless_asked() -> None:
    proposal = proposal_of(SamplingParams(temperature=0.7), reports_shape=False)
    assert proposal.top_probs is None
    assert proposal.entropies is None
    assert proposal.tokens.dtype == mx.int32

"""Audits over toys: small pairs, small sizes, and faults that the audit has never heard of."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mlx_specdec.acceptance import (
    AcceptanceRule,
    BlockRule,
    CoupledRule,
    Decision,
    RejectionRule,
    TargetRows,
    rule_named,
)
from mlx_specdec.audit.context import AuditSize
from mlx_specdec.audit.job import AuditOptions, run_audit
from mlx_specdec.audit.report import AuditReport, CheckResult
from mlx_specdec.backend import mx
from mlx_specdec.draws import draw_with_margin
from mlx_specdec.forward import ModelRunner
from mlx_specdec.loaded import LoadedModel, Pair
from mlx_specdec.noise import Noise, uploaded
from mlx_specdec.parts import Parts
from mlx_specdec.proposal import Proposal
from mlx_specdec.proposers.draft_model import DraftModelProposer
from mlx_specdec.request import GenerateRequest, SamplingParams
from tests.lanes import VOCAB, tokenizer
from tests.toymodels import perturbed, toy_model, toy_pair

SMALL = AuditSize(("meaning-1", "prose-2"), ("meaning-2",), 20, 1, 330, 1, 3, (1, 3))


@functools.cache
def audited_target() -> LoadedModel:
    """Logits flat enough that a temperature matters."""
    return toy_model(VOCAB, layers=1, seed=4, lm_head_scale=5)


@functools.cache
def audited_draft() -> LoadedModel:
    return perturbed(audited_target(), 0.25)


def audited_pair(target: LoadedModel | None = None, draft: LoadedModel | None = None) -> Pair:
    return toy_pair(target or audited_target(), draft or audited_draft(), tokenizer())


def audit_of(parts: Parts | None = None, pair: Pair | None = None, **options: Any) -> AuditReport:
    """A small audit that leaves nothing behind."""
    wanted = {"size": SMALL, "keeps": False, "parts": parts or Parts(), **options}
    return run_audit(pair or audited_pair(), AuditOptions(**wanted))


def check_of(report: AuditReport, name: str) -> CheckResult:
    return next(check for check in report.checks if check.name == name)


def failed_names(report: AuditReport) -> set[str]:
    return {check.name for check in report.failed}


def replacing(
    kinds: tuple[type, ...], wrap: Callable[[AcceptanceRule], AcceptanceRule]
) -> Callable[[str, float], AcceptanceRule]:
    """A rule_for that wraps rules of these kinds."""

    def rule_for(name: str, temperature: float) -> AcceptanceRule:
        rule = rule_named(name, temperature)
        return wrap(rule) if isinstance(rule, kinds) else rule

    return rule_for


class SwappedRule:
    """Keeps with q/p in place of p/q."""

    checks_all = False

    def __init__(self, inner: AcceptanceRule) -> None:
        self.name = inner.name

    def decide(
        self, rows: TargetRows, proposal: Proposal, noise: Noise, round_index: int
    ) -> Decision:
        if proposal.count == 0 or proposal.probs is None:
            return RejectionRule().decide(rows, proposal, noise, round_index)
        tokens = proposal.tokens[:, None]
        p = mx.take_along_axis(rows.probs[: proposal.count], tokens, axis=-1)[:, 0]
        q = mx.take_along_axis(proposal.probs, tokens, axis=-1)[:, 0]
        coins = uploaded(noise.round(round_index).coins(proposal.count))
        kept = mx.sum(mx.cumprod((coins < q / p).astype(mx.int32)))
        draft = mx.concatenate([proposal.probs, mx.zeros_like(rows.probs[:1])])
        rest = mx.maximum(rows.probs[kept] - draft[kept], 0.0)
        residual = uploaded([noise.round(round_index).residual()])
        token, margin = draw_with_margin(rest, residual)
        return Decision(
            kept, token, margin, mx.minimum(q / p, 1.0), coins, mx.ones_like(coins), coins
        )


class PlainResidualBlockRule(BlockRule):
    """The block rule with max(0, p - q) in place of max(0, P p - q)."""

    def decide(
        self, rows: TargetRows, proposal: Proposal, noise: Noise, round_index: int
    ) -> Decision:
        decision = super().decide(rows, proposal, noise, round_index)
        if proposal.count == 0 or proposal.probs is None:
            return decision
        draft = mx.concatenate([proposal.probs, mx.zeros_like(rows.probs[:1])])
        kept = decision.num_accepted
        rest = mx.maximum(rows.probs[kept] - draft[kept], 0.0)
        residual = uploaded([noise.round(round_index).residual()])
        token, margin = draw_with_margin(rest, residual)
        return replace(decision, next_token=token, next_margin=margin)


class LateNoiseRule(CoupledRule):
    """The target's noise is keyed by the position after."""

    def decide(
        self, rows: TargetRows, proposal: Proposal, noise: Noise, round_index: int
    ) -> Decision:
        later = TargetRows(rows.scores, rows.position + 1)
        return super().decide(later, proposal, noise, round_index)


class StaleRowProposer(DraftModelProposer):
    """Reports for every guess the law of the guess before it."""

    def propose(
        self, context: list[int], lookahead: int, noise: Noise, round_index: int
    ) -> Proposal:
        proposal = super().propose(context, lookahead, noise, round_index)
        if proposal.probs is None or proposal.count < 2:
            return proposal
        rows = mx.concatenate([proposal.probs[:1], proposal.probs[:-1]])
        return replace(proposal, probs=rows)


class HotProposer(DraftModelProposer):
    """Drafts at another temperature and says so: nothing is wrong with that."""

    def begin(self, request: GenerateRequest, width: int, *rest: Any) -> None:
        hot = SamplingParams(temperature=1.7 * request.sampling.temperature)
        super().begin(replace(request, draft_sampling=hot), width, *rest)


class ForgetfulRunner(ModelRunner):
    """Takes back one token too many, and reads it again: slower, nothing else."""

    def commit(self, tokens: Any, valid: int) -> None:
        super().commit(tokens, max(valid - 1, 0))

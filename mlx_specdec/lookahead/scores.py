"""How a lookahead policy does against the best fixed lookahead and an oracle, scenario by scenario.

Three columns, on the simulated clock. *Best fixed*: all fixed lookaheads are tried on the very
texts and the fastest is kept. *Oracle*: knows where stretches begin and what each keeps on average
from any of its places at any lookahead, takes the best for it, and never loses to the best fixed
one. *Ours*: the policy, which knows neither, over replies in the order of a session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..costs.cost_table import CostTable
from ..costs.machines import CHIPS
from ..costs.pair_costs import PairCosts, published_costs
from ..ledger.latency import LatencyModel
from ..model_spec import ModelSpec
from .policy import LookaheadPolicy
from .simulated_texts import SimulatedText, TextSource
from .simulation import fixed_seconds, simulate, stretch_seconds

__all__ = [
    "LARGEST_LOSS",
    "MACHINES",
    "PROMPTS",
    "QUICK",
    "REPLIES",
    "SMALLEST_SPEEDUP",
    "WANTED_SHARE",
    "WORTHWHILE_GAP",
    "Scenario",
    "Score",
    "scenarios",
    "score",
    "simulated_costs",
]

MACHINES = ("flat", "linear", "stepped", "m1-pro", "m2-max", "m3-max", "m4-max", "m5-max")
PROMPTS = (100, 1024, 8192)
REPLIES = (30, 300, 2000)
QUICK = (("linear", "m1-pro", "m3-max"), (100, 8192), (300, 2000))
"""Machines, prompts and replies of the comparison that the tests repeat."""
_MAX_TOKENS = 2048  # what the policy is told of a reply's length
MAX_LOOKAHEAD = 8  # what the published tables price
WORTHWHILE_GAP = 0.03
WANTED_SHARE, LARGEST_LOSS, SMALLEST_SPEEDUP = 0.7, 0.015, 0.97


class Replies(Protocol):
    """A session: hands out a policy for each reply, and may remember the ones before."""

    def begin_answer(self) -> LookaheadPolicy: ...
    def end_answer(self, num_tokens: int, seconds: float) -> None: ...


MakeSession = Callable[[PairCosts], Replies]
"""From the costs that are known beforehand to a session that has seen nothing."""


@dataclass(frozen=True)
class Scenario:
    """One machine, one kind of text, one prompt length and one reply length."""

    machine: str
    source: TextSource
    prompt_length: int
    reply_length: int

    @property
    def name(self) -> str:
        return f"{self.machine} {self.source.name}, {self.prompt_length} -> {self.reply_length}"


@dataclass(frozen=True)
class Score:
    """Seconds of all replies of a scenario, from the request on: the target's reading of the
    prompt (``prefill``, the same in every column) and the draft's are in them.

    ``worst_reply`` is the smallest speedup over plain decoding of a single reply.
    """

    scenario: Scenario
    best_lookahead: int
    plain: float
    fixed: float
    oracle: float
    ours: float
    prefill: float
    worst_reply: float

    @property
    def after_prefill(self) -> Score:
        """The same without the target's reading of the prompt: a harder comparison."""
        names = ("plain", "fixed", "oracle", "ours")
        less = {name: getattr(self, name) - self.prefill for name in names}
        return replace(self, prefill=0.0, **less)

    @property
    def gap(self) -> float:
        """How much faster than the best fixed one the oracle is."""
        return self.fixed / self.oracle - 1

    @property
    def share(self) -> float:
        """The share of that gap that ours reaches, in tokens per second; 1.0 without a gap."""
        if self.oracle >= self.fixed:
            return 1.0
        return (1 / self.ours - 1 / self.fixed) / (1 / self.oracle - 1 / self.fixed)

    @property
    def loss(self) -> float:
        """How far below the best fixed one ours is, as a share of its tokens per second."""
        return 1 - self.fixed / self.ours

    @property
    def speedup(self) -> float:
        """Over plain decoding."""
        return self.plain / self.ours

    @property
    def has_gap(self) -> bool:
        return self.gap > WORTHWHILE_GAP

    @property
    def follows(self) -> bool:
        """Whether ours reaches enough of a gap, or stays close enough where there is none."""
        return self.share >= WANTED_SHARE if self.has_gap else self.loss <= LARGEST_LOSS

    @property
    def is_never_slower(self) -> bool:
        return self.speedup >= SMALLEST_SPEEDUP


def scenarios(
    sources: Iterable[TextSource],
    machines: Iterable[str] = MACHINES,
    prompts: Iterable[int] = PROMPTS,
    replies: Iterable[int] = REPLIES,
) -> Iterator[Scenario]:
    """Every combination."""
    wanted = list(sources)
    for machine in machines:
        for source in wanted:
            for prompt in prompts:
                for reply in replies:
                    yield Scenario(machine, source, prompt, reply)


def score(scenario: Scenario, make_session: MakeSession, num_tokens: int = 6000) -> Score:
    """Run all three on as many replies as ``num_tokens`` allows, three at least."""
    costs = simulated_costs(scenario.machine)
    prompt, length = scenario.prompt_length, scenario.reply_length
    texts = scenario.source.replies(length, max(3, num_tokens // length))
    totals = [
        sum(fixed_seconds(text, costs, prompt, g) for text in texts)
        for g in range(MAX_LOOKAHEAD + 1)
    ]
    best = min(range(len(totals)), key=totals.__getitem__)
    oracle = sum(_oracle_seconds(text, costs, prompt) for text in texts)
    session, each, ours = make_session(costs), prompt * costs.target_prefill_seconds, 0.0
    worst = 9.0
    for text in texts:
        policy = session.begin_answer()
        seconds = simulate(policy, text, costs, prompt, _MAX_TOKENS).reply_seconds
        session.end_answer(length, each + seconds)
        ours += seconds
        worst = min(worst, (each + fixed_seconds(text, costs, prompt, 0)) / (each + seconds))
    prefill = len(texts) * each
    columns = (totals[0], totals[best], min(oracle, totals[best]), ours)
    plain, fixed, known, own = (prefill + seconds for seconds in columns)
    return Score(scenario, best, plain, fixed, known, own, prefill, worst)


def _oracle_seconds(text: SimulatedText, costs: PairCosts, prompt_length: int) -> float:
    """Stretch by stretch; what the draft owes after a stretch without it is charged."""
    table = CostTable(costs)
    seconds = costs.cycle_seconds(0, prompt_length)
    at, owed = 1, prompt_length + 1
    ends = [*text.starts[1:], text.num_tokens]
    for end, kept in zip(ends, text.kept_by_lookahead, strict=True):
        if at >= end:
            continue
        context = prompt_length + at
        lookaheads = range(MAX_LOOKAHEAD + 1)
        rates = [(1 + kept[g]) / costs.cycle_seconds(g, context) for g in lookaheads]
        best = rates.index(max(rates))
        spent, reached = stretch_seconds(text, costs, prompt_length, best, at, end)
        spent += table.catch_up_seconds(owed, context) if best else 0.0
        owed = 1 if best else owed + reached - at
        seconds, at = seconds + spent, reached
    return seconds


def simulated_costs(machine: str) -> PairCosts:
    """``flat``, ``linear``, ``stepped``, or a chip's published table for a 14B and a 0.6B model."""
    if machine in CHIPS:
        costs = published_costs(CHIPS[machine], _TARGET, _DRAFT)
        assert costs is not None
        return costs
    price: dict[str, Callable[[int], float]] = {
        "flat": lambda m: 1.0,
        "linear": lambda m: 1 + 0.2 * (m - 1),
        "stepped": lambda m: 1 + 0.8 * ((m - 1) // 4) + 0.04 * (m > 1),
    }
    table = [(m, 0.02 * price[machine](m)) for m in range(1, MAX_LOOKAHEAD + 2)]
    return PairCosts(((0, LatencyModel.measured(table, 0.002, 0.0005)),), 0.000125, 0.00333)


_SHAPE: dict[str, Any] = {"bits": 4, "group_size": 64, "kv_heads": 8, "head_dim": 128}
_TARGET = ModelSpec(
    "qwen3-14b",
    weight_bytes=8_307_776_512,
    layers=40,
    heads=40,
    hidden_width=5120,
    vocab_size=151_936,
    **_SHAPE,
)
_DRAFT = ModelSpec(
    "qwen3-0.6b",
    weight_bytes=335_372_288,
    layers=28,
    heads=16,
    hidden_width=1024,
    vocab_size=151_936,
    tied_embeddings=True,
    **_SHAPE,
)

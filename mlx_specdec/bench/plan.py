"""What a benchmark runs: arms, workloads, repeats, and the order that is fair to all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from ..errors import InvalidRequestError
from ..settings import Settings
from .workloads import Workload

__all__ = ["PLAIN", "Arm", "BenchPlan", "Turn", "arms_named"]

Lookahead = int | Literal["auto"]


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of decoding.

    ``lookahead`` is None for plain decoding. A ``baseline`` arm is mlx-lm's own loop on the same
    weights. A ``profile`` arm waits for the device after the guesses and after the check, so that
    both are measured; its speed is not shown among the others.
    """

    name: str
    lookahead: Lookahead | None
    rule: str = "rejection"
    baseline: bool = False
    profile: bool = False

    @property
    def drafts(self) -> bool:
        return self.lookahead is not None

    @property
    def is_ours(self) -> bool:
        """Whether it drafts, in our own loop, unprofiled."""
        return self.drafts and not self.baseline and not self.profile

    def settings(self, base: Settings) -> Settings:
        """``base`` as this arm decodes."""
        if self.lookahead is None:
            return base.changed(draft=False)
        return base.changed(draft=True, lookahead=self.lookahead, rule=self.rule)


PLAIN = Arm("plain", None)


def arms_named(
    lookaheads: tuple[Lookahead, ...],
    rules: tuple[str, ...],
    baseline_lookahead: int | None,
    is_drafting: bool = True,
    is_profiled: bool = False,
    baseline_drafts: bool = True,
) -> tuple[Arm, ...]:
    """Plain decoding, every lookahead under every rule, and mlx-lm's two loops.

    Args:
        baseline_lookahead: of mlx-lm's speculative loop; None leaves mlx-lm out.
        is_drafting: False for a target alone.
        baseline_drafts: False where no model drafts; mlx-lm's loop cannot copy.
        is_profiled: the longest fixed lookahead once more, with its phases measured.
    """
    arms = [PLAIN]
    if is_drafting:
        for rule in rules:
            for lookahead in lookaheads:
                name = "auto" if lookahead == "auto" else f"lookahead {lookahead}"
                arms.append(Arm(name if len(rules) == 1 else f"{rule}, {name}", lookahead, rule))
    fixed = [arm for arm in arms if isinstance(arm.lookahead, int)]
    if is_profiled and fixed:
        longest = max(fixed, key=lambda arm: int(arm.lookahead or 0))
        arms.append(replace(longest, name=f"{longest.name}, profiled", profile=True))
    if baseline_lookahead is not None:
        arms.append(Arm("mlx-lm plain", None, baseline=True))
        if is_drafting and baseline_drafts:
            name = f"mlx-lm, {baseline_lookahead} drafted"
            arms.append(Arm(name, baseline_lookahead, "match", baseline=True))
    return tuple(arms)


@dataclass(frozen=True, slots=True)
class Turn:
    """One run to come: this arm, on this prompt, in this repeat (from 1)."""

    repeat: int
    workload: Workload
    prompt: int
    arm: Arm


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """Everything that is set before the first run.

    Args:
        settings: what all arms share; the number of tokens is the same for each of them.
        cool_down_seconds: waited before every repeat after the first.
    """

    workloads: tuple[Workload, ...]
    arms: tuple[Arm, ...]
    repeats: int = 3
    settings: Settings = field(default_factory=Settings)
    cool_down_seconds: float = 0.0

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("repeats", self.repeats, 1, 100),
            ("cool-down seconds", self.cool_down_seconds, 0, 3600),
        ):
            if not low <= value <= high:
                raise InvalidRequestError(
                    f"{name} {value} is not usable.", f"Take {low} to {high}."
                )

    @property
    def num_turns(self) -> int:
        """Timed runs in all."""
        return self.repeats * len(self.arms) * sum(len(w.prompts) for w in self.workloads)

    def turns(self) -> Iterator[Turn]:
        """Every run, in order: forwards and backwards through the arms in turn (A B, B A).

        What drifts in one direction, heat above all, then falls on every arm alike. The order
        changes from prompt to prompt and from repeat to repeat.
        """
        for repeat in range(1, self.repeats + 1):
            for workload in self.workloads:
                for prompt in range(len(workload.prompts)):
                    is_forwards = (repeat + prompt) % 2 == 1
                    for arm in self.arms if is_forwards else reversed(self.arms):
                        yield Turn(repeat, workload, prompt, arm)

"""From the names of a pair to a loaded engine, step by step, on a thread that may wait.

What the command line asks and prints is a state here, which the app polls and draws.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mlx_specdec.errors import ModelNotFoundError
from mlx_specdec.events import Event, Failed
from mlx_specdec.model_spec import ModelSpec, PairSpec
from mlx_specdec.prompts import Prompt
from mlx_specdec.settings import Settings

if TYPE_CHECKING:
    from mlx_specdec.costs.prices import Prices
    from mlx_specdec.downloads.download import Progress
    from mlx_specdec.downloads.plan import DownloadPlan
    from mlx_specdec.downloads.question import Machine
    from mlx_specdec.engine import Engine
    from mlx_specdec.registry import Registry
    from mlx_specdec.session import Session

__all__ = ["AppOpening", "Facts", "Opening", "OpeningJob", "PairRequest", "Question"]

Phase = Literal["", "looking", "asking", "downloading", "loading", "ready", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class PairRequest:
    """Which pair, and how. ``target`` None: the last one, else the best on this disk.

    Fields as the options of the command line; ``yes`` downloads without a question.
    """

    target: str | None = "tiny"
    draft: str | None = None
    kv_bits: int | None = None
    kv_group_size: int = 64
    trust_remote_code: bool = False
    extra_eos_tokens: tuple[str, ...] = ()
    yes: bool = False
    force: bool = False
    offline: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What stands before a download: its lines, and the smaller model that would run better."""

    lines: tuple[str, ...]
    better: ModelSpec | None = None
    better_key: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known once models are loaded; see AppState."""

    machine: str = ""
    power: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    context_length: int | None = None
    weight_bytes: int = 0
    memory_limit_bytes: int = 0
    kv_bytes_per_token: int = 0
    prices: Prices | None = None
    wants_measuring: bool = False


@dataclass(frozen=True, slots=True)
class Opening:
    """How far a pair is.

    Args:
        number: of the request, from 1 on; 0 before the first.
        phase: empty before anything was asked for.
        pair: once it is known which.
        stored_bytes: of its weights as they lie on the disk; 0 when not known.
        progress: of a download.
        question: while the app must ask.
        seconds: what loading took, once ready.
        note: in words, such as why the draft is missing.
    """

    number: int = 0
    phase: Phase = ""
    pair: PairSpec | None = None
    stored_bytes: int = 0
    progress: Progress | None = None
    question: Question | None = None
    failure: Failed | None = None
    engine: Engine | None = None
    facts: Facts = field(default_factory=Facts)
    seconds: float = 0.0
    note: str = ""


class OpeningJob:
    """One request on its way; ``state`` may be read from any thread."""

    def __init__(
        self, request: PairRequest, number: int, before_load: Callable[[], None] = lambda: None
    ) -> None:
        self.state = Opening(number, "looking")
        self._request = request
        self._before_load = before_load
        self._cancelled = threading.Event()
        self._answered = threading.Event()
        self._answer = ""

    def cancel(self) -> None:
        """End a question or a download at once, a loading as soon as it is through."""
        self._cancelled.set()
        self._answered.set()

    def answer(self, choice: str) -> None:
        """``download``, ``better`` or ``quit``."""
        self._answer = choice
        self._answered.set()

    def fail(self, failure: Failed) -> None:
        """Keep what went wrong."""
        phase: Phase = "cancelled" if self._cancelled.is_set() else "failed"
        self._set(phase=phase, failure=failure, question=None, progress=None)

    def run(self, is_cancelled: Callable[[], bool]) -> Iterator[Event]:
        """The job for the opener's thread; yields nothing.

        Raises:
            SpecdecError: whatever stands in the way.
        """
        from mlx_specdec.registry import Registry

        if self._request.offline:
            os.environ["HF_HUB_OFFLINE"] = "1"
        registry = Registry.load()
        pair = self._on_disk(self._wanted(registry), registry)
        if pair is None or self._cancelled.is_set():
            self._set(phase="cancelled", question=None, progress=None)
            return
        self._load(pair)
        yield from ()

    def _set(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]

    def _wanted(self, registry: Registry) -> PairSpec:
        wanted = self._request
        if wanted.target is not None:
            return registry.resolve_pair(wanted.target, wanted.draft)
        from mlx_specdec.pair_choice import choose_pair, pair_to_fetch
        from mlx_specdec.this_machine import can_run, this_machine

        machine = this_machine()
        choice = choose_pair(registry, machine, can_run)
        if choice is None:
            suits = pair_to_fetch(registry, machine, can_run)
            raise ModelNotFoundError(
                f"There is no model on this disk to talk with; {suits.name} would suit this "
                "machine.",
                "Press m for the list: it asks before it downloads. The built-in toy is there too.",
            )
        if choice.missing_draft:
            target = choice.pair.target.alias
            self._set(
                note=f"not drafting: {choice.missing_draft}, the draft of {target}, is not on "
                "this disk"
            )
        if wanted.draft is not None:
            return registry.resolve_pair(choice.pair.target.alias, wanted.draft)
        return choice.pair

    def _on_disk(self, pair: PairSpec, registry: Registry) -> PairSpec | None:
        from mlx_specdec.locate import locate

        self._set(pair=pair, stored_bytes=_stored(pair))
        if not pair.target.built_in and not self._request.force:
            from mlx_specdec.this_machine import check_speed

            check_speed(pair.target, registry)
        if all((found := locate(spec)) is not None and found.complete for spec in pair.specs):
            return pair
        from mlx_specdec.downloads.plan import download_plan

        while True:
            plan = download_plan(pair.specs)
            plan.check_disk()
            choice = "download" if self._request.yes or plan.complete else self._ask(plan, registry)
            better = self.state.question.better if self.state.question else None
            if choice == "better" and better is not None:
                pair = registry.resolve_pair(better.alias, self._request.draft)
                self._set(pair=pair, stored_bytes=_stored(pair), question=None)
                continue
            self._set(question=None)
            return self._downloaded(pair, plan) if choice == "download" else None

    def _ask(self, plan: DownloadPlan, registry: Registry) -> str:
        self._answered.clear()
        self._set(phase="asking", question=_question(plan, registry))
        if not self._cancelled.is_set():
            self._answered.wait()
        return "quit" if self._cancelled.is_set() else self._answer

    def _downloaded(self, pair: PairSpec, plan: DownloadPlan) -> PairSpec:
        from mlx_specdec.downloads.download import download

        self._set(phase="downloading")
        download(plan, lambda progress: self._set(progress=progress), cancel=self._cancelled)
        return pair

    def _load(self, pair: PairSpec) -> None:
        self._set(phase="loading", progress=None)
        from mlx_specdec.engine import load
        from mlx_specdec.last_pair import draft_name, spec_name

        self._before_load()
        wanted, began = self._request, time.perf_counter()
        engine = load(
            spec_name(pair.target),
            draft_name(pair),
            kv_bits=wanted.kv_bits,
            kv_group_size=wanted.kv_group_size,
            trust_remote_code=wanted.trust_remote_code,
            extra_eos_tokens=wanted.extra_eos_tokens,
        )
        if self._cancelled.is_set():
            engine.close()
            self._set(phase="cancelled")
            return
        seconds = time.perf_counter() - began
        self._set(phase="ready", engine=engine, facts=_facts(engine, pair), seconds=seconds)


def _stored(pair: PairSpec) -> int:
    return sum(spec.weight_bytes for spec in pair.specs)


def _question(plan: DownloadPlan, registry: Registry) -> Question:
    from mlx_specdec.costs.machines import published_forecast
    from mlx_specdec.downloads.question import DEFAULT_CONTEXT, better_here, question_lines
    from mlx_specdec.memory import fits
    from mlx_specdec.this_machine import this_machine

    machine = this_machine()
    target = plan.models[0].spec
    draft = plan.models[1].spec if len(plan.models) > 1 else None
    need = fits(target, draft, DEFAULT_CONTEXT, machine.limit_bytes)
    chip = machine.chip
    forecast = published_forecast(chip, target, draft, DEFAULT_CONTEXT) if chip else None
    better = better_here(registry, target, machine)
    lines = tuple(question_lines(plan, machine, need, forecast, better))
    if better is None:
        return Question(lines)
    return Question(lines, better.spec, better.key)


def _facts(engine: Engine, pair: PairSpec) -> Facts:
    from mlx_specdec.this_machine import machine_label, power_source, this_machine, versions

    session = engine.session
    return Facts(
        machine_label(),
        power_source(),
        versions(),
        session.context_length,
        session.room.weight_bytes,
        session.room.limit_bytes,
        session.room.kv_bytes_per_token,
        _prices(pair, this_machine()),
        _wants_measuring(session),
    )


def _wants_measuring(session: Session) -> bool:
    """Whether drafting is priced here without a calibration of just these models."""
    from mlx_specdec.costs.known_costs import calibration_key
    from mlx_specdec.costs.store import load_calibration

    if session.pair.draft is None:
        return False
    kept = load_calibration(calibration_key(session.pair, session.kv_bits))
    return kept is None or not kept.is_usable


def _prices(pair: PairSpec, machine: Machine) -> Prices | None:
    """What is known of a pass here; timed shapes know one context, a calibration all.

    The published tables are of models a thousand times as large as the built-in pair.
    """
    from mlx_specdec.costs.prices import Prices
    from mlx_specdec.costs.prices_here import prices_here

    found = prices_here(pair, machine)
    if found is None or (pair.target.built_in and found.source != "measured"):
        return None
    if isinstance(found, Prices):
        return found
    return Prices(found.model, "measured", found.words)


@dataclass(frozen=True, slots=True)
class AppOpening:
    """With what the app begins: what the command line asked for.

    Args:
        screen: race or chat.
        request: which models; None opens none (a replay needs none).
        prompt: of the race; None takes the one that suits the pair.
        race_settings, settings: of races and of the chat's replies; None takes the defaults.
        is_temperature_set: the person asked for the race's temperature, so a toy keeps it.
        system: what the model is told beforehand.
        template_options: for the chat template.
        replay: a recording's file to show instead of racing.
        record: a file that every finished race is written to.
        chip: the chip whose published costs re-time what is shown; empty for the real clock.
        speed: race seconds a second, or None for what suits the race.
        is_looping: race again and again, through the built-in prompts.
        measures_when_idle: time the passes of a pair by itself while nobody wants anything.
        more: options of other screens, by name.
    """

    screen: str = "race"
    request: PairRequest | None = field(default_factory=PairRequest)
    prompt: Prompt | None = None
    race_settings: Settings | None = None
    settings: Settings | None = None
    is_temperature_set: bool = False
    system: str = ""
    template_options: Mapping[str, object] = field(default_factory=dict)
    replay: Path | None = None
    record: Path | None = None
    chip: str = ""
    speed: float | None = None
    is_looping: bool = False
    measures_when_idle: bool = True
    more: Mapping[str, object] = field(default_factory=dict)

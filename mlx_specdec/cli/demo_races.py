"""The races of ``demo`` without a screen: one prompt several times, or the prompts in a loop."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ..conversation import Conversation
from ..costs.machines import Chip
from ..engine import Engine
from ..figures import acceptance, rate, times
from ..forecast.own_run import foretell, settle
from ..model_spec import PairSpec
from ..prompts import PROMPTS, Prompt
from ..race.demo import run_demo
from ..race.demo_result import DemoResult, demo_result
from ..race.demo_words import Circumstances
from ..race.header import race_header
from ..race.race import race_recording
from ..race.recording import Recording, write_recording_file
from ..race.retiming import retimed, retimed_label
from ..race.scoreboard import Scoreboard, scoreboard_lines
from ..settings import Settings
from ..this_machine import machine_label, power_source, versions
from .demo_report import demo_document, show_demo
from .race_options import RaceOptions
from .terminal import Terminal

__all__ = ["Conditions", "Raced", "loop", "raced"]


@dataclass(frozen=True)
class Conditions:
    """What every race of one command shares."""

    engine: Engine
    pair: PairSpec
    settings: Settings
    system: str = ""
    template_options: Mapping[str, Any] | None = None

    def tokens(self, prompt: Prompt) -> list[int]:
        """The prompt's token ids; made on the engine's thread."""
        conversation = Conversation(self.system, template_options=dict(self.template_options or {}))
        conversation.say("user", prompt.text)
        return self.engine.thread.call(
            lambda: conversation.prompt_tokens(self.engine.pair.tokenizer, self.settings.think)
        )


@dataclass(frozen=True)
class Raced:
    """Races of one prompt and what they came to."""

    conditions: Conditions
    prompt: Prompt
    result: DemoResult
    where: Circumstances

    def show(self, terminal: Terminal) -> None:
        show_demo(terminal, self.result, self.conditions.settings, self.prompt, self.where)

    def document(self) -> dict[str, Any]:
        """The whole result for JSON."""
        settings, pair = self.conditions.settings, self.conditions.engine.pair
        return demo_document(self.result, settings, self.prompt, self.where, pair)


def raced(
    terminal: Terminal, conditions: Conditions, prompt: Prompt, options: RaceOptions
) -> Raced:
    """Race one prompt as often as asked for; the race with the median speedup is recorded.

    Raises:
        SpecdecError: what went wrong in a race, or a recording that cannot be written.
    """
    pair, settings = conditions.pair, conditions.settings
    machine, power, known = machine_label(), power_source(), versions()
    tokens = conditions.tokens(prompt)
    header = race_header(
        pair,
        settings,
        prompt,
        machine=machine,
        power=power,
        versions=known,
        date=datetime.now(UTC),
    )
    said = foretell(pair, settings, prompt, len(tokens))

    def on_run(run: int) -> None:
        terminal.begin(f"{'warming up' if run == 1 else ''}, race {run} of {options.runs}")

    result = run_demo(conditions.engine, tokens, settings, options.runs, on_run, header)
    terminal.begin("\n\n")
    plain, fast = result.standard.metrics, result.speculative.metrics
    scored = settle(said, pair, settings, prompt, plain, fast, result.speedup)
    if options.record is not None and result.race is not None:
        write_recording_file(options.record, result.race)
        terminal.note(f"kept as {options.record}")
    label = ""
    if options.chip is not None:
        again = [retimed(race, options.chip) for race in result.races]
        result, label = demo_result(again), retimed_label(again[0].header)
    where = Circumstances(pair, machine, power, known["mlx"], prompt.id, options.runs)
    return Raced(conditions, prompt, result, replace(where, forecast=scored, retimed=label))


def loop(
    terminal: Terminal, conditions: Conditions, prompt: Prompt | None, chip: Chip | None
) -> int:
    """Race until Ctrl-C, then print the scoreboard of what is finished; 0.

    Args:
        prompt: None takes the built-in ones that suit the pair, in turn.

    Raises:
        KeyboardInterrupt: before the first race was finished.
    """
    is_toy = bool(conditions.pair.target.built_in)
    fitting = [each for each in PROMPTS if each.for_toy == is_toy]
    prompts = itertools.cycle([prompt] if prompt is not None else _by_turns(fitting))
    board = Scoreboard()
    terminal.note("races go on until Ctrl-C; then the scoreboard by kind of text")
    count = 0
    try:
        for count, each in enumerate(prompts):
            race = _race(conditions, each, is_first=count == 0)
            if chip is not None:
                race = retimed(race, chip)
            if count == 0 and race.header.retimed:
                terminal.line(retimed_label(race.header), "bold")
            result = demo_result([race])
            board.add(each.kind, result.speedup)
            terminal.line(_race_line(each, result))
    except KeyboardInterrupt:
        if count == 0:
            raise
    terminal.line()
    for line in scoreboard_lines(board.rows()):
        terminal.line(line)
    return 0


def _by_turns(prompts: list[Prompt]) -> list[Prompt]:
    """So that after a few races every kind has had its first."""
    kinds: dict[str, list[Prompt]] = {}
    for prompt in prompts:
        kinds.setdefault(prompt.kind, []).append(prompt)
    columns = itertools.zip_longest(*kinds.values())
    return [prompt for column in columns for prompt in column if prompt is not None]


def _race(conditions: Conditions, prompt: Prompt, is_first: bool) -> Recording:
    header = race_header(conditions.pair, conditions.settings, prompt)
    tokens = conditions.tokens(prompt)
    engine, settings = conditions.engine, conditions.settings
    return race_recording(engine, tokens, settings, header, warm_up=is_first)


def _race_line(prompt: Prompt, result: DemoResult) -> str:
    plain, fast = result.standard.metrics, result.speculative.metrics
    rates = f"{rate(plain.tokens_per_second)} -> {rate(fast.tokens_per_second)} tok/s"
    found = result.difference
    texts = "same words" if found is None else f"different from token {found.index + 1}"
    name = prompt.id or prompt.kind
    return f"{name:<12}{times(result.speedup):>6}  {rates:<24}{acceptance(fast):<26}{texts}"

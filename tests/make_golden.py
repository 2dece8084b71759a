"""Makes the recordings in tests/golden: three invented races, and one that the built-in pair ran.

    python -m tests.make_golden           the invented ones: the same files every time
    python -m tests.make_golden tiny      race_tiny.jsonl anew, from a real race on this machine

The invented scenario is an M3 Pro with Qwen3-14B and Qwen3-0.6B in 4 bits: passes of 65 ms over
one row and 82.4 ms over four, 3.9 ms for each guess.
"""

from __future__ import annotations

import random
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from mlx_specdec.events import Check, Emitted, Event, Finished, Prefilled, Proposed, Round, Timings
from mlx_specdec.race.recording import Recording, RecordingHeader, write_recording

FOLDER = Path(__file__).parent / "golden"
NUM_TOKENS = 160
PROMPT_TOKENS = 18
LOOKAHEAD = 3

TEXT = (
    "Sunlight looks white, but it is a mix of all colours, and each colour travels as a wave of a "
    "different length. When the light enters the atmosphere it meets molecules of nitrogen and "
    "oxygen, which are far smaller than those waves. Such small obstacles scatter short waves much "
    "more strongly than long ones: the strength grows with the fourth power of the frequency, so "
    "blue is scattered about four times as much as red. The blue light is therefore sent in every "
    "direction and reaches our eyes from all over the sky, while the red passes almost straight "
    "through. At sunset the light crosses far more air, the blue is lost on the way, and what is "
    "left looks orange and red."
)
OTHER_END = (
    " evening the sun stands low, its light has to cross a much longer way through the air, the "
    "blue is lost on that way, and the red and the orange are what remains of it for us."
)
MISSES = (" the", " a", " and", " light", " of", " very", " in", " is", " which", " because")
# Guesses kept in each round: 60 rounds, 99 kept of 136 that were checked.
FIRST_KEPT = (3, 1, 2, 0, 3, 3, 1, 2, 0, 1, 3, 2, 0, 3, 1, 2)
REST_KEPT = (0,) * 12 + (1,) * 10 + (2,) * 4 + (3,) * 17

M3_PRO = RecordingHeader(
    target="qwen3-14b",
    draft="qwen3-0.6b",
    target_size="14B",
    draft_size="0.6B",
    quantization="4-bit",
    machine="M3 Pro 36 GB",
    chip="m3-pro",
    power="mains",
    versions={"mlx-specdec": "0.1.0", "mlx": "0.32.4", "mlx-lm": "0.32.2"},
    prompt_id="explain-2",
    prompt="Why is the sky blue? Explain it in about 120 words.",
    rule="coupled",
    lookahead="3 auto",
    seed=1,
    max_tokens=NUM_TOKENS,
    date="2026-10-01T12:00:00+00:00",
)


@dataclass(frozen=True)
class Costs:
    """Seconds of one machine: the prompt, a pass over one row, one over all guesses, a guess."""

    prefill: float = 0.355
    plain: float = 0.065
    verify: float = 0.0824
    draft: float = 0.0039
    host: float = 0.00135
    lost: float = 0.0002


def pieces(text: str, count: int) -> list[str]:
    """A text as ``count`` tokens: words with the space before them, the longest cut in two."""
    found = re.findall(r" ?\w+|[^\w\s]", text)
    while len(found) < count:
        index = max(range(len(found)), key=lambda i: len(found[i]))
        word = found[index]
        found[index : index + 1] = [word[: len(word) // 2], word[len(word) // 2 :]]
    return found[:count]


class Scenario:
    """Both lanes of an invented race."""

    def __init__(self, costs: Costs, seed: int = 7) -> None:
        self.costs = costs
        self.rng = random.Random(seed)
        self.ids: dict[str, int] = {}

    def token(self, text: str) -> int:
        return self.ids.setdefault(text, 1000 + len(self.ids))

    def emitted(self, text: str, kind: str) -> Emitted:
        return Emitted(self.token(text), text, kind, round(self.rng.uniform(0.4, 9), 3))

    def begun(self) -> list[Event]:
        """The prompt is read; the first token comes one pass later."""
        prefill = self.costs.prefill
        return [Prefilled(PROMPT_TOKENS, 0, prefill, prefill)]

    def plain_round(self, index: int, text: str, at: float, note: str = "") -> Round:
        return Round(
            index=index,
            position=PROMPT_TOKENS + index,
            lookahead=0,
            proposed=(),
            checks=(),
            num_accepted=0,
            emitted=(self.emitted(text, "sampled"),),
            timings=Timings(0.0004, self.costs.plain - 0.0008, 0.0003),
            at=round(at, 5),
            note=note,
        )

    def standard(self, words: list[str], note: str = "") -> tuple[Event, ...]:
        """One pass a token; ``note`` says why a lane that would draft does not."""
        events = self.begun()
        at = self.costs.prefill
        for index, text in enumerate(words):
            at += self.costs.plain
            events.append(self.plain_round(index, text, at, note if index else ""))
        return (*events, Finished("length", round(at, 5)))

    def speculative(self, words: list[str], kept: list[int]) -> tuple[Event, ...]:
        """One round for each entry of ``kept``."""
        costs = self.costs
        events = self.begun()
        at = costs.prefill + costs.plain
        events.append(self.plain_round(0, words[0], at))
        place = 1
        for index, count in enumerate(kept, 1):
            at += costs.verify + LOOKAHEAD * costs.draft + costs.host + costs.lost
            events.append(self.drafted_round(index, words, place, count, at))
            place += count + 1
        assert place == len(words), (place, len(words))
        return (*events, Finished("length", round(at, 5)))

    def drafted_round(
        self, index: int, words: list[str], place: int, kept: int, at: float
    ) -> Round:
        right = words[place : place + LOOKAHEAD]
        guesses = [*right[:kept]]
        while len(guesses) < LOOKAHEAD:
            wanted = right[len(guesses)] if len(guesses) == kept else ""
            guesses.append(self.rng.choice([word for word in MISSES if word != wanted]))
        missed = kept < LOOKAHEAD
        checks = tuple(
            Check(float(self.token(words[place + i])), float(self.token(guesses[i])), i < kept)
            for i in range(min(kept + 1, LOOKAHEAD))
        )
        proposed = tuple(self.proposed(text, i, kept) for i, text in enumerate(guesses))
        emitted = [self.emitted(text, "accepted") for text in right[:kept]]
        emitted.append(self.emitted(words[place + kept], "recovered" if missed else "bonus"))
        costs = self.costs
        build, after = 0.0007, 0.00065
        return Round(
            index=index,
            position=PROMPT_TOKENS + place,
            lookahead=LOOKAHEAD,
            proposed=proposed,
            checks=checks,
            num_accepted=kept,
            emitted=tuple(emitted),
            timings=Timings(build, costs.verify + LOOKAHEAD * costs.draft, after),
            at=round(at, 5),
            draft_top_probs=tuple(each.draft_prob or 0.0 for each in proposed),
            draft_tokens_read=LOOKAHEAD,
        )

    def proposed(self, text: str, index: int, kept: int) -> Proposed:
        low, high = (0.55, 0.99) if index < kept else (0.02, 0.3)
        draft = self.rng.uniform(0.35, 0.98)
        target = self.rng.uniform(low, high)
        return Proposed(self.token(text), text, round(target, 3), round(draft, 3))


def kept_guesses() -> list[int]:
    rest = list(REST_KEPT)
    random.Random(3).shuffle(rest)
    return [*FIRST_KEPT, *rest, 3]


def fable() -> Recording:
    """1.80 times: 15.4 against 27.7 tokens a second."""
    scenario, words = Scenario(Costs()), pieces(TEXT, NUM_TOKENS)
    standard = scenario.standard(words)
    return Recording(M3_PRO, standard, scenario.speculative(words, kept_guesses()))


def different() -> Recording:
    """The same race, in which the texts part near the end: two scores nearly equal."""
    scenario, words = Scenario(Costs()), pieces(TEXT, NUM_TOKENS)
    part = words.index(" sunset")
    rest = pieces(OTHER_END, NUM_TOKENS - part)
    recording = Recording(
        M3_PRO,
        scenario.standard(words),
        scenario.speculative([*words[:part], *rest], kept_guesses()),
    )
    events = list(recording.standard)
    event = events[part + 1]
    assert isinstance(event, Round)
    events[part + 1] = replace(event, emitted=(replace(event.emitted[0], margin=0.02),))
    return replace(recording, standard=tuple(events))


def parked() -> Recording:
    """An M2, where a pass over two rows costs 1.7 of one: nothing is drafted."""
    header = replace(
        M3_PRO, target="qwen3-4b", target_size="4B", machine="M2 16 GB", chip="m2", lookahead="auto"
    )
    scenario = Scenario(Costs(prefill=0.21, plain=0.0303))
    words = pieces(TEXT, NUM_TOKENS)
    standard = scenario.standard(words)
    note = "a pass over 2 rows costs 1.7 of one here"
    return Recording(header, standard, scenario.standard(words, note))


def tiny() -> Recording:
    """A race of the built-in pair, with what is a matter of this machine left out."""
    from mlx_specdec.engine import load
    from mlx_specdec.prompts import prompt_named
    from mlx_specdec.settings import Settings, settings_from

    prompt = prompt_named("prose-1")
    assert prompt is not None
    base = settings_from(
        Settings(max_tokens=128, rule="coupled", seed=11, lookahead=3), temperature=0.7
    )
    lanes = {}
    with load("tiny") as engine:
        for wanted in (base.changed(max_tokens=8), base):
            for draft in (False, True):
                engine.thread.call(engine.session.clear)
                stream = engine.answer(prompt.text, wanted.changed(draft=draft))
                lanes[draft] = tuple(stream.events())
    header = RecordingHeader(
        target="tiny",
        draft="tiny-draft",
        target_size="10M",
        draft_size="0.7M",
        quantization="4-bit",
        machine="Linux, 2 cores",
        versions=M3_PRO.versions,
        prompt_id=prompt.id,
        prompt=prompt.text,
        temperature=0.7,
        rule="coupled",
        lookahead=str(base.lookahead),
        seed=base.seed,
        max_tokens=base.max_tokens,
        is_toy=True,
        date=M3_PRO.date,
    )
    return Recording(header, lanes[False], lanes[True])


INVENTED = {"race_fable": fable, "race_different": different, "race_parked": parked}


def save(name: str, recording: Recording) -> None:
    with (FOLDER / f"{name}.jsonl").open("w", encoding="utf-8") as stream:
        write_recording(stream, recording)


def main() -> None:
    if sys.argv[1:] == ["tiny"]:
        save("race_tiny", tiny())
        return
    for name, make in INVENTED.items():
        save(name, make())


if __name__ == "__main__":
    main()

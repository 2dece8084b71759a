"""Time our decoders against mlx-lm's, in alternation in one process, and print medians and ratios.

The first figure is the speed of our plain decoder by mlx-lm's. Arms: our plain decoder, mlx-lm's
generate_step, ours speculative under rejection and block, mlx-lm's speculative_generate_step.
Same prompts, same number of tokens, end tokens ignored. The time per token counts from the first
round's tokens to the last's (of speculation from the first drafted round's, in which the draft
reads the prompt); tokens per target pass likewise. Beside them stand, measured on the plain text,
the mean over positions of sum min(p, q), which rejection sampling accepts, and of sum p*q, which
matching a sample accepts.

    python scripts/bench_decoders.py                       the built-in pair
    python scripts/bench_decoders.py --target FOLDER --draft FOLDER --kinds explain
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any

import mlx_specdec
from mlx_specdec.answer import Answer
from mlx_specdec.backend import blas_status, device_description, mx, read_floats
from mlx_specdec.distributions import History, log_probs
from mlx_specdec.events import Round
from mlx_specdec.forward import ModelRunner
from mlx_specdec.generation import Generation
from mlx_specdec.prompts import PROMPTS
from mlx_specdec.proposers.draft_model import DraftModelProposer
from mlx_specdec.request import GenerateRequest, SamplingParams
from mlx_specdec.session import Session
from mlx_specdec.speculative import SpeculativeDecoder
from mlx_specdec.standard import StandardDecoder

ARMS = ("plain", "mlx-lm plain", "rejection", "block", "mlx-lm speculative")


@dataclass
class Sample:
    """One run: seconds per token, tokens per target pass, the token ids."""

    seconds_per_token: float
    tokens_per_pass: float
    tokens: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Setting:
    """One row of the table: a law and a seed."""

    temperature: float
    top_p: float
    lookahead: int
    num_tokens: int
    seed: int = 0

    @property
    def sampling(self) -> SamplingParams:
        return SamplingParams(temperature=self.temperature, top_p=self.top_p)


def ours(session: Session, prompt: list[int], setting: Setting, rule: str | None) -> Sample:
    """One run of ours from empty caches; ``rule`` None decodes plainly."""
    request = GenerateRequest(
        tuple(prompt),
        setting.sampling,
        max_tokens=setting.num_tokens,
        lookahead=setting.lookahead,
        rule=rule or "rejection",
        seed=setting.seed,
        ignore_eos=True,
    )
    pair = session.pair
    answer = Answer(request, pair.tokenizer, pair.eos_token_ids, pair.target.context_length)
    generation = Generation(request, answer, session.width)
    target = ModelRunner(pair.target)
    decoder: StandardDecoder | SpeculativeDecoder = StandardDecoder(target)
    if rule is not None:
        assert pair.draft is not None
        decoder = SpeculativeDecoder(target, DraftModelProposer(ModelRunner(pair.draft)))
    rounds = [event for event in decoder.generate(generation) if isinstance(event, Round)]
    first = 0 if rule is None else 1  # mlx-lm reads the prompt into the draft in its first round
    later = rounds[first + 1 :]
    tokens = sum(len(event.emitted) for event in later)
    seconds = rounds[-1].at - rounds[first].at
    return Sample(seconds / tokens, tokens / len(later), answer.emitted)


def theirs(session: Session, prompt: list[int], setting: Setting, is_speculative: bool) -> Sample:
    """One run of mlx-lm from empty caches."""
    from mlx_lm.generate import generate_step, speculative_generate_step
    from mlx_lm.sample_utils import make_sampler

    mx.random.seed(setting.seed)
    top_p = setting.top_p if setting.top_p < 1 else 0.0
    sampler = make_sampler(setting.temperature, top_p=top_p)
    pair = session.pair
    ids = mx.array(prompt)
    steps: Iterator[Any]
    if is_speculative:
        assert pair.draft is not None
        steps = speculative_generate_step(
            ids,
            pair.target.model,
            pair.draft.model,
            num_draft_tokens=setting.lookahead,
            max_tokens=setting.num_tokens,
            sampler=sampler,
        )
    else:
        steps = generate_step(
            ids, pair.target.model, max_tokens=setting.num_tokens, sampler=sampler
        )
    tokens: list[int] = []
    ends: list[tuple[int, float]] = []  # tokens so far and the time, at the end of every pass
    for step in steps:
        tokens.append(int(step[0]))
        if not is_speculative or not step[2]:
            ends.append((len(tokens), time.perf_counter()))
    (first, began), (last, ended) = ends[0], ends[-1]
    return Sample((ended - began) / (last - first), (last - first) / (len(ends) - 1), tokens)


def overlap(
    session: Session, prompt: list[int], tokens: list[int], setting: Setting
) -> tuple[float, float]:
    """Mean over the text's positions of sum min(p, q) and of sum p*q, under the setting's law."""
    params = setting.sampling if setting.temperature > 0 else SamplingParams(temperature=1.0)
    laws = []
    for model in (session.pair.target, session.pair.draft):
        assert model is not None
        logits = ModelRunner(model).extend(prompt + tokens[:-1])[len(prompt) - 1 :]
        laws.append(mx.exp(log_probs(logits, params, History(prompt), session.width)))
    p, q = laws
    both = mx.stack([mx.minimum(p, q).sum(-1).mean(), (p * q).sum(-1).mean()])
    shared, matched = read_floats(both)
    return shared, matched


def chained_seconds(runner: ModelRunner, prompt: list[int], count: int) -> float:
    """Seconds per one-row pass in a chain of ``count``, each queued on the last, one read."""
    runner.align(prompt)
    token = mx.array([5], dtype=mx.int32)
    began = time.perf_counter()
    for _ in range(count):
        token = mx.argmax(runner.extend([], token), axis=-1).astype(mx.int32)
        mx.async_eval(token)
    mx.eval(token)
    return (time.perf_counter() - began) / count


def pass_ratios(session: Session, prompt: list[int]) -> dict[int, float]:
    """How many times as long the target's pass takes as the draft's, by length of the chain."""
    assert session.pair.draft is not None
    runners = [ModelRunner(model) for model in (session.pair.target, session.pair.draft)]
    for runner in runners:
        runner.prefill(prompt, len(prompt))
        runner.cache.evaluate()
    ratios: dict[int, float] = {}
    for count in (1, 4, 16):
        times = [[chained_seconds(r, prompt, count) for r in runners] for _ in range(30)]
        ratios[count] = median(t for t, _ in times[5:]) / median(d for _, d in times[5:])
    return ratios


def arms_for(session: Session, prompt: list[int]) -> dict[str, Callable[[Setting], Sample]]:
    return {
        "plain": lambda setting: ours(session, prompt, setting, None),
        "mlx-lm plain": lambda setting: theirs(session, prompt, setting, False),
        "rejection": lambda setting: ours(session, prompt, setting, "rejection"),
        "block": lambda setting: ours(session, prompt, setting, "block"),
        "mlx-lm speculative": lambda setting: theirs(session, prompt, setting, True),
    }


def measure(
    session: Session, prompt: list[int], setting: Setting, runs: int
) -> dict[str, list[Sample]]:
    """``runs`` samples of every arm, in alternation, forwards and backwards; one warm-up."""
    arms = arms_for(session, prompt)
    samples: dict[str, list[Sample]] = {name: [] for name in arms}
    for run in range(runs + 1):
        for name in ARMS if run % 2 else reversed(ARMS):
            seeded = Setting(
                setting.temperature, setting.top_p, setting.lookahead, setting.num_tokens, run
            )
            sample = arms[name](seeded)
            if run:
                samples[name].append(sample)
    return samples


def times_as_fast(samples: list[Sample], plain: list[Sample]) -> float:
    """Median of the ratios run by run, which a machine that drifts disturbs least."""
    pairs = zip(samples, plain, strict=True)
    return median(p.seconds_per_token / s.seconds_per_token for s, p in pairs)


def passes(samples: list[Sample]) -> float:
    return mean(sample.tokens_per_pass for sample in samples)


def table(session: Session, options: argparse.Namespace) -> None:
    """One line a setting and kind of text, then the mean over kinds of every setting."""
    print(
        "temp top-p kind       plain speed  | speedup over our plain: rejection block mlx-lm "
        "| tokens a pass: rejection block mlx-lm | sum min(p,q) sum pq"
    )
    for temperature in options.temps:
        for top_p in options.top_ps:
            if temperature == 0 and top_p < 1:
                continue
            setting = Setting(temperature, top_p, options.lookahead, options.tokens)
            rows = []
            for kind in options.kinds:
                row = one_kind(session, kind, setting, options)
                rows.append(row)
                print(line(setting, kind, row), flush=True)
            print(line(setting, "mean", [mean(column) for column in zip(*rows, strict=True)]))


def one_kind(
    session: Session, kind: str, setting: Setting, options: argparse.Namespace
) -> list[float]:
    """The figures of one kind of text, means over its prompts of medians over runs."""
    rows = []
    for prompt in [prompt for prompt in PROMPTS if prompt.kind == kind][: options.prompts]:
        tokens = session.chat_tokens(prompt.text, think=False)
        samples = measure(session, tokens, setting, options.runs)
        plain = samples["plain"]
        both = [overlap(session, tokens, s.tokens, setting) for s in plain]
        rows.append(
            [
                1 / times_as_fast(samples["mlx-lm plain"], plain),
                *(times_as_fast(samples[name], plain) for name in ARMS[2:]),
                *(passes(samples[name]) for name in ARMS[2:]),
                mean(b[0] for b in both),
                mean(b[1] for b in both),
            ]
        )
    return [mean(column) for column in zip(*rows, strict=True)]


def line(setting: Setting, kind: str, row: list[float]) -> str:
    speeds = " ".join(f"{value:9.2f}" for value in row[1:4])
    counts = " ".join(f"{value:9.2f}" for value in row[4:7])
    return (
        f"{setting.temperature:4} {setting.top_p:5} {kind:10} {row[0]:12.3f} | {speeds} | "
        f"{counts} | {row[7]:9.3f} {row[8]:9.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", default="tiny")
    parser.add_argument("--draft")
    parser.add_argument("--kinds", nargs="+", default=["meaning", "code", "prose"])
    parser.add_argument("--prompts", type=int, default=2, help="of each kind")
    parser.add_argument("--temps", type=float, nargs="+", default=[0.0, 0.7, 1.0])
    parser.add_argument("--top-ps", type=float, nargs="+", default=[1.0, 0.95])
    parser.add_argument("--lookahead", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with mlx_specdec.load(options.target, options.draft) as engine:
        print(f"{device_description()}; {blas_status().message}; lookahead {options.lookahead}, ")
        print(f"{options.tokens} tokens, medians of {options.runs} runs in alternation")
        engine.thread.call(lambda: table(engine.session, options))
        prompt = engine.thread.call(lambda: engine.session.chat_tokens(PROMPTS[0].text))
        ratios = engine.thread.call(lambda: pass_ratios(engine.session, prompt))
    for count, ratio in ratios.items():
        print(f"target pass / draft pass, one row, chains of {count}: {ratio:.1f}")


if __name__ == "__main__":
    main()

"""Record where a draft's guesses equal its target's text: the traces of the lookahead simulation.

    .venv/bin/python scripts/record_traces.py             the built-in pair, and SmolLM2 if fetched
    .venv/bin/python scripts/record_traces.py --pair tiny

The target answers prompts plainly; the draft then reads each whole answer in one go and says, for
every position, what it would have guessed there. At temperature 0, and at a temperature with
shared noise, that is exactly what drafting from any earlier position would have proposed, as long
as everything before was kept. ``hits`` holds 1 where the guess is the target's token.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from mlx_specdec.backend import mx
from mlx_specdec.distributions import History, scaled_scores
from mlx_specdec.engine import Engine, load
from mlx_specdec.events import Round
from mlx_specdec.noise import KeyedNoise
from mlx_specdec.prompts import PROMPTS, Prompt
from mlx_specdec.request import SamplingParams
from mlx_specdec.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
TRACES = ROOT / "tests" / "golden" / "traces"
CACHE = Path.home() / ".cache" / "mlx-specdec"
PAIRS = {
    "tiny": ("tiny", "tiny-draft", 0.7, True),
    "smollm2": (str(CACHE / "smollm2-135m"), str(CACHE / "smollm2-135m-q4"), 0.0, False),
}
SEED = 11
ROWS = 128  # positions whose scores are held at once


def recorded(engine: Engine, tokens: list[int], settings: Settings) -> str:
    """The hits of one answer, as a string of 0 and 1."""
    session = engine.session
    session.clear()
    answer = [
        token.token
        for event in session.generate(tokens, settings.changed(draft=False))
        if isinstance(event, Round)
        for token in event.emitted
    ]
    assert session.proposer is not None
    runner = session.proposer.runner
    whole = tokens + answer
    runner.prefill(whole, len(tokens) - 1)
    noise = KeyedNoise(SEED)
    hits = []
    while runner.length < len(whole) - 1:
        start = runner.length
        part = whole[start : min(start + ROWS, len(whole) - 1)]
        scores = scaled_scores(
            runner.extend(part), settings.sampling, History(whole[: start + 1]), session.width
        )
        if not settings.sampling.is_greedy:
            scores = scores + noise.token_rows(start + 1, len(part), session.width)
        guesses = [int(guess) for guess in mx.argmax(scores, axis=-1).tolist()]  # type: ignore[union-attr, arg-type]
        hits += [guess == token for guess, token in zip(guesses, whole[start + 1 :], strict=False)]
    return "".join("01"[hit] for hit in hits)


def reply(engine: Engine, prompt: Prompt, settings: Settings) -> dict[str, str]:
    """One entry of a trace."""
    tokens = engine.session.chat_tokens(prompt.text, think=False)
    hits = engine.thread.call(lambda: recorded(engine, tokens, settings))
    print(f"{prompt.id:12} {len(hits):4} tokens, {hits.count('1') / len(hits):.0%}")
    return {"prompt": prompt.id, "kind": prompt.kind, "hits": hits}


def main() -> None:
    """Record the pairs that are there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pair", choices=tuple(PAIRS), action="append", help="only this one")
    parser.add_argument("--max-tokens", type=int, default=300, help="of each answer")
    args = parser.parse_args()
    TRACES.mkdir(parents=True, exist_ok=True)
    for name in args.pair or PAIRS:
        target, draft, temperature, for_toy = PAIRS[name]
        if Path(target).is_absolute() and not Path(target).is_dir():
            print(f"{name}: not on this machine (make real)")
            continue
        settings = Settings(
            SamplingParams(temperature=temperature),
            seed=SEED,
            rule="coupled",
            max_tokens=args.max_tokens,
        )
        prompts = [prompt for prompt in PROMPTS if prompt.for_toy or not for_toy]
        with load(target, draft) as engine:
            replies = [reply(engine, prompt, settings) for prompt in prompts]
        document = {"pair": name, "temperature": temperature, "rule": "coupled", "replies": replies}
        path = TRACES / f"{name}.json"
        path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Compare the adaptive lookahead with the best fixed one and with an oracle, on a simulated clock.

    .venv/bin/python scripts/simulate_lookahead.py             all scenarios, twenty minutes
    .venv/bin/python scripts/simulate_lookahead.py --quick     the part that the tests keep

Machines: flat, linear and stepped costs, and the published tables of five chips for Qwen3-14B with
Qwen3-0.6B. Texts: see mlx_specdec/lookahead/simulated_texts.py. Replies of a scenario are written
one after another in one session, which begins without having seen anything. Sessions are long
because a gap of 3 % is small: in short ones the share of it that is reached varies by several
points from one draw of the coins to the next (``--draw``).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from mlx_specdec.costs.cost_table import CostTable
from mlx_specdec.costs.pair_costs import PairCosts
from mlx_specdec.lookahead.adaptive import LookaheadMemory
from mlx_specdec.lookahead.scores import (
    LARGEST_LOSS,
    MACHINES,
    PROMPTS,
    QUICK,
    REPLIES,
    SMALLEST_SPEEDUP,
    WANTED_SHARE,
    WORTHWHILE_GAP,
    Scenario,
    Score,
    scenarios,
    score,
)
from mlx_specdec.lookahead.simulated_texts import coin_texts, trace_texts

TRACES = Path(__file__).resolve().parent.parent / "tests" / "golden" / "traces"
HEADER = (
    f"{'machine, text, prompt -> reply':38}{'fixed':>6}{'plain':>7}{'oracle':>7}{'ours':>7}"
    f"{'gap':>7}{'share':>7}{'loss':>7}"
)


def session(costs: PairCosts) -> LookaheadMemory:
    """One that has seen nothing and knows what rounds cost."""
    return LookaheadMemory(CostTable(costs))


def line(result: Score) -> str:
    """Tokens a second in shares of the best fixed lookahead's."""
    speeds = [result.fixed / seconds for seconds in (result.plain, result.oracle, result.ours)]
    share = f"{result.share:.1%}" if result.has_gap else "-"
    return (
        f"{result.scenario.name:38}{result.best_lookahead:>6}"
        + "".join(f"{speed:>7.3f}" for speed in speeds)
        + f"{result.gap:>7.1%}{share:>7}{result.loss:>7.1%}"
    )


def verdicts(results: Sequence[Score], words: str) -> None:
    """How many scenarios meet each bound."""
    gaps = [result for result in results if result.has_gap]
    others = [result for result in results if not result.has_gap]
    never = sum(result.is_never_slower for result in results)
    slowest = min(results, key=lambda result: result.speedup)
    print(f"\n{words}")
    print(
        f"  {sum(r.follows for r in gaps)} of {len(gaps)} reach {WANTED_SHARE:.0%} of a gap "
        f"above {WORTHWHILE_GAP:.0%}"
    )
    print(
        f"  {sum(r.follows for r in others)} of {len(others)} others stay within "
        f"{LARGEST_LOSS:.1%} of the best fixed lookahead"
    )
    print(
        f"  {never} of {len(results)} stay above {SMALLEST_SPEEDUP} of plain; the slowest is "
        f"{slowest.speedup:.3f} ({slowest.scenario.name})"
    )


def ours(num_tokens: int, scenario: Scenario) -> Score:
    """The adaptive lookahead's."""
    return score(scenario, session, num_tokens)


def least(results: Sequence[Score], count: int) -> None:
    """The scenarios that do least well by each bound."""
    gaps = [r for r in results if r.has_gap]
    _lines("least of a gap", gaps, count, lambda r: r.share)
    rest = [r for r in results if not r.has_gap and not r.follows]
    _lines(f"furthest below the best fixed ({len(rest)})", rest, count, lambda r: -r.loss)
    _lines("slowest against plain", results, min(count, 5), lambda r: r.speedup)


def _lines(words: str, results: Sequence[Score], count: int, key: Callable[[Score], float]) -> None:
    print(f"\n{words}")
    for result in sorted(results, key=key)[:count]:
        print(line(result))


def main() -> None:
    """Run the scenarios and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only what the tests keep")
    parser.add_argument("--all", action="store_true", help="print every scenario")
    parser.add_argument("--tokens", type=int, default=45_000, help="tokens of replies in each")
    parser.add_argument("--draw", type=int, default=0, help="other coins for the same texts")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--worst", type=int, default=12, help="lines of each list")
    args = parser.parse_args()
    sources = [*coin_texts(args.draw), *trace_texts(TRACES)]
    wanted = list(scenarios(sources, *(QUICK if args.quick else (MACHINES, PROMPTS, REPLIES))))
    results = []
    print(HEADER)
    with ProcessPoolExecutor(args.jobs) as pool:
        for result in pool.map(partial(ours, args.tokens), wanted, chunksize=4):
            results.append(result)
            if args.all:
                print(line(result), flush=True)
    least(results, args.worst)
    verdicts(results, "from the request on")
    later = [result.after_prefill for result in results]
    verdicts(later, "without the target's reading of the prompt, the draft's charged in full")
    single = min(results, key=lambda result: result.worst_reply)
    print(f"\nslowest single reply: {single.worst_reply:.3f} of plain ({single.scenario.name})")


if __name__ == "__main__":
    main()

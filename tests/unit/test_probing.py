"""When a parked answer looks again whether guesses are kept by now."""

from __future__ import annotations

from collections.abc import Callable

from mlx_specdec.lookahead.belief import AcceptanceBelief
from mlx_specdec.lookahead.probing import WAITS, Probe, next_probe
from mlx_specdec.lookahead.round_prices import RoundPrices

import numpy as np

LOW, HIGH = 0.2, 0.9


def prices(row: float = 0.4) -> RoundPrices:
    """A plain pass takes a second, each guess ``row`` more."""
    chances = AcceptanceBelief().chances
    tokens = np.cumsum(chances[:, None] ** np.arange(9.0), axis=1)
    cycles = 1 + row * np.arange(9.0)
    return RoundPrices(tokens, cycles, cycles[0] - 1 / (tokens / cycles).max(axis=1))


def after(usual: float, latest: float, reached: int = 60) -> AcceptanceBelief:
    """Stretches of 220 tokens were of the chances ``usual`` and ``latest`` in turn; the last one
    has got ``reached`` tokens far."""
    belief = AcceptanceBelief()
    for chance, tokens in [(usual, 220), (latest, 220)] * 6 + [(usual, 220), (latest, reached)]:
        for i in range(tokens):
            belief.observe(int((i + 1) * chance) - int(i * chance), 1)
            belief.pass_by(1)
    return belief


def free(tokens: int) -> float:
    return 0.0


def probe(
    belief: AcceptanceBelief,
    reading: Callable[[int], float] = free,
    owed: int = 1,
    remaining: float = 1000.0,
) -> Probe | None:
    return next_probe(prices(), belief, reading, owed, remaining)


def test_where_stretches_take_turns_it_looks_sooner_the_longer_this_one_has_lasted() -> None:
    waits = []
    for reached in (60, 100, 140, 180):
        found = probe(after(HIGH, LOW, reached))
        assert found is not None
        assert found.lookahead == 1
        waits.append(found.wait)
    assert waits == sorted(waits, reverse=True)
    assert waits[0] >= 4 * waits[-1]


def test_where_guesses_never_were_kept_it_looks_more_seldom_or_not_at_all() -> None:
    often, seldom = probe(after(HIGH, LOW, 120)), probe(after(LOW, LOW, 120))
    assert often is not None
    assert seldom is None or seldom.wait > 2 * often.wait


def test_a_dear_look_comes_later_and_is_charged_what_the_draft_reads() -> None:
    belief = after(HIGH, LOW)

    def dear(tokens: int) -> float:
        return 4.0

    cheap, late = probe(belief), probe(belief, dear)
    assert cheap is not None
    assert late is not None
    assert late.wait > cheap.wait
    assert late.seconds >= 4.0 > cheap.seconds > 0.0


def test_it_waits_as_long_as_what_is_owed_is_read_for_little() -> None:
    """Eight tokens ride in the draft's first pass; more take a reading of their own."""

    def riding(tokens: int) -> float:
        return 0.0 if tokens <= 8 else 2.0

    found = probe(after(HIGH, LOW), riding)
    assert found is not None
    assert found.wait + 2 <= 8


def test_a_long_prompt_that_nobody_read_is_not_read_for_a_look_before_a_short_rest() -> None:
    def reading(tokens: int) -> float:
        return 0.01 * tokens

    belief = after(HIGH, LOW)
    assert probe(belief, reading, owed=8000, remaining=100.0) is None
    assert probe(belief, reading, owed=8000, remaining=3000.0) is not None


def test_no_look_comes_after_the_end() -> None:
    found = probe(after(LOW, LOW), remaining=20.0)
    assert found is None or found.wait < 20
    assert probe(after(HIGH, LOW), remaining=0.0) is None
    assert WAITS[0] == 0


def test_after_long_silence_a_usually_easy_text_is_looked_at_now() -> None:
    belief = after(HIGH, LOW)
    belief.pass_by(1500)
    found = probe(belief)
    assert found is not None
    assert found.wait == 0

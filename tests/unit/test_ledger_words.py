"""The ledger's sentences: each is made from the figures, and can say what nobody likes to hear."""

from __future__ import annotations

from dataclasses import replace

from mlx_specdec.costs.prices import Prices
from mlx_specdec.events import Round
from mlx_specdec.ledger.account import ModelNames
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.ledger.lines import bar, ledger_report
from mlx_specdec.ledger.view import LedgerView, ledger_view
from mlx_specdec.ledger.words import (
    acceptance_sentence,
    break_even_sentence,
    headline,
    short_acceptance,
    three_rates,
)
from tests.races import DRAWN_PRICES, golden, made_lane, made_round

import pytest

SLOW = Prices(LatencyModel.measured(((1, 0.03), (2, 0.052), (4, 0.09)), 0.006), "run", "totals")


def drawn(scenario: str = "fable", prices: Prices | None = DRAWN_PRICES) -> LedgerView:
    race = golden(scenario)
    return ledger_view([race.speculative], prices, ModelNames("14B", "0.6B"), race.standard)


def test_the_headline_of_the_drawing() -> None:
    assert headline(drawn()) == (
        "Lookahead 3 is the best setting here: 1.80 times plain.",
        "Further guesses would mostly be thrown away.",
    )


def test_a_run_that_copied_says_in_how_many_passes() -> None:
    """A pass without guesses is not said to have had nothing to copy: the policy may park it."""
    race = golden("fable")
    lane = [
        replace(
            event,
            lookahead=3 if event.index % 3 else 0,
            proposed=tuple(replace(guess, draft_prob=None) for guess in event.proposed)
            if event.index % 3
            else (),
        )
        if isinstance(event, Round)
        else event
        for event in race.speculative
    ]
    view = ledger_view([lane], DRAWN_PRICES, ModelNames("14B", "copying"), race.standard)
    assert view.copied_share == pytest.approx(2 / 3)
    assert view.lookahead == 3
    assert view.heat is not None
    assert view.heat.run_cell is not None
    row, column = view.heat.run_cell
    own = view.fall(row, column)
    assert own is not None
    assert view.modelled_speedup == own.bottom != view.heat.cells[row][column]
    first, second = headline(view)
    kept = f"{view.metrics.acceptance_rate:.0%}".replace("%", " %")
    assert first == (f"67 % of the passes copied; {kept} of the guesses checked were kept.")
    assert second == "That was 1.80 times plain."
    assert "that was copied" in three_rates(view)
    mixed = ledger_view([lane, race.speculative], DRAWN_PRICES)
    assert mixed.copied_share is None
    assert "copied" not in headline(mixed)[0]


def test_a_better_lookahead_is_named() -> None:
    view = ledger_view([made_lane([1, 0, 1, 0, 1, 1], 5)], DRAWN_PRICES)
    first, second = headline(view)
    assert first == "Lookahead 5 is slower than plain at these prices: 0.78 times."
    assert second.startswith("Lookahead 1 is best: 1.24 times.")


def test_slower_when_measured_is_said_first() -> None:
    """F4: more drafting, fewer tokens a second, and nobody said so."""
    plain, fast = made_lane([0] * 8, 0, 0.02), made_lane([1, 0] * 4, 3, 0.06)
    first, second = headline(ledger_view([fast], SLOW, plain=plain))
    assert first == "Drafting was slower than plain here: 0.50 times with lookahead 3."
    assert second == "Lookahead 0, plain decoding, is best here."


def test_a_measured_speedup_that_the_prices_do_not_explain_comes_first() -> None:
    first, second = headline(drawn("tiny"))
    assert first == "Lookahead 3 made 1.30 times plain here."
    assert second == "The prices explain 1.84."


def test_parked_says_why_and_from_where_on_it_would_pay() -> None:
    first, second = headline(drawn("parked"))
    assert first == "Nothing was drafted here: a pass over 2 rows costs 1.7 of one here."
    assert second == "Lookahead 1 pays from 13 % acceptance on."
    assert headline(drawn("parked", SLOW))[1] == (
        "At these prices no lookahead pays below 93 % acceptance."
    )
    never = Prices(LatencyModel.measured(((1, 0.03), (2, 0.2)), 0.006), "run", "")
    assert headline(drawn("parked", never))[1] == (
        "No lookahead can pay at these prices, whatever is kept."
    )


def test_parked_after_some_drafting() -> None:
    rest = [made_round(index, 0.3 + index / 20, note="parked") for index in range(3, 9)]
    events = (*made_lane([1, 0], 3)[:-1], *rest)
    first, _ = headline(ledger_view([events], SLOW))
    assert first == (
        "Drafting is parked, rightly: with 33 % of the guesses kept, lookahead 1 would make 0.69 "
        "times plain."
    )
    assert headline(ledger_view([events], DRAWN_PRICES))[0].startswith(
        "Drafting was parked; with 33 % of the guesses kept, lookahead 1 would make 1.18 times"
    )


def test_without_prices_it_says_what_is_missing() -> None:
    first, second = headline(drawn("fable", None))
    assert first == ("73 % of the guesses checked were kept; what a pass costs is not known yet.")
    assert second == "A race beside plain decoding shows which lookahead is best."


def test_prices_that_end_early_are_not_praised_as_the_best_of_all() -> None:
    narrow = Prices(LatencyModel.measured(((1, 0.065), (4, 0.0824)), 0.0039), "run", "")
    assert headline(drawn("fable", narrow))[0].startswith(
        "Lookahead 3 is the best of those with a price: 1.8"
    )


def test_the_acceptance_in_the_runs_own_numbers() -> None:
    """F2, F8: a rate without its counts, and one by the wrong total."""
    view = drawn()
    assert acceptance_sentence(view) == (
        "acceptance = guesses kept ÷ guesses checked (99 of 136). 44 more were thrown away "
        "unchecked, after a miss."
    )
    assert short_acceptance(view) == (
        "acceptance = kept ÷ checked = 99 of 136; 44 guesses after a miss never checked"
    )
    assert three_rates(view) == (
        "Kept of all 180 guesses: 55 %.   Share of the text that the draft wrote: 62 %."
    )
    assert break_even_sentence(view) == (
        "break-even acceptance by lookahead: 1 13 %, 3 33 %, 5 54 %"
    )


@pytest.mark.parametrize(
    ("kept", "proposed", "words"),
    [
        ([3, 3], 3, "(6 of 6). Every guess was checked."),
        ([2, 1], 3, "(3 of 5). 1 more was thrown away unchecked, after a miss."),
        ([0, 0], 0, "No guess was checked, so there is no acceptance."),
    ],
)
def test_the_acceptance_at_its_ends(kept: list[int], proposed: int, words: str) -> None:
    view = ledger_view([made_lane(kept, proposed)])
    assert acceptance_sentence(view).endswith(words)
    assert len(short_acceptance(view)) <= 78


def test_a_guess_cut_off_by_the_end_is_not_called_a_miss() -> None:
    cut = made_round(3, 0.4, 3, 3)
    events = (*made_lane([0], 3)[:-1], replace(cut, emitted=cut.emitted[:2]))
    words = acceptance_sentence(ledger_view([events]))
    assert words.endswith("3 more were not checked: after a miss, or past the end.")


@pytest.mark.parametrize("scenario", ["fable", "tiny", "parked", "different"])
@pytest.mark.parametrize("prices", [DRAWN_PRICES, SLOW, None])
def test_the_report_fits_80_columns(scenario: str, prices: Prices | None) -> None:
    lines = ledger_report(drawn(scenario, prices))
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)


def test_bars() -> None:
    assert bar(1, 4) == "████"
    assert bar(0.5, 4) == "██"
    assert bar(0.001, 4) == "▏"
    assert bar(0, 4) == ""
    assert bar(-1, 4) == ""
    assert bar(2, 4) == "████"

"""``mlx-specdec ledger``: where the last run's time went, or the arithmetic with figures given."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

from ..errors import InvalidRequestError
from ..ledger.latency import LatencyModel, expected_accepted, expected_tokens

__all__ = ["add_arguments", "run"]

_MAX_LOOKAHEAD = 16
_TABLE_LOOKAHEADS = range(9)
_OTHER_FIGURES = (0.0, 0.0, 50.0)
_TABLE_ACCEPTANCES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``ledger``."""
    add = parser.add_argument
    add(
        "file",
        nargs="?",
        metavar="FILE",
        help="a recording made with --record; without it and without figures the last run",
    )
    add(
        "--acceptance",
        type=float,
        metavar="A",
        help="chance, 0 to 1, that a tested token is kept. Per tested token: a guess after a "
        "miss was never tested, so this is more than accepted / proposed",
    )
    add(
        "--draft-cost",
        type=float,
        metavar="C",
        help="time of one pass of the draft / one pass of the target, such as 0.1",
    )
    add("--lookahead", type=int, metavar="N", help="tokens proposed a round (default: the best)")
    add(
        "--verify-tax",
        type=float,
        default=_OTHER_FIGURES[0],
        metavar="X",
        help="what each proposed token after the first adds to the target's pass, as a share of "
        "it (default: 0)",
    )
    add(
        "--overhead-ms",
        type=float,
        default=_OTHER_FIGURES[1],
        metavar="MS",
        help="sampling, Python and waiting, per round (default: 0)",
    )
    add(
        "--target-ms",
        type=float,
        default=_OTHER_FIGURES[2],
        metavar="MS",
        help="one pass of the target (default: 50)",
    )
    add("--json", action="store_true", help="print the figures as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the ledger of a run, or for the given figures; returns the exit code.

    Raises:
        InvalidRequestError: a figure that is missing or outside its range; a file that is not a
            recording.
        SpecdecError: nothing has run yet.
    """
    if _has_no_figures(args):
        from .ledger_run import show_run

        return show_run(args)
    if args.file is not None:
        raise InvalidRequestError(
            "A recording has its own figures.", "Give either FILE or figures."
        )
    model = _model(args)
    best = model.best_lookahead(args.acceptance, _MAX_LOOKAHEAD)
    lookahead = best if args.lookahead is None else args.lookahead
    if args.json:
        print(json.dumps(_figures(model, args.acceptance, lookahead, best), indent=2))
    else:
        print("\n".join(_report(model, args.acceptance, lookahead, best)))
    return 0


def _has_no_figures(args: argparse.Namespace) -> bool:
    given = (args.acceptance, args.draft_cost, args.lookahead)
    others = (args.verify_tax, args.overhead_ms, args.target_ms) != _OTHER_FIGURES
    return all(figure is None for figure in given) and not others


def _check(args: argparse.Namespace) -> None:
    """Refuse in the words of the options."""
    for option, given, least, fix in (
        ("--acceptance", args.acceptance, 0.0, "a number from 0 to 1, such as 0.74 for 74 %"),
        ("--draft-cost", args.draft_cost, 0.0, "a number from 0 up, such as 0.12"),
        ("--verify-tax", args.verify_tax, 0.0, "a number from 0 up, such as 0.03"),
        ("--overhead-ms", args.overhead_ms, 0.0, "milliseconds from 0 up, such as 6"),
        ("--target-ms", args.target_ms, math.ulp(0.0), "milliseconds above 0, such as 50"),
        ("--lookahead", args.lookahead or 0, 0, f"a whole number from 0 to {_MAX_LOOKAHEAD}"),
    ):
        most = {"--acceptance": 1, "--lookahead": _MAX_LOOKAHEAD}.get(option, math.inf)
        if given is None:
            raise InvalidRequestError(f"{option} is missing.", f"Give it {fix}.")
        if not (least <= given <= most and given < math.inf):
            raise InvalidRequestError(f"{option} {given} is out of range.", f"Give it {fix}.")


def _model(args: argparse.Namespace) -> LatencyModel:
    _check(args)
    return LatencyModel(
        target_seconds=args.target_ms / 1000,
        draft_cost=args.draft_cost,
        verify_tax=args.verify_tax,
        overhead_seconds=args.overhead_ms / 1000,
    )


def _figures(model: LatencyModel, acceptance: float, lookahead: int, best: int) -> dict[str, Any]:
    waterfall = model.waterfall(acceptance, lookahead)
    overhead = model.overhead_seconds if lookahead else 0.0
    return {
        "schema": 1,
        "acceptance": acceptance,
        "lookahead": lookahead,
        "expected_accepted": expected_accepted(acceptance, lookahead),
        "expected_tokens": expected_tokens(acceptance, lookahead),
        "wasted_drafts": model.wasted_drafts(acceptance, lookahead),
        "draft_ms": model.draft_seconds(lookahead) * 1000,
        "verify_ms": model.verify_seconds(lookahead) * 1000,
        "overhead_ms": overhead * 1000,
        "cycle_ms": model.cycle_seconds(lookahead) * 1000,
        "ms_per_token": model.seconds_per_token(acceptance, lookahead) * 1000,
        "plain_ms_per_token": model.target_seconds * 1000,
        "speedup": model.speedup(acceptance, lookahead),
        "waterfall": {
            "tokens_per_pass": waterfall.tokens_per_pass,
            "after_verify": waterfall.after_verify,
            "after_draft": waterfall.after_draft,
            "after_overhead": waterfall.after_overhead,
        },
        "best_lookahead": best,
        "best_speedup": model.speedup(acceptance, best),
        "break_even_acceptance": [
            {"lookahead": g, "acceptance": model.break_even_acceptance(g)}
            for g in _TABLE_LOOKAHEADS[1:]
        ],
    }


def _report(model: LatencyModel, acceptance: float, lookahead: int, best: int) -> list[str]:
    lines = [*_verdict(model, acceptance, lookahead, best), ""]
    if lookahead:
        lines += [*_cycle(model, acceptance, lookahead), ""]
    return [*lines, *_what_if(model, acceptance, lookahead), "", *_break_even(model, acceptance)]


def _verdict(model: LatencyModel, acceptance: float, lookahead: int, best: int) -> list[str]:
    speed, plain = model.speedup(acceptance, lookahead), model.target_seconds * 1000
    own = model.seconds_per_token(acceptance, lookahead) * 1000
    if lookahead == 0:
        first = f"Plain decoding (lookahead 0): {plain:.1f} ms a token."
    else:
        first = (
            f"Lookahead {lookahead}: {speed:.2f} times plain, "
            f"{own:.1f} ms a token where plain takes {plain:.1f}."
        )
    if best == lookahead:
        return [first, "No other lookahead is faster here."]
    if best == 0:
        return [first, "Plain decoding is faster here: lookahead 0 is best."]
    return [first, f"Lookahead {best} is best here: {model.speedup(acceptance, best):.2f} times."]


def _cycle(model: LatencyModel, acceptance: float, lookahead: int) -> list[str]:
    kept = expected_accepted(acceptance, lookahead)
    fall = model.waterfall(acceptance, lookahead)
    verify = model.verify_seconds(lookahead)
    costs = verify / model.target_seconds
    phases = (
        (
            f"draft, {lookahead} {'pass' if lookahead == 1 else 'passes'}",
            model.draft_seconds(lookahead),
        ),
        ("verify, one pass of the target", verify),
        ("overhead", model.overhead_seconds),
        ("one round", model.cycle_seconds(lookahead)),
    )
    steps = (
        ("tokens a pass of the target", fall.tokens_per_pass),
        (f"a verify pass costs {costs:.2f} plain ones", fall.after_verify),
        ("the draft has to be paid", fall.after_draft),
        ("sampling, Python and waiting", fall.after_overhead),
    )
    return [
        "Where a round's time goes",
        *(f"  {name:<36}{seconds * 1000:7.1f} ms" for name, seconds in phases),
        "",
        f"Why {fall.tokens_per_pass:.2f} tokens a pass are not {fall.tokens_per_pass:.2f} times",
        *(f"  {name:<36}{times:7.2f} x" for name, times in steps),
        "",
        f"Of {lookahead} proposed a round {kept:.2f} are kept and "
        f"{model.wasted_drafts(acceptance, lookahead):.2f} wasted.",
    ]


def _what_if(model: LatencyModel, acceptance: float, lookahead: int) -> list[str]:
    lines = [
        "What if: speedup by acceptance (down) and lookahead (across)",
        "[ ] these figures, ( ) slower than plain",
        "        " + "".join(f"{g:>5}  " for g in _TABLE_LOOKAHEADS).rstrip(),
    ]
    for chance in sorted({*_TABLE_ACCEPTANCES, acceptance}):
        cells = []
        for g in _TABLE_LOOKAHEADS:
            speed = model.speedup(chance, g)
            left, right = "()" if round(speed, 2) < 1 else "  "
            if (chance, g) == (acceptance, lookahead):
                left, right = "[]"
            cells.append(f"{left}{speed:.2f}{right}")
        lines.append(f"{chance * 100:5.4g} % " + " ".join(cells).rstrip())
    return lines


def _break_even(model: LatencyModel, acceptance: float) -> list[str]:
    parts = []
    for g in _TABLE_LOOKAHEADS[1:]:
        needed = model.break_even_acceptance(g)
        parts.append(f"{g}: {'never' if needed is None else f'{needed * 100:.0f} %'}")
    return [
        f"Acceptance at which drafting breaks even, by lookahead (here {acceptance * 100:.4g} %)",
        "  " + ", ".join(parts),
    ]

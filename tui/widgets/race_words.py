"""The race screen's smaller words: rates, the clock, acceptance and equality, pure of widgets."""

from __future__ import annotations

from fractions import Fraction

from mlx_specdec.figures import percent
from mlx_specdec.race.moment import RaceMoment
from mlx_specdec.safe_text import safe_text

__all__ = [
    "acceptance_words",
    "clock_words",
    "equality_words",
    "first_token_words",
    "lookahead_words",
    "positions_words",
    "speed_words",
]

_BLOCKS = "▁▂▃▄▅▆▇█"
_ORDINALS = ("1st", "2nd", "3rd")


def speed_words(rate: float) -> str:
    """``true speed``, ``half speed``, ``1/20 speed``; what stands beside the race clock."""
    if rate == 1:
        return "true speed"
    if rate == 0.5:
        return "half speed"
    if rate > 1:
        return f"{rate:g} times true speed"
    share = Fraction(rate).limit_denominator(1000)
    return f"1/{share.denominator} speed" if share.numerator == 1 else f"{rate:.2g} of true speed"


def clock_words(seconds: float, rate: float, is_paused: bool, why: str = "") -> str:
    """``▶ race clock 5.7 s, shown at half speed: one GPU runs both``."""
    mark = "⏸" if is_paused else "▶"
    reason = f": {why}" if why else ""
    return f"{mark} race clock {seconds:.2f} s, shown at {speed_words(rate)}{reason}"


def acceptance_words(moment: RaceMoment, with_counts: bool) -> str:
    """``accepted 73 % (99 of 136)``; ``not drafting`` where nothing was tested."""
    metrics = moment.metrics
    if metrics.acceptance_rate is None:
        return "not drafting" if moment.speculative.num_passes else "accepted    –"
    share = f"{percent(metrics.acceptance_rate):>5}"
    if with_counts:
        return f"accepted {share} ({metrics.accepted} of {metrics.tested})"
    return f"accepted {share} of {metrics.tested}"


def positions_words(moment: RaceMoment) -> str:
    """``1st ▇ 76  2nd ▆ 73  3rd ▆ 68``: of the guesses reached at a place, the share kept."""
    parts = []
    for name, share in zip(_ORDINALS, moment.acceptance_by_position, strict=False):
        if share is not None:
            block = _BLOCKS[min(int(share * len(_BLOCKS)), len(_BLOCKS) - 1)]
            parts.append(f"{name} {block} {share * 100:3.0f}")
    return "  ".join(parts)


def lookahead_words(moment: RaceMoment) -> str:
    """``lookahead 3 auto``, as the race's header has it."""
    asked = moment.header.lookahead
    rounds = [each.lookahead for each in moment.speculative.rounds if each.index > 0]
    if asked == "auto" and rounds:
        return f"lookahead {rounds[-1]} auto"
    return f"lookahead {asked}" if asked else ""


def first_token_words(moment: RaceMoment) -> str:
    """``first token 0.42 s both``, or both figures where they differ."""
    times = [lane.first_token_at for lane in moment.lanes]
    if any(at is None for at in times):
        return ""
    plain, fast = (f"{at:.2f}" for at in times)
    return f"first token {plain} s both" if plain == fast else f"first token {plain} and {fast} s"


def equality_words(moment: RaceMoment, is_short: bool) -> str:
    """``✓ 89 of 89 tokens equal``, or the first token that differs, with both and the margin."""
    equality = moment.equality
    found = equality.difference
    if found is None:
        if is_short:
            return f"✓ {equality.num_equal} equal"
        return f"✓ {equality.num_equal} of {equality.num_compared} tokens equal"
    if is_short:
        return f"≠ from token {found.index + 1} (gap {found.margin:.2g})"
    one, other = (_quoted(text) for text in (found.standard, found.speculative))
    return f"≠ from token {found.index + 1}: {one} or {other}, gap {found.margin:.2g}"


def _quoted(text: str) -> str:
    shown = safe_text(text).replace("\n", "↵").replace("\t", "⇥")
    if len(shown) > 12:
        shown = f"{shown[:11]}…"
    return f"“{shown}”" if shown else "the end"

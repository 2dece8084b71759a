"""Model text is text: wide characters, control codes, brackets, long lines break nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from mlx_specdec.events import Emitted, Event, Finished, Prefilled, Proposed, Round, Timings
from mlx_specdec.race.recording import LaneEvent, Recording, RecordingHeader
from tests.race_screens import FakeBridge, MovedClock, at_second, move, race_app, race_screen, shown
from tui.app import SpecdecApp

import pytest

NASTY = (
    "[/a0/tests] {p}[/{t}...]/read [bold]x [b + c[#888]..\n",
    "\x1b[2J\x1b]52;c;aGk=\x07\x1b[6n \x9b31m \x00\x08\x7f\r\n",
    "漢字かな 한국어 👩‍👩‍👧 🇩🇪 ❤️ e\u0301\u0301 \u200d\u200b\u2067rtl\u2069\n",
    "<think>\nwhy\n</think> <|im_end|> </s>\n",
    "x" * 700 + "\n",
    "\t\tdef f():\n\t\t\treturn 1\n",
)


def race_of(pieces: tuple[str, ...], header: RecordingHeader | None = None) -> Recording:
    """Both lanes write the same pieces, three a pass in the drafting one."""

    def lane(step: int, drafted: str) -> Iterator[Event]:
        yield Prefilled(5, 0, 0.1, 0.1)
        for index, start in enumerate(range(0, len(pieces), step)):
            emitted = tuple(
                Emitted(token, text, drafted if step > 1 and place else "sampled", 1.0)
                for place, (token, text) in enumerate(list(enumerate(pieces))[start : start + step])
            )
            at = 0.2 + 0.1 * index
            guesses = tuple(
                Proposed(token.token, token.text, 0.5, 0.5) for token in emitted if step > 1
            )
            kept = max(len(guesses) - 1, 0)
            yield Round(index, 5 + start, step - 1, guesses, (), kept, emitted, Timings(), at)
        yield Finished("stop", 0.3 + 0.1 * len(pieces))

    header = header or RecordingHeader("qwen3-14b", "qwen3-0.6b", prompt="Why?", max_tokens=64)
    return Recording(header, tuple(lane(1, "sampled")), tuple(lane(3, "accepted")))


def shown_after(recording: Recording, size: tuple[int, int], keys: tuple[str, ...] = ()) -> str:
    clock, bridge = MovedClock(), FakeBridge(recording)
    bridge.become("ready")
    app = race_app(bridge=bridge, clock=clock, request=None)
    rows = ""

    async def run() -> None:
        nonlocal rows
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            move(app, clock, 60)
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
            await pilot.pause()
            rows = shown(app)
            for strip in app.screen._compositor.render_strips():
                assert strip.cell_length == size[0]

    asyncio.run(run())
    return rows


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (73, 24)])
@pytest.mark.parametrize("place", range(len(NASTY)))
def test_h4_h5_h11_nasty_text_is_shown_and_every_row_keeps_its_cells(
    place: int, size: tuple[int, int]
) -> None:
    rows = shown_after(race_of(("ab ", NASTY[place], "cd")), size, ("home",))
    assert "\x1b" not in rows
    assert not any(0x7F <= ord(char) < 0xA0 for char in rows)


def test_h4_brackets_are_on_the_screen_as_they_came() -> None:
    rows = shown_after(race_of((NASTY[0],)), (120, 36))
    assert rows.count("[/a0/tests] {p}[/{t}...]/read [bold]x") == 2


def test_h4_names_of_models_machines_and_prompts_are_text_too() -> None:
    bad = "[/b]\x1b[2J{x}"
    recording = race_of(("a", "b"))
    clock = MovedClock()
    app = race_app("fable", clock=clock)

    async def run() -> None:
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.pause()
            director = race_screen(app).director
            header = replace(recording.header, target=bad, prompt=bad, machine=bad, target_size=bad)
            director._play(replace(recording, header=header))
            move(app, clock, 10)
            await pilot.press("question_mark")
            await pilot.pause()
            await pilot.press("escape")
            await pilot.pause()
            rows = shown(app)
            assert "\x1b" not in rows
            assert "[/b]" in rows

    asyncio.run(run())


def test_f5_a_pass_of_three_raises_the_count_by_three() -> None:
    recording = race_of(tuple(f"w{i} " for i in range(60)))
    clock = MovedClock()
    app = race_app("fable", clock=clock)
    counts: list[int] = []

    async def run() -> None:
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.pause()
            director = race_screen(app).director
            director._play(recording)
            for _ in range(200):
                clock.seconds += 0.05
                moment = director.tick()
                assert moment is not None
                counts.append(moment.speculative.num_tokens)

    asyncio.run(run())
    steps = {b - a for a, b in pairwise(counts)}
    assert 3 in steps
    assert steps <= {0, 3, 6}


def test_h2_two_thousand_tokens_a_second_are_shown_to_the_last_and_keys_answer() -> None:
    """One update a token would be 2,000 a second; the screen draws ten, whatever comes."""
    pieces = tuple(f"word{i} " for i in range(6000))
    recording = race_of(pieces, RecordingHeader("a", "b", prompt="p", max_tokens=6000))
    fast = [
        LaneEvent(item.lane, replace(item.event, at=item.event.at / 200))
        for item in recording.in_order()
    ]
    clock, bridge = MovedClock(), FakeBridge(recording)
    bridge.become("ready")
    app = race_app(bridge=bridge, clock=clock, request=None, speed=1.0)

    async def run() -> tuple[int, str]:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            feed = bridge.feeds[-1]
            feed._items = list(fast)
            drawn = 0
            screen = race_screen(app)
            for _ in range(80):
                clock.seconds += 0.1
                screen._draw_text()
                drawn += 1
            await pilot.press("end")
            screen._draw()
            await pilot.pause()
            return drawn, shown(app)

    drawn, rows = asyncio.run(run())
    assert drawn == 80
    assert rows.count("word5999") == 2


def test_h1_a_tick_on_a_long_text_does_not_lay_all_of_it_out_again() -> None:
    """Laying 800 words out again for every one of them is quadratic: counted, not timed."""
    from tui.widgets import flowing_text

    laid = 0
    original = flowing_text._laid_out

    def counting(pieces: Any, width: int) -> Any:
        nonlocal laid
        laid += sum(len(text) for text, _ in pieces)
        return original(pieces, width)

    patch = pytest.MonkeyPatch()
    patch.setattr(flowing_text, "_laid_out", counting)
    flow = flowing_text.FlowingText(40)
    for index in range(800):
        flow.append(f"word{index} ")
        flow.ending([("▌", "cursor")])
    patch.undo()
    assert laid < 800 * 2 * 60


def test_wide_and_nasty_text_looks_like_this(snap_compare: Any) -> None:
    clock, bridge = MovedClock(), FakeBridge(race_of(NASTY))
    bridge.become("ready")
    app: SpecdecApp = race_app(bridge=bridge, clock=clock, request=None)
    assert snap_compare(app, terminal_size=(120, 36), run_before=at_second(clock, 60))

"""The card and the moving card: well-formed, honest, bounded, and safe with any text."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

from mlx_specdec.cards.card import HEIGHT, WIDTH, card_svg
from mlx_specdec.cards.face import card_face
from mlx_specdec.cards.moving import MAX_BYTES, moving_card_svg
from mlx_specdec.cards.share import card_words
from mlx_specdec.costs.prices import Prices
from mlx_specdec.figures import rate
from mlx_specdec.ledger.latency import LatencyModel
from mlx_specdec.race.recording import LANES, Recording
from tests.races import HEADER, golden, made_lane, texts_race

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SVG = "{http://www.w3.org/2000/svg}"
GOLDENS = ("fable", "tiny", "parked", "different")
M2 = Prices(LatencyModel.measured(((1, 0.03), (2, 0.052), (3, 0.073)), 0.006), "run", "M2 figures")
ODD = (
    "<b>&\"'</b> ]]> \x1b[2J\x07 \ufffe \ud800",
    "汉字与假名テスト 한국어 😀👩‍👩‍👧 é́́ ‮right to left",
    "x" * 500,
    "\t\ttabs\n\n\nlines\r\n",
    "[red]markup[/red] <think>",
)


def words_of(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("name", GOLDENS)
def test_a_card_is_well_formed_and_names_what_it_must(name: str) -> None:
    race = golden(name)
    svg = card_svg(race)
    root = ElementTree.fromstring(svg)
    assert (root.get("width"), root.get("height")) == (str(WIDTH), str(HEIGHT)) == ("800", "420")
    shown = " ".join(words_of(svg))
    header = race.header
    must = [header.target, header.draft, header.quantization, header.machine]
    must += [f"{key} {version}" for key, version in header.versions.items()]
    must += [f"prompt {header.prompt_id}", f"temp {header.temperature:g}", f"rule {header.rule}"]
    must += ["tokens", "1 run", header.power or "power source not known", header.date[:10]]
    for words in must:
        assert words in shown, words
    assert len(svg.encode()) < 20_000


def test_the_card_of_the_drawing() -> None:
    shown = words_of(card_svg(golden("fable")))
    for words in (
        "15.4 tok/s",
        "27.7 tok/s",
        "1.80",
        "times as fast",
        "89 of 160",
        "160 in",
        "Same words, 1.80 times sooner: 60 passes of the 14B instead of 159.",
        "✓ 160 of 160 tokens equal",
        "accepted 73 % (99 of 136) · 2.65 tokens a pass · lookahead 3 auto",
    ):
        assert words in shown, words


@pytest.mark.parametrize("name", GOLDENS)
def test_one_race_has_one_speed(name: str) -> None:
    """F7: three places in one app showed three speeds."""
    race = golden(name)
    plain, fast = (rate(race.metrics(lane).tokens_per_second) for lane in LANES)
    still = words_of(card_svg(race))
    assert {f"{plain} tok/s", f"{fast} tok/s"} <= set(still)
    moving = " ".join(words_of(moving_card_svg(race)))
    assert f"{plain} tok/s" in moving
    assert f"{fast} tok/s" in moving
    if words := card_words(race):
        assert f"{plain} -> {fast} tok/s" in words


def test_the_bars_stand_as_at_the_photo_finish() -> None:
    face = card_face(golden("fable"), 48, 6)
    assert (face.standard.num_tokens, face.standard.is_in) == (89, False)
    assert (face.speculative.num_tokens, face.speculative.is_in) == (160, True)
    assert face.standard.share == pytest.approx(89 / 160)
    root = ElementTree.fromstring(card_svg(golden("fable")))
    widths = [float(each.get("width", 0)) for each in root.iter(f"{SVG}rect")]
    assert 300 * 89 / 160 in [pytest.approx(width, abs=0.01) for width in widths]


def test_every_text_has_its_length_and_stays_inside() -> None:
    for name in GOLDENS:
        for svg in (card_svg(golden(name)), moving_card_svg(golden(name))):
            for each in ElementTree.fromstring(svg).iter(f"{SVG}text"):
                length, x = float(each.get("textLength", 0)), float(each.get("x", -1))
                assert length > 0
                anchor = each.get("text-anchor", "start")
                left = {"start": x, "end": x - length, "middle": x - length / 2}[anchor]
                if each.get("font-size") in ("11", "12", "12.5", "13"):
                    assert left >= 0
                    assert left + length <= WIDTH


def test_what_was_drafted_is_told_apart_without_colour() -> None:
    """Every run of the target's own words has a line under it, no drafted one has."""
    root = ElementTree.fromstring(card_svg(golden("fable")))
    lines = {
        (each.get("x"), each.get("y"))
        for each in root.iter(f"{SVG}rect")
        if each.get("height") == "1"
    }
    runs = [
        each
        for each in root.iter(f"{SVG}text")
        if each.get("font-size") == "12.5" and float(each.get("x", 0)) >= 412
    ]
    assert len(runs) > 20
    for each in runs:
        text = "".join(each.itertext())
        lead = len(text) - len(text.lstrip(" "))
        x = round(float(each.get("x", 0)) + lead * 7.5, 2)
        below = (f"{x:g}", f"{float(each.get('y', 0)) + 3:g}")
        is_drafted = each.get("fill") == "#4ade80"
        assert (below in lines) != is_drafted, text


def test_different_texts_are_said_and_shown_where_they_part() -> None:
    svg = card_svg(golden("different"))
    shown = words_of(svg)
    assert "different from token 135 (gap 0.02)" in shown
    assert not any("tokens equal" in words for words in shown)
    assert any("sunset" in words for words in shown)  # what each lane has there
    assert any("evening" in words for words in shown)


def test_slower_is_not_dressed_up() -> None:
    race = Recording(
        golden("fable").header, made_lane([0] * 120, 0, 0.05), made_lane([1, 0] * 60, 3, 0.09)
    )
    shown = words_of(card_svg(race))
    assert "times: slower" in shown
    assert any(words.startswith("Slower here:") for words in shown)
    assert "0.83" in shown


def test_parked_shows_its_reason_as_bars() -> None:
    shown = words_of(card_svg(golden("parked"), M2))
    assert "parked" in shown
    assert "52 ms   1.73 times" in shown
    assert "M2 figures" in shown
    assert "WHY: A PASS OF THE TARGET, BY ROWS" in shown


@pytest.mark.parametrize("svg_of", [card_svg, moving_card_svg])
def test_watermarks(svg_of: object) -> None:
    assert callable(svg_of)
    toy = words_of(svg_of(golden("tiny")))
    assert toy.count("toy pair") == 2  # a badge, and across the picture
    race = golden("fable")
    assert not any("toy" in words for words in words_of(svg_of(race)))
    retimed = replace(race, header=replace(race.header, retimed="m5-max"))
    assert words_of(svg_of(retimed)).count("re-timed for m5-max, not measured") == 2


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("svg_of", [card_svg, moving_card_svg])
def test_odd_text_breaks_nothing(text: str, svg_of: object) -> None:
    assert callable(svg_of)
    header = replace(HEADER, prompt=text, machine=text, target=text[:60], power=text)
    race = texts_race(text, text, header)
    svg = svg_of(race)
    root = ElementTree.fromstring(svg)  # well-formed although the text is not
    assert "\x1b" not in svg
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
        *("svg", "title", "style", "rect", "text", "g", "clipPath"),
    }


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_make_well_formed_cards(plain: str, fast: str) -> None:
    race = texts_race(plain, fast, replace(HEADER, prompt=plain))
    for svg in (card_svg(race), moving_card_svg(race)):
        ElementTree.fromstring(svg)


@pytest.mark.parametrize("events", [0, 1, 2, 20])
def test_a_race_that_broke_off_has_a_card(events: int) -> None:
    race = golden("fable")
    part = Recording(race.header, race.standard[:events], race.speculative[:events])
    for svg in (card_svg(part), moving_card_svg(part)):
        ElementTree.fromstring(svg)


def test_the_moving_card_runs_at_true_speed_and_pauses() -> None:
    race = golden("fable")
    svg = moving_card_svg(race)
    end = race.standard[-1].at
    assert f"animation:{end + 4:.2f}s step-end infinite" in svg
    assert any("true speed" in words for words in words_of(svg))
    slow = moving_card_svg(race, rate=0.5)
    assert f"animation:{end * 2 + 4:.2f}s step-end infinite" in slow
    assert any("shown at 0.5 of true speed" in words for words in words_of(slow))


def test_less_motion_shows_the_finished_race() -> None:
    svg = moving_card_svg(golden("fable"))
    assert "@media (prefers-reduced-motion:reduce){*{animation:none!important}}" in svg
    root = ElementTree.fromstring(svg)
    still = [
        "".join(each.itertext())
        for each in root.iter(f"{SVG}text")
        if "c" not in (each.get("class") or "").split()
    ]
    assert " 160   15.4 tok/s" in still
    assert " 160   27.7 tok/s" in still
    assert "10.8 s" in still


def test_every_animation_has_its_keyframes() -> None:
    svg = moving_card_svg(golden("fable"))
    used = set(re.findall(r"\bk\d+\b", " ".join(re.findall(r'class="([^"]*)"', svg))))
    defined = set(re.findall(r"@keyframes (k\d+)", svg))
    assert used == defined
    places = [float(each) for each in re.findall(r"([\d.]+)%\{", svg)]
    assert min(places) >= 0
    assert max(places) <= 100


def test_words_appear_when_their_round_ended() -> None:
    """The class of the last word of the speculative lane begins at the lane's own end."""
    race = golden("fable")
    svg = moving_card_svg(race)
    period = race.standard[-1].at + 4
    ends = [event.at for event in race.speculative if hasattr(event, "emitted")]
    begins = {
        name: float(place) / 100 * period
        for name, place in re.findall(
            r"@keyframes (k\d+)\{0%\{opacity:0\}([\d.]+)%\{opacity:1\}\}", svg
        )
    }
    root = ElementTree.fromstring(svg)
    words = [
        each
        for each in root.iter(f"{SVG}text")
        if each.get("font-size") == "10.5" and {"g", "o"} & set((each.get("class") or "").split())
    ]
    seen = sorted(begins[(each.get("class") or "").split()[-1]] for each in words)
    assert seen[0] == pytest.approx(ends[0], abs=0.03)
    assert seen[-1] == pytest.approx(ends[-1], abs=0.03)


@pytest.mark.parametrize("count", [160, 2000])
def test_the_moving_card_is_bounded(count: int) -> None:
    race = Recording(
        golden("fable").header,
        made_lane([0] * count, 0, 0.05),
        made_lane([3] * (count // 4), 3, 0.09),
    )
    svg = moving_card_svg(race)
    assert 20_000 < len(svg.encode()) <= MAX_BYTES
    ElementTree.fromstring(svg)

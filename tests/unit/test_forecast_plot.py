"""The forecast's drawing: well-formed, inside its frame, legible on both kinds of page."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from mlx_specdec.forecast.forecast import Forecast
from mlx_specdec.forecast.plot import HEIGHT, WIDTH, forecast_svg
from tests.forecasts import LINEAR, here, on_chip

import pytest

SVG = "{http://www.w3.org/2000/svg}"
CASES = [
    on_chip("m1"),
    on_chip("m3-pro"),
    on_chip("m5-max", "qwen3-30b-a3b"),
    here(LINEAR, 0.1),
    here(LINEAR, None),
    here(((1, 0.05), (2, 0.051)), 0.001),
]


@pytest.mark.parametrize("forecast", CASES)
def test_it_is_well_formed_and_inside_its_frame(forecast: Forecast) -> None:
    root = ElementTree.fromstring(forecast_svg(forecast))
    for item in root.iter(f"{SVG}text"):
        x, length = float(item.attrib["x"]), float(item.attrib["textLength"])
        anchor = item.attrib.get("text-anchor", "start")
        left = x - length * {"start": 0, "middle": 0.5, "end": 1}[anchor]
        assert left >= 0, item.text
        assert left + length <= WIDTH, item.text
        assert 0 < float(item.attrib["y"]) < HEIGHT
    for line in root.iter(f"{SVG}polyline"):
        points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)


def test_a_curve_for_each_acceptance_each_with_its_figure() -> None:
    root = ElementTree.fromstring(forecast_svg(on_chip("m3-pro")))
    assert len(list(root.iter(f"{SVG}polyline"))) == 6
    words = [item.text for item in root.iter(f"{SVG}text")]
    assert {f"{share} % kept" for share in (40, 50, 60, 70, 80, 90)} <= {*words}
    labels = sorted(
        float(item.attrib["y"])
        for item in root.iter(f"{SVG}text")
        if item.text and item.text.endswith("kept")
    )
    assert min(b - a for a, b in pairwise(labels)) >= 13


def test_both_kinds_of_page() -> None:
    text = forecast_svg(on_chip("m3-pro"))
    assert "prefers-color-scheme: dark" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_without_a_draft_there_are_no_curves() -> None:
    assert "polyline" not in forecast_svg(here(LINEAR, None))

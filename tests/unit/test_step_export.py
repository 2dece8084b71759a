"""One round for slides: a Markdown table, an SVG figure, and files that overwrite nothing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

from mlx_specdec.lesson.fox import FOX_RULES, fox_lesson
from mlx_specdec.lesson.lesson import lessons_of
from mlx_specdec.lesson.step_export import round_markdown, round_svg, save_round
from mlx_specdec.race.recording import read_recording_file

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def test_the_markdown_tables_of_the_fox() -> None:
    lines = round_markdown(fox_lesson()).splitlines()
    assert "|  | fox | jumps | over | a | happy |" in lines
    assert "| keep with | 1.00 | 1.00 | 1.00 | .14 |  |" in lines
    assert "|  | keep | keep | keep | MISS | never checked |" in lines
    assert "| the | .20 | .70 | .20 | .50 |" in lines
    assert "| sum |  |  | .40 | .60 |" in lines


def test_words_cannot_become_markdown_or_markup() -> None:
    lesson = fox_lesson()
    odd = replace(lesson.guesses[0], text="|*<b>&\x1b[31m")
    lesson = replace(lesson, guesses=(odd, *lesson.guesses[1:]))
    assert "| \\|\\*\\<b\\>&␛\\[31m |" in round_markdown(lesson)
    root = ET.fromstring(round_svg(lesson))
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any("<b>&␛[31m" in text for text in texts)


@pytest.mark.parametrize("rule", FOX_RULES)
def test_the_figure_is_svg_in_which_nothing_lies_outside(rule: str) -> None:
    root = ET.fromstring(round_svg(fox_lesson(rule)))
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    texts = list(root.iter("{http://www.w3.org/2000/svg}text"))
    assert len(texts) > 30
    for element in texts:
        right = float(element.get("x", "")) + float(element.get("textLength", ""))
        assert 0 < float(element.get("x", "")) < right <= width
        assert 0 < float(element.get("y", "")) < height
    assert "src=" not in round_svg(fox_lesson(rule))


def test_saved_files_do_not_overwrite_each_other(tmp_path: Path) -> None:
    first = save_round(fox_lesson(), tmp_path)
    second = save_round(fox_lesson(), tmp_path)
    assert [path.name for path in first] == ["the-fox-rejection.md", "the-fox-rejection.svg"]
    assert [path.name for path in second] == ["the-fox-rejection-2.md", "the-fox-rejection-2.svg"]
    assert first[0].read_text(encoding="utf-8") == round_markdown(fox_lesson())
    recorded = lessons_of(read_recording_file(GOLDEN / "step_block.jsonl"))[1]
    assert save_round(recorded, tmp_path)[0].name == "round-2.md"

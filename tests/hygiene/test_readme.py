"""The README's tables and its file tree say what the code says; its outputs can be made anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.readme_outputs import block, commands, replaced

ROOT = Path(__file__).parents[2]


def test_commands_figures_and_tree_are_true() -> None:
    script = [sys.executable, "scripts/readme_parts.py", "--check"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_output_is_of_the_command_beside_it() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = commands(text)
    assert len(shown) == text.count("<!-- output:") == text.count("<!-- /output -->")
    for command in shown:
        assert f"<!-- output: {command} -->\n```text\n$ {command}\n" in text


def test_an_output_is_put_in_the_place_of_its_own_old_one() -> None:
    page = "\n".join(["before", block("a | b", "old"), "between", block("a", "kept"), "after"])
    made = replaced(page, "a | b", "with \\1 and ```\n\n")
    assert made == page.replace(block("a | b", "old"), block("a | b", "with \\1 and ```"))
    assert "````text\n$ a | b\nwith \\1 and ```\n````\n<!-- /output -->" in made

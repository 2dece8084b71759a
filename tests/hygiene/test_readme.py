"""The README's tables and its file tree say what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_commands_figures_and_tree_are_true() -> None:
    script = [sys.executable, "scripts/readme_parts.py", "--check"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

"""The real program in a terminal of its own: it begins without MLX, races, and leaves at once."""

from __future__ import annotations

import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

from tests.fakehub import FakeHub, Fault, model_files, running_hub
from tests.terminals import CTRL_C, TerminalRun

import pytest

SIZE = {"COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color", "MLX_SPECDEC_BLAS": "off"}
LEFT_SCREEN, CURSOR_SHOWN, MOUSE_OFF = "\x1b[?1049l", "\x1b[?25h", "\x1b[?1000l"

FIRST_FRAME = """
import asyncio, sys
from tui.app import SpecdecApp
from tui.bridge import Bridge
from tui.opening import AppOpening

async def main():
    app = SpecdecApp(AppOpening(request=None), Bridge())
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        assert app.screen.director.moment is not None
    heavy = {"mlx", "mlx_lm", "transformers", "numpy", "huggingface_hub"}
    print(sorted(heavy & {name.partition(".")[0] for name in sys.modules}))

asyncio.run(main())
"""


def assert_restored(terminal: TerminalRun) -> None:
    """The screen, the cursor, the mouse and the line discipline are as they were."""
    for code in (LEFT_SCREEN, CURSOR_SHOWN, MOUSE_OFF):
        assert code in terminal.shown
    flags = termios.tcgetattr(terminal._master)[3]
    assert flags & termios.ECHO
    assert flags & termios.ICANON


def after_the_screen(terminal: TerminalRun) -> str:
    """What stays in the scrollback."""
    return terminal.shown.rpartition(LEFT_SCREEN)[2]


def test_the_first_frame_comes_before_mlx_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_FRAME], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_the_program_alone_races_to_the_end_and_leaves_its_result() -> None:
    with TerminalRun(environ=SIZE) as terminal:
        terminal.wait_for("recorded earlier")
        terminal.wait_for("prose-1")
        terminal.wait_for("R true speed")
        terminal.press("q")
        assert terminal.exit_code() == 0
        assert_restored(terminal)
        assert "tiny-draft, " in after_the_screen(terminal)


def test_h6_leaving_while_models_are_loaded() -> None:
    with TerminalRun("demo", environ=SIZE) as terminal:
        terminal.wait_for("loading tiny")
        terminal.press("q")
        assert terminal.exit_code() == 0
        assert_restored(terminal)
        assert "Traceback" not in terminal.shown


def test_h6_leaving_while_a_long_prompt_is_read() -> None:
    prompt = "word " * 900
    with TerminalRun("demo", prompt, environ=SIZE) as terminal:
        terminal.wait_for("your own prompt")
        terminal.press("q")
        assert terminal.exit_code() == 0
        assert_restored(terminal)
        assert "Traceback" not in terminal.shown


def test_h6_leaving_in_a_pass_with_ctrl_c_twice() -> None:
    with TerminalRun("demo", "--max-tokens", "1000", environ=SIZE) as terminal:
        terminal.wait_for("prose-1")
        terminal.wait_for("Running", "Same words", "Just started", "As fast", "Slower")
        terminal.press(CTRL_C)
        terminal.wait_for("again to quit")
        terminal.press(CTRL_C)
        assert terminal.exit_code() == 0
        assert_restored(terminal)
        assert "Traceback" not in terminal.shown


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    with running_hub() as hub:
        hub.repos["mlx-community/Qwen3-1.7B-4bit"] = model_files(seed=1)
        hub.repos["mlx-community/Qwen3-0.6B-4bit"] = model_files(size=20_000, shards=1, seed=2)
        yield hub


def on_hub(hub: FakeHub, folder: Path) -> dict[str, str]:
    return {
        **SIZE,
        "HF_ENDPOINT": hub.endpoint,
        "HF_HUB_OFFLINE": "0",
        "HF_HOME": str(folder / "hub"),
        "NO_PROXY": "127.0.0.1,localhost",
        "MLX_SPECDEC_LMSTUDIO_DIR": str(folder / "studio"),
    }


def test_h6_leaving_while_models_are_downloaded(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults["model-00001"] = Fault(stall_after=100)
    words = ("demo", "--target", "qwen3-1.7b", "--force")
    with TerminalRun(*words, environ=on_hub(hub, tmp_path)) as terminal:
        terminal.wait_for("not on this disk yet")
        terminal.press("d")
        terminal.wait_for("downloading qwen3-1.7b")
        assert hub.stalled.wait(60)
        terminal.press("q")
        assert terminal.exit_code() == 0
        assert_restored(terminal)
        assert "Traceback" not in terminal.shown


def test_a_pipe_gets_help_and_no_screen() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mlx_specdec"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("mlx-specdec: ")
    assert "\x1b" not in done.stdout


def test_h13_mouse_bytes_above_ascii_do_not_end_it() -> None:
    """What a terminal sends for a click far to the right in the old mouse mode is not UTF-8."""
    import os

    with TerminalRun("demo", environ=SIZE) as terminal:
        terminal.wait_for("loading tiny")
        os.write(terminal._master, b"\x1b[M \xff\xa1")
        terminal.press("?")
        terminal.wait_for("EVERYWHERE")
        terminal.press("\x1b")
        terminal.wait_for("SPECULATIVE")
        assert terminal.press_to_the_end("q") == 0
        assert "Traceback" not in terminal.shown


BROKEN_KEY = """
from tui.race.director import RaceDirector

def broken(self):
    raise ValueError("no [bold]such[/] \\x1b[31mthing")

RaceDirector.toggle_pause = broken
"""


def test_an_error_that_nobody_foresaw_gives_the_terminal_back_and_names_its_log(
    tmp_path: Path,
) -> None:
    (tmp_path / "sitecustomize.py").write_text(BROKEN_KEY, encoding="utf-8")
    environ = {**SIZE, "PYTHONPATH": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    replay = Path(__file__).parents[1] / "golden" / "race_fable.jsonl"
    with TerminalRun("demo", "--replay", str(replay), environ=environ) as terminal:
        terminal.wait_for("race clock", "half speed", "true speed")
        terminal.press(" ")
        assert terminal.exit_code() == 1
        assert_restored(terminal)
        assert "Traceback" not in terminal.shown
        last = after_the_screen(terminal)
    (log,) = (tmp_path / "mlx-specdec").glob("log-*.txt")
    assert "unexpected went wrong: ValueError: no [bold]such[/] " in last
    assert f"The log is {log}." in last.splitlines()[-1]
    assert "\x1b[31m" not in last
    text = log.read_text(encoding="utf-8")
    assert "Traceback" in text
    assert "toggle_pause" in text or "in broken" in text
